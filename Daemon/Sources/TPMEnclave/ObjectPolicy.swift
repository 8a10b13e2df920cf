import CTSS2
import Crypto
import Enclave
import Foundation

/// The policy field of our objects. It holds a digest of the facts that an object is tied to. The field is part of the
/// object's name, and the chip refuses to load an object whose public area was altered. So the facts are fixed when the
/// object is made.
///
/// For a key with an approver the digest is the reference of a policy that asks for the approver's signature.
///
/// The digest alone is no policy that a session could satisfy. A policy's digest is SHA-256 over 32 bytes of an earlier digest
/// and a command code. Ours is SHA-256 over a text that is longer than both.
enum ObjectPolicy {
    static let label = "ostiary.tpm-enclave.v1.binding-in-the-place-of-a-policy"

    static func digest(_ type: EnclaveKeyType, _ binding: KeyBinding) -> Data {
        var facts = Data([ChipObject.Content.key.rawValue, type.rawValue, binding.flags])
        facts.append(contentsOf: SHA256.hash(data: binding.owner))
        facts.append(binding.outsideInfo)
        return digest(facts)
    }

    /// Nil for a key without an approver.
    static func terms(_ type: EnclaveKeyType, _ binding: KeyBinding) throws(EnclaveError) -> SignatureTerms? {
        guard let approver = binding.approver else { return nil }
        guard let terms = SignatureTerms(approver: approver, reference: digest(type, binding)) else {
            throw .invalidBinding
        }
        return terms
    }

    /// The public area of a key with this binding, but for the key itself.
    static func template(_ type: EnclaveKeyType, _ binding: KeyBinding) throws(EnclaveError) -> TPM2B_PUBLIC {
        guard let terms = try terms(type, binding) else { return PublicArea.key(policy: digest(type, binding)) }
        guard let policy = terms.policy else { throw .invalidBinding }
        return PublicArea.approvedKey(policy: policy.digest)
    }

    static func digest(context: Data) -> Data {
        digest(Data([ChipObject.Content.secret.rawValue]) + context)
    }

    private static func digest(_ facts: Data) -> Data { Data(SHA256.hash(data: Data(label.utf8) + facts)) }
}

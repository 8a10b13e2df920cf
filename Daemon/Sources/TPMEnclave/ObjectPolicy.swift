import Crypto
import Enclave
import Foundation

/// The policy field of our objects. It holds a digest of the facts that an object is tied to. The field is part of the
/// object's name, and the chip refuses to load an object whose public area was altered. So the facts are fixed when the
/// object is made.
///
/// The digest is no policy that a session could satisfy. A policy's digest is SHA-256 over 32 bytes of an earlier digest
/// and a command code. Ours is SHA-256 over a text that is longer than both.
enum ObjectPolicy {
    static let label = "ostiary.tpm-enclave.v1.binding-in-the-place-of-a-policy"

    static func digest(_ type: EnclaveKeyType, _ binding: KeyBinding) -> Data {
        var facts = Data([ChipObject.Content.key.rawValue, type.rawValue, binding.requiresPasscode ? 1 : 0])
        facts.append(contentsOf: SHA256.hash(data: binding.owner))
        facts.append(binding.outsideInfo)
        return digest(facts)
    }

    static func digest(context: Data) -> Data {
        digest(Data([ChipObject.Content.secret.rawValue]) + context)
    }

    private static func digest(_ facts: Data) -> Data { Data(SHA256.hash(data: Data(label.utf8) + facts)) }
}

import Crypto
public import Foundation
public import SecretMemory

/// The key that approves signatures of one enclave key, P-256. It is derived from the access secret of the object that the enclave
/// key belongs to, so it exists only while a factor that was just proved opens the object.
public struct ApprovalKey: ~Copyable, Sendable {
    static let label = "ostiary.access-secret.approval-key.v1"

    /// `04 || X || Y`, 65 bytes: the ``KeyBinding/approver`` of the enclave key.
    public let publicKey: Data
    private let scalar: SecretBytes

    /// The key of the object with this access secret: HKDF-SHA256 with ``label`` and a number, from 0 on. The first output that
    /// is a private key counts (FIPS 186-5, A.2.2). Of 2^32 outputs one is none.
    public init(derivedFrom accessSecret: borrowing SecretBytes) throws(EnclaveError) {
        let scalar = try Self.scalar(derivedFrom: accessSecret)
        guard let publicKey = Self.publicKey(ofScalar: scalar) else { throw .unavailable(code: 0) }
        self.publicKey = publicKey
        self.scalar = scalar
    }

    private static func scalar(derivedFrom accessSecret: borrowing SecretBytes) throws(EnclaveError) -> SecretBytes {
        for number in UInt8.min...UInt8.max {
            let candidate = SecretBytes(accessSecret.derivedKey(label: "\(label).\(number)"))
            if publicKey(ofScalar: candidate) != nil { return candidate }
        }
        throw .unavailable(code: 0)
    }

    private static func publicKey(ofScalar scalar: borrowing SecretBytes) -> Data? {
        // Refuses only what is no private key.
        try? unsafe scalar.withUnsafeBytes {
            try unsafe P256.Signing.PrivateKey(rawRepresentation: $0).publicKey.x963Representation
        }
    }

    /// ECDSA over the SHA-256 digest of `message`: 64 bytes, `r || s`.
    fileprivate func signature(over message: Data) throws(EnclaveError) -> Data {
        do {
            return try unsafe scalar.withUnsafeBytes {
                try unsafe P256.Signing.PrivateKey(rawRepresentation: $0).signature(for: message).rawRepresentation
            }
        } catch {
            throw .unavailable(code: 0)
        }
    }
}

/// The owner's approval of one signature. Make it from the digest that the question showed, after the owner proved the factors,
/// and drop it with the signature. The approving key is wiped with the last reference.
public final class SignatureApproval: Sendable {
    /// The digest that was shown, 32 bytes.
    public let digest: Data
    private let key: ApprovalKey

    public init(of digest: Data, by key: consuming ApprovalKey) {
        self.digest = digest
        self.key = key
    }

    /// The public half of the approving key.
    public var approver: Data { key.publicKey }

    /// The approving key's word on `message`, which must hold ``digest``: 64 bytes, `r || s`, over the SHA-256 of it.
    package func signature(over message: Data) throws(EnclaveError) -> Data { try key.signature(over: message) }
}

import Crypto
import Foundation
import KeyAlgorithms
import SecretMemory

/// The key that stands behind every right of a ``FakeDaemon``.
enum TestKey {
    private static let signing = P256.Signing.PrivateKey(compactRepresentable: false)

    /// X9.63, 65 bytes.
    static var publicKey: Data { signing.publicKey.x963Representation }

    /// A DER signature over a digest.
    static func signature(ofSHA256 digest: Data) throws -> Data {
        try signing.signature(for: GroupDigest(digest: digest, hash: .sha256)).derRepresentation
    }

    static func decrypt(_ ciphertext: Data, algorithm: String) throws -> SecretBytes {
        guard let algorithm = KeyAlgorithm(rawValue: algorithm) else { throw KeyAlgorithmError.unsupportedAlgorithm }
        let agreement = try P256.KeyAgreement.PrivateKey(rawRepresentation: signing.rawRepresentation)
        return try ECIES.decrypt(ciphertext, algorithm: algorithm) {
            try agreement.sharedSecret(with: P256PublicKey(x963: $0))
        }
    }
}

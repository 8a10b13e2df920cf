import Crypto
import Foundation
import KeyAlgorithms
import SecretMemory

/// A P-256 key in this process's memory. It holds the library's key objects, because making one from the scalar costs
/// nearly half a signature; the library wipes them when they are freed.
final class OpenSoftwareKey: OpenEnclaveKey {
    let publicKey: Data
    private let signingKey: P256SigningKey
    private let agreementKey: P256.KeyAgreement.PrivateKey

    /// Refuses a scalar that is not the private key of `publicKey`.
    init(scalar: borrowing SecretBytes, publicKey: Data) throws(EnclaveError) {
        do {
            agreementKey = try unsafe scalar.withUnsafeBytes {
                try unsafe P256.KeyAgreement.PrivateKey(rawRepresentation: $0)
            }
        } catch {
            throw .unreadable
        }
        guard agreementKey.publicKey.x963Representation == publicKey, let signingKey = P256SigningKey(scalar: scalar)
        else { throw .unreadable }
        self.signingKey = signingKey
        self.publicKey = publicKey
    }

    func signature(forDigest digest: Data) throws(EnclaveError) -> Data {
        guard digest.count == P256SigningKey.digestByteCount else { throw .invalidDigest }
        guard let signature = signingKey.signature(forDigest: digest) else { throw .unavailable(code: 0) }
        return signature
    }

    func sharedSecret(withPublicKey peerKey: Data) throws(EnclaveError) -> SecretBytes {
        do {
            // Accepts only 65 bytes of format 04 with a point on the curve.
            let peer = try P256.KeyAgreement.PublicKey(x963Representation: peerKey)
            let agreed = try agreementKey.sharedSecretFromKeyAgreement(with: peer)
            var secret = SecretBytes(zeroed: 32)
            unsafe agreed.withUnsafeBytes { bytes in
                unsafe secret.withUnsafeMutableBytes { unsafe $0.copyMemory(from: bytes) }
            }
            return secret
        } catch {
            throw .invalidPeerKey
        }
    }
}

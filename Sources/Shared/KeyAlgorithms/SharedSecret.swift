public import Crypto
import Foundation
public import SecretMemory

extension P256.KeyAgreement.PrivateKey {
    /// Raw ECDH: the x-coordinate of the common point, 32 big-endian bytes. Fails with
    /// ``KeyAlgorithmError/computationFailed``.
    public func sharedSecret(with peer: P256PublicKey) throws(KeyAlgorithmError) -> SecretBytes {
        do {
            let key = try P256.KeyAgreement.PublicKey(x963Representation: peer.x963)
            return SecretBytes(SymmetricKey(data: try sharedSecretFromKeyAgreement(with: key)))
        } catch {
            throw .computationFailed
        }
    }
}

extension SecretBytes {
    /// Refuses what a private operation returned if it has not the length of a raw shared secret of P-256.
    borrowing func requireSharedSecretLength() throws(KeyAlgorithmError) {
        guard count == 32 else { throw .computationFailed }
    }
}

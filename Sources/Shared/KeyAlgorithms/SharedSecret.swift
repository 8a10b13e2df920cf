import Crypto
import Foundation
public import SecretMemory

extension CurveAgreementKey {
    /// Raw ECDH: the x-coordinate of the common point, big-endian and as long as the field (32 bytes on P-256). Fails with
    /// ``KeyAlgorithmError/computationFailed``.
    public func sharedSecret(with peer: ECPublicKey<Curve>) throws(KeyAlgorithmError) -> SecretBytes {
        do {
            let key = try PeerKey(x963Representation: peer.x963)
            return SecretBytes(SymmetricKey(data: try sharedSecretFromKeyAgreement(with: key)))
        } catch {
            throw .computationFailed
        }
    }
}

extension SecretBytes {
    /// Refuses the result of a private operation if it does not have the length of a raw shared secret of the curve.
    borrowing func requireSharedSecretLength<Curve: EllipticCurve>(of curve: Curve.Type) throws(KeyAlgorithmError) {
        guard count == Curve.fieldByteCount else { throw .computationFailed }
    }
}

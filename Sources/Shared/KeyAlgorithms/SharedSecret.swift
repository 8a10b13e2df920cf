import Crypto
package import Foundation
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

/// The key derivation function of ANSI X9.63 (SEC 1, section 3.6.1):
/// `Hash(Z ‖ 1 ‖ sharedInfo) ‖ Hash(Z ‖ 2 ‖ sharedInfo) ‖ …`, counters of four big-endian bytes, cut to the wanted length.
///
/// swift-crypto has it too, but only over a shared secret that its own keys made; these come from an enclave.
package enum X963KDF {
    /// Derives `byteCount` bytes. The callers bound `byteCount` and `sharedInfo`.
    package static func derive(
        _ byteCount: Int, from sharedSecret: borrowing SecretBytes, sharedInfo: Data, hash: HashAlgorithm
    ) -> SecretBytes {
        var output = SecretBytes(zeroed: byteCount)
        for (index, offset) in stride(from: 0, to: byteCount, by: hash.byteCount).enumerated() {
            var function = hash.makeFunction()
            unsafe sharedSecret.withUnsafeBytes { unsafe function.update(bufferPointer: $0) }
            unsafe withUnsafeBytes(of: UInt32(index + 1).bigEndian) { unsafe function.update(bufferPointer: $0) }
            function.update(data: sharedInfo)
            unsafe output.withUnsafeMutableBytes { output in
                unsafe function.finalize(into: UnsafeMutableRawBufferPointer(rebasing: output[offset...]))
            }
        }
        return output
    }
}

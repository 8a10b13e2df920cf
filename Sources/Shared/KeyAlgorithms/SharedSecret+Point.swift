package import Crypto
import Foundation
package import SecretMemory

extension SharedSecret {
    /// The shared secret whose bytes are `x`, the first coordinate of a point of P-256.
    ///
    /// The library makes shared secrets only from its own key agreements. The agreement of the private key 1 with that
    /// point gives this secret: one times a point is the point itself, and a shared secret is its first coordinate (SEC
    /// 1, 3.3.1). Both points with that coordinate give the same result.
    package init(ofPointWithX x: borrowing SecretBytes) throws {
        var compressed = Data([0x02]) + Data(exposing: x)
        defer { compressed.wipe() }
        let point = try P256.KeyAgreement.PublicKey(compressedRepresentation: compressed)
        let one = try P256.KeyAgreement.PrivateKey(rawRepresentation: Data(repeating: 0, count: 31) + [1])
        self = try one.sharedSecretFromKeyAgreement(with: point)
    }
}

import Crypto
import Foundation
import KeyAlgorithms
import SecretMemory

extension Data {
    /// The bytes of hexadecimal digits; spaces are ignored.
    init(hex: String) {
        let digits = hex.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
        self.init(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }

    /// A copy in which one bit differs.
    func flipping(bit: Int, ofByte index: Int) -> Data {
        var copy = Data(self)
        copy[index] ^= 1 << UInt8(bit)
        return copy
    }

    /// The same bytes as a slice whose first index is not zero.
    var asSlice: Data { (Data([0xAA]) + self + Data([0xBB])).dropFirst().dropLast() }

    init(_ secret: borrowing SecretBytes) {
        self = secret.withUnsafeBytes { Data($0) }
    }
}

extension SecretBytes {
    init(_ data: Data) {
        self = data.withUnsafeBytes { SecretBox(SecretBytes(copying: $0)) }.take()
    }
}

/// Carries a secret out of a closure whose result must be copyable.
private final class SecretBox {
    private var secret: SecretBytes?
    init(_ secret: consuming SecretBytes) { self.secret = consume secret }
    func take() -> SecretBytes { secret.take()! }
}

extension KeyAlgorithm {
    /// The algorithm of a string that is known to exist.
    init(_ name: String) {
        self.init(rawValue: name)!
    }
}

extension P256.KeyAgreement.PrivateKey {
    /// The private half in the shape that ECIES asks for.
    func rawAgreement(_ peer: Data) throws -> SecretBytes {
        try sharedSecret(with: P256PublicKey(x963: peer))
    }
}

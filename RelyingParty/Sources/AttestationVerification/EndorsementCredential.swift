import Crypto
import CryptoExtras
import Foundation
import LabeledOAEP

/// A secret for the chip with an endorsement key and an object of this name (TPM 2.0 Library, part 1, section 24 and B.10.4). It
/// does the work of TPM2_MakeCredential, which needs no chip.
enum EndorsementCredential {
    private static let head = Data([0xBA, 0xDC, 0xC0, 0xDE, 0x00, 0x00, 0x00, 0x01])

    /// In the form of the file of `tpm2_makecredential`.
    ///
    /// - Parameters:
    ///   - modulus: of the endorsement key, an RSA key with 2,048 bits.
    ///   - name: of the attestation key.
    /// - Returns: nil when the modulus is none.
    static func encrypting(_ secret: Data, forEndorsementKey modulus: Data, name: [UInt8]) -> Data? {
        let seed = SymmetricKey(size: .bits256)
        let exposed = unsafe seed.withUnsafeBytes { unsafe Data($0) }
        guard let wrapped = LabeledOAEP.encrypt(exposed, label: Data("IDENTITY\0".utf8), modulus: modulus),
            let identity = encrypted(sized(secret), derived(seed, "STORAGE", name, byteCount: 16))
        else { return nil }
        var code = HMAC<SHA256>(key: derived(seed, "INTEGRITY", [], byteCount: 32))
        code.update(data: identity)
        code.update(data: Data(name))
        return head + sized(sized(Data(code.finalize())) + identity) + sized(wrapped)
    }

    private static func encrypted(_ plaintext: Data, _ key: SymmetricKey) -> Data? {
        // One key encrypts one secret, so the initial value is fixed.
        do {
            return try AES._CFB.encrypt(
                plaintext, using: key, iv: AES._CFB.IV(ivBytes: [UInt8](repeating: 0, count: 16)))
        } catch { return nil }
    }

    /// KDFa with SHA-256 (section 11.4.10.2), one block.
    private static func derived(
        _ seed: SymmetricKey, _ label: String, _ context: [UInt8], byteCount: Int
    ) -> SymmetricKey {
        let bitCount = UInt32(byteCount * 8)
        var code = HMAC<SHA256>(key: seed)
        code.update(data: [0, 0, 0, 1] + Array(label.utf8) + [0] + context)
        code.update(data: (0..<4).reversed().map { UInt8(truncatingIfNeeded: bitCount >> ($0 * 8)) })
        return SymmetricKey(data: Data(code.finalize()).prefix(byteCount))
    }

    private static func sized(_ bytes: Data) -> Data {
        Data([UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]) + bytes
    }
}

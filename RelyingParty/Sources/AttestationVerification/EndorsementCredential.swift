import Crypto
import CryptoExtras
import Foundation

/// A secret for the chip with an endorsement key and an object of this name (TPM 2.0 Library, part 1, section 24). It does the
/// work of TPM2_MakeCredential, which needs no chip.
///
/// `Hash` is the hash in the endorsement key's name. A seed, encrypted to that key, leads to the keys of a cipher and a code.
struct EndorsementCredential<Hash: HashFunction> {
    struct Seed {
        let key: SymmetricKey
        let label = Data("IDENTITY\0".utf8)

        init(_ key: SymmetricKey) { self.key = key }

        /// For its encryption.
        var exposed: Data { unsafe key.withUnsafeBytes { unsafe Data($0) } }
    }

    private let seed: SymmetricKey
    private let wrapped: Data
    private let cipherKeyByteCount: Int

    /// - Parameters:
    ///   - wrapped: the seed, encrypted to the endorsement key.
    ///   - cipherKeyByteCount: that of AES in the endorsement key's area.
    init(_ seed: Seed, wrapped: Data, cipherKeyByteCount: Int) {
        self.seed = seed.key
        self.wrapped = wrapped
        self.cipherKeyByteCount = cipherKeyByteCount
    }

    /// The seed of two keys on one curve (section C.6.1, and KDFe, section 11.4.10.3).
    ///
    /// - Parameters:
    ///   - own: x and y of the key that was made for this credential.
    ///   - other: x and y of the endorsement key.
    init(_ shared: SharedSecret, _ own: Data, _ other: Data, cipherKeyByteCount: Int) {
        let (x, y) = (own.prefix(own.count / 2), own.suffix(own.count / 2))
        var hash = Hash()
        hash.update(data: [0, 0, 0, 1] as [UInt8])
        unsafe shared.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        hash.update(data: Data("IDENTITY\0".utf8) + x + other.prefix(other.count / 2))
        seed = SymmetricKey(data: Data(hash.finalize()))
        wrapped = CredentialFile.sized(x) + CredentialFile.sized(y)
        self.cipherKeyByteCount = cipherKeyByteCount
    }

    /// In the form of the file of `tpm2_makecredential`; nil when the cipher fails.
    func file(with secret: Data, for name: [UInt8]) -> Data? {
        let key = derived("STORAGE", name, byteCount: cipherKeyByteCount)
        guard let identity = encrypted(CredentialFile.sized(secret), key) else { return nil }
        var code = HMAC<Hash>(key: derived("INTEGRITY", [], byteCount: Hash.Digest.byteCount))
        code.update(data: identity + Data(name))
        return CredentialFile.head + CredentialFile.sized(CredentialFile.sized(Data(code.finalize())) + identity)
            + CredentialFile.sized(wrapped)
    }

    private func encrypted(_ plaintext: Data, _ key: SymmetricKey) -> Data? {
        // One key encrypts one secret, so the initial value is fixed.
        do {
            return try AES._CFB.encrypt(
                plaintext, using: key, iv: AES._CFB.IV(ivBytes: [UInt8](repeating: 0, count: 16)))
        } catch { return nil }
    }

    /// KDFa (section 11.4.10.2), one block.
    private func derived(_ label: String, _ context: [UInt8], byteCount: Int) -> SymmetricKey {
        let bitCount = UInt32(byteCount * 8)
        var code = HMAC<Hash>(key: seed)
        code.update(data: [0, 0, 0, 1] + Array(label.utf8) + [0] + context)
        code.update(data: (0..<4).reversed().map { UInt8(truncatingIfNeeded: bitCount >> ($0 * 8)) })
        return SymmetricKey(data: Data(code.finalize()).prefix(byteCount))
    }
}

/// The file of `tpm2_makecredential`.
private enum CredentialFile {
    static let head = Data([0xBA, 0xDC, 0xC0, 0xDE, 0x00, 0x00, 0x00, 0x01])

    static func sized(_ bytes: Data) -> Data {
        Data([UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]) + bytes
    }
}

import CanonicalCBOR
import Crypto
import CryptoExtras
import Foundation
import SecretMemory

/// PIN/UV auth protocols one and two (CTAP 2.1, 6.5.6 and 6.5.7).
enum PINProtocol: Int, CaseIterable {
    case one = 1
    case two = 2

    /// - Returns: 16 bytes in protocol one, 32 in two.
    func authenticationCode(_ message: [UInt8], key: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: message, using: key).prefix(codeByteCount))
    }

    /// Takes the same time wherever the codes differ.
    func isValid(_ code: [UInt8], of message: [UInt8], key: SymmetricKey) -> Bool {
        guard code.count == codeByteCount else { return false }
        // swift-crypto compares whole codes, so both are coded once more under a key of their own.
        let check = SymmetricKey(size: .bits256)
        let expected = HMAC<SHA256>.authenticationCode(for: authenticationCode(message, key: key), using: check)
        return HMAC<SHA256>.isValidAuthenticationCode(expected, authenticating: code, using: check)
    }

    private var codeByteCount: Int { self == .one ? 16 : 32 }
}

/// What client and authenticator agreed on.
struct SharedSecret {
    let version: PINProtocol
    private let authenticationKey: SymmetricKey
    private let encryptionKey: SymmetricKey

    init(_ version: PINProtocol, agreement: SharedSecretX) {
        self.version = version
        switch version {
        case .one:
            let key = unsafe agreement.withUnsafeBytes { SymmetricKey(data: SHA256.hash(data: unsafe Data($0))) }
            (authenticationKey, encryptionKey) = (key, key)
        case .two:
            (authenticationKey, encryptionKey) = (
                Self.derived(agreement, "CTAP2 HMAC key"), Self.derived(agreement, "CTAP2 AES key")
            )
        }
    }

    typealias SharedSecretX = Crypto.SharedSecret

    private static func derived(_ agreement: SharedSecretX, _ info: String) -> SymmetricKey {
        agreement.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: Data(count: 32), sharedInfo: Data(info.utf8), outputByteCount: 32)
    }

    func isValid(_ code: [UInt8], of message: [UInt8]) -> Bool {
        version.isValid(code, of: message, key: authenticationKey)
    }

    /// - Parameter plaintext: whole blocks of 16 bytes.
    func encrypt(_ plaintext: [UInt8]) throws(CTAPStatus) -> [UInt8] {
        do {
            let vector = version == .one ? try Self.zeroVector : AES._CBC.IV()
            let ciphertext = try AES._CBC.encrypt(plaintext, using: encryptionKey, iv: vector, noPadding: true)
            return (version == .one ? [] : [UInt8](vector)) + [UInt8](ciphertext)
        } catch {
            throw .other
        }
    }

    /// - Throws: ``CTAPStatus/invalidParameter`` for anything but whole blocks of 16 bytes.
    func decrypt(_ ciphertext: [UInt8]) throws(CTAPStatus) -> [UInt8] {
        let vectorByteCount = version == .one ? 0 : 16
        guard ciphertext.count > vectorByteCount, ciphertext.count.isMultiple(of: 16) else { throw .invalidParameter }
        do {
            let vector =
                version == .one ? try Self.zeroVector : try AES._CBC.IV(ivBytes: ciphertext.prefix(vectorByteCount))
            var plaintext = try AES._CBC.decrypt(
                ciphertext.dropFirst(vectorByteCount), using: encryptionKey, iv: vector, noPadding: true)
            defer { plaintext.wipe() }
            return [UInt8](plaintext)
        } catch {
            throw .invalidParameter
        }
    }

    private static var zeroVector: AES._CBC.IV {
        get throws { try AES._CBC.IV(ivBytes: [UInt8](repeating: 0, count: 16)) }
    }
}

import CanonicalCBOR
import Crypto
import CryptoExtras
import Foundation

/// Stands between a client and an authenticator while they agree on a pinUvAuthToken, and so knows it, which serves a
/// command that the authenticator does not have. To each side it is the other one, with PIN/UV auth protocol one (CTAP
/// 2.1, 6.5.6).
struct TokenRelay {
    typealias Forward = @Sendable ([UInt8]) -> [UInt8]

    /// The one protocol that it relays.
    static let version = 1
    /// The permission to write large blobs.
    static let largeBlobWrite = 0x10
    /// The permission that takes its place below: it is not bound to a relying party either.
    private static let management = 0x04

    private let key = P256.KeyAgreement.PrivateKey()
    private var authenticator: P256.KeyAgreement.PublicKey?
    private var token: SymmetricKey?
    private var permissions = 0

    /// Answers authenticatorClientPIN. New PINs are refused, since they are encrypted for the authenticator.
    mutating func respond(to request: [UInt8], _ forward: Forward) throws(LargeBlobStatus) -> [UInt8] {
        let map = try CBORMap(message: request.dropFirst())
        switch try map.member(2, \.integer) ?? 0 {
        case 1, 7: return forward(request)
        case 2: return try agree(forward(request))
        case 5, 6, 9: return try giveToken(map, forward)
        default: throw .notAllowed
        }
    }

    /// Gives its own half of the agreement out.
    private mutating func agree(_ answer: [UInt8]) throws(LargeBlobStatus) -> [UInt8] {
        guard answer.first == 0 else { return answer }
        let map = try CBORMap(message: answer.dropFirst())
        authenticator = try Self.publicKey(map[1])
        return [0] + CBORValue.map([1: Self.value(key.publicKey)]).encoded
    }

    private mutating func giveToken(_ request: CBORMap, _ forward: Forward) throws(LargeBlobStatus) -> [UInt8] {
        guard try request.member(1, \.integer) == Self.version, let authenticator else { throw .invalidParameter }
        let above = try secret(with: Self.publicKey(request[3]))
        let below = try secret(with: authenticator)
        var passed = request.setting(.number(3), to: Self.value(key.publicKey))
        if let encrypted = try request.member(6, \.bytes) {
            let hash = try Self.decrypt(Array(encrypted), above)
            let again = try Self.encrypt(hash, below)
            passed = passed.setting(.number(6), to: CBORValue.bytes(again))
        }
        let wanted = try request.member(9, \.integer)
        if let wanted { passed = passed.setting(.number(9), to: CBORValue.number(Self.permissions(below: wanted))) }
        let answer = forward([0x06] + CBORValue.map(passed).encoded)
        guard answer.first == 0 else { return answer }
        let given = try CBORMap(message: answer.dropFirst())
        guard let encrypted = try given.member(2, \.bytes) else { throw .missingParameter }
        let bytes = try Self.decrypt(Array(encrypted), below)
        (token, permissions) = (SymmetricKey(data: bytes), wanted ?? 0)
        let again = try Self.encrypt(bytes, above)
        return [0] + CBORValue.map([2: CBORValue.bytes(again)]).encoded
    }

    private static func permissions(below wanted: Int) -> Int {
        guard wanted & largeBlobWrite != 0 else { return wanted }
        return (wanted & ~largeBlobWrite) | management
    }

    /// Checks that `code` was made with the last token, and that the token permits the command.
    func check(_ code: [UInt8], of message: [UInt8], needing permission: Int) throws(LargeBlobStatus) {
        guard let token, permissions & permission != 0 else { throw .tokenInvalid }
        let expected = HMAC<SHA256>.authenticationCode(for: message, using: token)
        guard Array(expected.prefix(16)) == code else { throw .tokenInvalid }
    }

    // MARK: protocol one

    /// The key of all that one side encrypts.
    private func secret(with peer: P256.KeyAgreement.PublicKey) throws(LargeBlobStatus) -> SymmetricKey {
        guard let agreement = try? key.sharedSecretFromKeyAgreement(with: peer) else { throw .invalidParameter }
        return agreement.withUnsafeBytes { SymmetricKey(data: SHA256.hash(data: Data($0))) }
    }

    private static func encrypt(_ plaintext: [UInt8], _ key: SymmetricKey) throws(LargeBlobStatus) -> [UInt8] {
        guard let vector = zeroVector,
            let ciphertext = try? AES._CBC.encrypt(plaintext, using: key, iv: vector, noPadding: true)
        else { throw .invalidParameter }
        return Array(ciphertext)
    }

    private static func decrypt(_ ciphertext: [UInt8], _ key: SymmetricKey) throws(LargeBlobStatus) -> [UInt8] {
        guard let vector = zeroVector,
            let plaintext = try? AES._CBC.decrypt(ciphertext, using: key, iv: vector, noPadding: true)
        else { throw .invalidParameter }
        return Array(plaintext)
    }

    private static var zeroVector: AES._CBC.IV? { try? AES._CBC.IV(ivBytes: [UInt8](repeating: 0, count: 16)) }

    /// A public key as COSE writes it (RFC 9053).
    private static func value(_ key: P256.KeyAgreement.PublicKey) -> CBORValue {
        let point = [UInt8](key.rawRepresentation)
        return .map([
            1: .number(2), 3: .number(-25), -1: .number(1), -2: .bytes(Array(point.prefix(32))),
            -3: .bytes(Array(point.suffix(32))),
        ])
    }

    private static func publicKey(_ value: CBORValue?) throws(LargeBlobStatus) -> P256.KeyAgreement.PublicKey {
        guard let map = value?.map, let x = map[-2]?.bytes, let y = map[-3]?.bytes,
            let key = try? P256.KeyAgreement.PublicKey(rawRepresentation: Array(x) + Array(y))
        else { throw .invalidParameter }
        return key
    }
}

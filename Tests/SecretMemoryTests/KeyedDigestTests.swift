import Crypto
import Foundation
import SecretMemory
import Testing

/// Beside swift-crypto, which computes the same in another way, and the vectors of RFC 4231 and RFC 5869.
@Suite("Keyed digests")
struct KeyedDigestTests {
    private static func bytes(_ count: Int, from first: UInt8) -> [UInt8] {
        (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
    }

    @Test(arguments: [0, 1, 31, 32, 63, 64, 65, 200], [0, 1, 55, 56, 64, 1000])
    func `a code is HMAC-SHA256`(keySize: Int, messageSize: Int) {
        let (key, message) = (SymmetricKey(data: Self.bytes(keySize, from: 7)), Self.bytes(messageSize, from: 90))
        let expected = Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
        let digest = KeyedDigest(key: key)
        #expect(digest.code(over: message) == expected)
        #expect(digest.code(over: message) == expected, "the key is used up")
    }

    @Test func `a code of RFC 4231`() {
        let code = KeyedDigest(key: SymmetricKey(data: Data("Jefe".utf8))).code(
            over: Array("what do ya want for nothing?".utf8))
        let hexadecimal = code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(hexadecimal == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test func `only the whole code is valid, for its message and key`() {
        let (digest, message) = (KeyedDigest(key: SymmetricKey(data: [1])), [UInt8]("message".utf8))
        let code = digest.code(over: message)
        #expect(digest.isValid(code, over: message))
        for index in code.indices {
            var changed = code
            changed[index] ^= 1
            #expect(!digest.isValid(changed, over: message))
        }
        #expect(!digest.isValid(code.dropLast(), over: message))
        #expect(!digest.isValid(code + [0], over: message))
        #expect(!digest.isValid([], over: message))
        #expect(!digest.isValid(code, over: message + [0]))
        #expect(!KeyedDigest(key: SymmetricKey(data: [2])).isValid(code, over: message))
    }

    @Test func `codes of many threads stay apart`() async {
        let digest = KeyedDigest(key: SymmetricKey(data: [3]))
        let expected = (0..<64).map { digest.code(over: [UInt8($0)]) }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<500).allSatisfy { digest.code(over: [UInt8($0 % 64)]) == expected[$0 % 64] } }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test(arguments: [0, 1, 32, 80], [1, 16, 32, 64, 100])
    func `a derived key is that of HKDF-SHA256`(saltSize: Int, byteCount: Int) {
        var secret = SecretBytes(zeroed: 22)
        secret.withUnsafeMutableBytes { $0.copyBytes(from: Self.bytes(22, from: 0x0B)) }
        let salt = Data(Self.bytes(saltSize, from: 1))
        let expected = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Self.bytes(22, from: 0x0B)), salt: salt, info: Data("label".utf8),
            outputByteCount: byteCount)
        #expect(secret.derivedKey(label: "label", salt: salt, byteCount: byteCount) == expected)
    }
}

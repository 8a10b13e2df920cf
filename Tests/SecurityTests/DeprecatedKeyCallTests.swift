import Foundation
import Glibc
import KeyAlgorithms
@testable import Security
import Testing

@Suite struct DeprecatedKeyCallTests {
    @Test func `a pair is returned in both halves`() throws {
        var (publicKey, privateKey): (SecKey?, SecKey?) = (nil, nil)
        let parameters = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 384] as [CFString: Any]
        #expect(SecKeyGeneratePair(parameters as CFDictionary, &publicKey, &privateKey) == errSecSuccess)
        #expect(try Keys.publicKey(#require(privateKey)) == publicKey)
        #expect(SecKeyGeneratePair([:] as CFDictionary, &publicKey, &privateKey) == errSecParam)
        #expect(SecKeyGeneratePair(parameters as CFDictionary, nil, nil) == errSecSuccess)
    }

    static let paddings: [(SecPadding, Int, Bool, Bool)] = [
        (.none, 32, false, true), (.PKCS1, 32, true, true), (.PKCS1, 33, true, true), (.OAEP, 32, false, false),
        (.sigRaw, 32, false, true), (.PKCS1MD2, 16, false, false), (.PKCS1MD5, 16, false, false),
        (.PKCS1SHA1, 20, true, true), (.PKCS1SHA224, 28, true, true), (.PKCS1SHA256, 32, true, true),
        (.PKCS1SHA384, 48, true, true), (.PKCS1SHA512, 64, true, true), (.PKCS1SHA256, 31, false, false),
    ]

    @Test(arguments: paddings) func `a padding names an algorithm of each kind of key`(
        padding: SecPadding, count: Int, ofRSA: Bool, ofCurve: Bool
    ) throws {
        for (key, isSupported) in [(try Keys.rsa(), ofRSA), (try Keys.curve(256), ofCurve)] {
            let digest = [UInt8](repeating: 5, count: count)
            var signature = [UInt8](repeating: 0, count: 256)
            var length = signature.count
            let status = SecKeyRawSign(key, padding, digest, count, &signature, &length)
            #expect(status == (isSupported ? errSecSuccess : errSecParam))
            guard isSupported else { continue }
            let publicKey = try Keys.publicKey(key)
            #expect(SecKeyRawVerify(publicKey, padding, digest, count, signature, length) == errSecSuccess)
            signature[10] ^= 1
            #expect(SecKeyRawVerify(publicKey, padding, digest, count, signature, length) == errSecVerifyFailed)
        }
    }

    @Test func `a buffer of a negative length is refused, and none is written to`() throws {
        let (key, publicKey) = (try Keys.rsa(), try Keys.publicKey(Keys.rsa()))
        let input = [UInt8](repeating: 5, count: 32)
        var (output, length) = ([UInt8](repeating: 0, count: 256), 256)
        #expect(SecKeyRawSign(key, .PKCS1, input, -1, &output, &length) == errSecParam)
        #expect(SecKeyRawVerify(publicKey, .PKCS1, input, -1, input, 32) == errSecParam)
        #expect(SecKeyRawVerify(publicKey, .PKCS1, input, 32, input, .min) == errSecParam)
        #expect(SecKeyEncrypt(publicKey, .PKCS1, input, -1, &output, &length) == errSecParam)
        #expect(SecKeyDecrypt(key, .PKCS1, input, .min, &output, &length) == errSecParam)
        length = -1
        #expect(SecKeyRawSign(key, .PKCS1, input, 32, &output, &length) == errSecBufferTooSmall)
        #expect(length == -1 && output.allSatisfy { $0 == 0 })
    }

    @Test(arguments: [SecPadding.PKCS1, .OAEP]) func `RSA encrypts and decrypts`(padding: SecPadding) throws {
        let key = try Keys.rsa()
        let plaintext = Array("small".utf8)
        var ciphertext = [UInt8](repeating: 0, count: 256)
        var length = 256
        let status = try SecKeyEncrypt(Keys.publicKey(key), padding, plaintext, plaintext.count, &ciphertext, &length)
        #expect(status == errSecSuccess && length == 256)
        var decrypted = [UInt8](repeating: 0, count: 256)
        var count = 256
        #expect(SecKeyDecrypt(key, padding, ciphertext, 256, &decrypted, &count) == errSecSuccess)
        #expect(Array(decrypted.prefix(count)) == plaintext)
        count = 4
        #expect(SecKeyDecrypt(key, padding, ciphertext, 256, &decrypted, &count) == errSecBufferTooSmall)
        #expect(count == 4)
        length = 255
        #expect(
            try SecKeyEncrypt(Keys.publicKey(key), padding, plaintext, 5, &ciphertext, &length) == errSecBufferTooSmall)
        let curve = try Keys.publicKey(Keys.curve(256))
        #expect(SecKeyEncrypt(curve, padding, plaintext, 5, &ciphertext, &length) == errSecParam)
    }
}

@Suite struct SecRandomTests {
    @Test func `case 110: random bytes come from any generator`() {
        var bytes = [UInt8](repeating: 0, count: 64)
        #expect(SecRandomCopyBytes(kSecRandomDefault, 64, &bytes) == errSecSuccess)
        #expect(Set(bytes).count > 8)
        let first = bytes
        #expect(SecRandomCopyBytes(nil, 64, &bytes) == 0)
        #expect(bytes != first)
        #expect(SecRandomCopyBytes(nil, 0, &bytes) == 0)
        #expect(SecRandomCopyBytes(nil, -1, &bytes) == errSecParam)
    }

    /// The kernel gives less than 32 MiB at a time.
    @Test func `a large buffer is filled to its end, and no further`() {
        let (count, margin) = (64 << 20, 4096)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count + margin, alignment: 1)
        defer { buffer.deallocate() }
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        #expect(SecRandomCopyBytes(nil, count, buffer.baseAddress!) == errSecSuccess)
        for page in stride(from: 0, to: count, by: 4096) {
            // All zero in a page of randomness: one in 2^32768.
            guard buffer[page..<page + 4096].contains(where: { $0 != 0 }) else {
                Issue.record("nothing was written at \(page)")
                break
            }
        }
        #expect(buffer[count...].allSatisfy { $0 == 0 })
    }

    @Test func `memory that cannot be written is an error`() throws {
        let page = try #require(mmap(nil, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        try #require(page != MAP_FAILED)
        defer { munmap(page, 4096) }
        #expect(SecRandomCopyBytes(nil, 16, page) == -1)
    }

    @Test func `only as many bytes are written as were asked for`() {
        var bytes = [UInt8](repeating: 0, count: 64)
        #expect(SecRandomCopyBytes(nil, 16, &bytes) == 0)
        #expect(bytes[16...].allSatisfy { $0 == 0 })
    }
}

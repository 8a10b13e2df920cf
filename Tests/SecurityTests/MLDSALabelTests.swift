import CryptoKit
import Foundation
import Testing

/// ML-DSA in software under the labels of Apple's CryptoKit.
@Suite struct MLDSALabelTests {
    private let message = Data("message".utf8)
    private let context = Data("a context".utf8)

    @Test func `signatures of ML-DSA-65 verify with and without a label`() throws {
        let key = try MLDSA65.PrivateKey()
        let plain = try key.signature(for: message)
        let bound = try key.signature(for: message, context: context)
        #expect(key.publicKey.isValidSignature(plain, for: message))
        #expect(key.publicKey.isValidSignature(signature: plain, for: message))
        #expect(!key.publicKey.isValidSignature(signature: plain, for: message, context: context))
        #expect(!key.publicKey.isValidSignature(signature: plain, for: message + [0]))
        #expect(key.publicKey.isValidSignature(signature: bound, for: [UInt8](message), context: context))
        #expect(!key.publicKey.isValidSignature(signature: bound, for: message))
        #expect(!key.publicKey.isValidSignature(signature: bound, for: message, context: Data()))
        #expect(try !MLDSA65.PrivateKey().publicKey.isValidSignature(signature: plain, for: message))
    }

    @Test func `signatures of ML-DSA-87 verify with and without a label`() throws {
        let key = try MLDSA87.PrivateKey()
        let plain = try key.signature(for: message)
        let bound = try key.signature(for: message, context: context)
        #expect(key.publicKey.isValidSignature(plain, for: message))
        #expect(key.publicKey.isValidSignature(signature: plain, for: message))
        #expect(!key.publicKey.isValidSignature(signature: plain, for: message, context: context))
        #expect(!key.publicKey.isValidSignature(signature: plain, for: message + [0]))
        #expect(key.publicKey.isValidSignature(signature: bound, for: [UInt8](message), context: context))
        #expect(!key.publicKey.isValidSignature(signature: bound, for: message))
        #expect(!key.publicKey.isValidSignature(signature: bound, for: message, context: Data()))
        #expect(try !MLDSA87.PrivateKey().publicKey.isValidSignature(signature: plain, for: message))
    }

    @Test func `a context has at most 255 bytes`() throws {
        let (key, strong) = (try MLDSA65.PrivateKey(), try MLDSA87.PrivateKey())
        _ = try key.signature(for: message, context: Data(count: 255))
        _ = try strong.signature(for: message, context: Data(count: 255))
        #expect(throws: (any Error).self) { try key.signature(for: message, context: Data(count: 256)) }
        #expect(throws: (any Error).self) { try strong.signature(for: message, context: Data(count: 256)) }
        let signature = try key.signature(for: message)
        #expect(!key.publicKey.isValidSignature(signature: signature, for: message, context: Data(count: 256)))
    }
}

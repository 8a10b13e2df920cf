import Crypto
import Foundation
import SecretMemory
import Testing

@testable import StoreKeys

@Suite struct StoreKeysTests {
    private let keys = Self.keys(1)
    private let other = Self.keys(2)
    private let message = Data("row of a store".utf8)

    /// Keys that depend on `seed` alone.
    private static func keys(_ seed: UInt8) -> StoreKeys {
        StoreKeys(RootSecret(SecretBytes(Data((0..<96).map { $0 &+ seed })))!)
    }

    private static func damaged(_ bytes: Data) -> [Data] {
        let flipped = bytes.indices.map { index in
            var copy = bytes
            copy[index] ^= 1 << UInt8(index % 8)
            return copy
        }
        return (0..<bytes.count).map { bytes.prefix($0) } + flipped + [bytes + [0]]
    }

    // MARK: codes and digests

    @Test func `a code has 32 bytes, is the same each time, and is valid`() {
        let code = keys.authenticationCode(for: message, label: "row")
        #expect(code.count == 32)
        #expect(Self.keys(1).authenticationCode(for: message, label: "row") == code)
        #expect(keys.isValid(code, for: message, label: "row"))
    }

    @Test func `a code is valid for nothing else`() {
        let code = keys.authenticationCode(for: message, label: "row")
        #expect(!keys.isValid(code, for: message + [0], label: "row"))
        #expect(!keys.isValid(code, for: Data(), label: "row"))
        #expect(!keys.isValid(code, for: message, label: "public half"))
        #expect(!other.isValid(code, for: message, label: "row"))
    }

    @Test func `a damaged code is not valid`() {
        for bytes in Self.damaged(keys.authenticationCode(for: message, label: "row")) {
            #expect(!keys.isValid(bytes, for: message, label: "row"), "\(bytes.count) bytes")
        }
    }

    @Test func `label and message cannot run into each other`() {
        #expect(
            keys.authenticationCode(for: Data("bc".utf8), label: "a")
                != keys.authenticationCode(for: Data("c".utf8), label: "ab"))
    }

    @Test func `a digest is the same each time, and another for each label and store`() {
        let digest = keys.digest(message, label: "account")
        #expect(digest.count == 32)
        #expect(Self.keys(1).digest(message, label: "account") == digest)
        #expect(keys.digest(message, label: "service") != digest)
        #expect(other.digest(message, label: "account") != digest)
    }

    @Test func `a digest is no code`() {
        #expect(!keys.isValid(keys.digest(message, label: "row"), for: message, label: "row"))
    }

    @Test func `codes do not depend on what was computed before`() {
        let code = keys.authenticationCode(for: message, label: "row")
        for count in [0, 1, 63, 64, 65, 5000] { _ = keys.authenticationCode(for: Data(count: count), label: "row") }
        #expect(keys.authenticationCode(for: message, label: "row") == code)
    }

    @Test func `codes and digests are HMACs over label and message, under the first and the third key`() {
        let root = Data((0..<96).map { $0 &+ 1 })
        let input = Data([0, 3]) + Data("row".utf8) + message
        for (place, made) in [
            (0, keys.authenticationCode(for: message, label: "row")), (64, keys.digest(message, label: "row")),
        ] {
            let key = SymmetricKey(data: root[place..<place + 32])
            #expect(made == Data(HMAC<SHA256>.authenticationCode(for: input, using: key)))
        }
    }

    @Test func `code and digest are the documented ones`() {
        let keys = StoreKeys(RootSecret(SecretBytes(Data(0..<96)))!)
        let code = keys.authenticationCode(for: message, label: "row")
        let digest = keys.digest(message, label: "row")
        #expect(hexadecimal(code) == "03e02d246e89a2cd1dc537cff7e693fa75817400361065384d73a072694e73ae")
        #expect(hexadecimal(digest) == "1cb0df7852de61746d0f9701c4e956d45c62b11d598222d48593a2ab2cc9cda9")
    }

    private func hexadecimal(_ bytes: Data) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: records

    @Test func `a record comes back and does not show its text`() throws {
        for record in [message, Data()] {
            #expect(
                try Self.keys(1).unprotect(keys.protect(record, label: "attributes"), label: "attributes") == record)
        }
        #expect(try keys.protect(message, label: "attributes").range(of: message) == nil)
    }

    @Test func `equal records are encrypted differently`() throws {
        #expect(try keys.protect(message, label: "attributes") != keys.protect(message, label: "attributes"))
    }

    @Test func `a record is unreadable under another label and in another store`() throws {
        let blob = try keys.protect(message, label: "attributes")
        #expect(throws: StoreKeysError.unreadable) { try keys.unprotect(blob, label: "attribute") }
        #expect(throws: StoreKeysError.unreadable) { try other.unprotect(blob, label: "attributes") }
    }

    @Test func `a damaged record is never given back`() throws {
        for bytes in Self.damaged(try keys.protect(message, label: "attributes")) {
            #expect(throws: StoreKeysError.unreadable, "\(bytes.count) bytes") {
                try keys.unprotect(bytes, label: "attributes")
            }
        }
    }

    @Test func `a slice of a larger buffer opens like a record of its own`() throws {
        let blob = try keys.protect(message, label: "attributes")
        #expect(try keys.unprotect((Data([9, 9]) + blob).dropFirst(2), label: "attributes") == message)
    }

    @Test func `a secret comes back as one`() throws {
        let blob = try keys.protect(SecretBytes(message), label: "log")
        let secret = try keys.unprotectSecret(blob, label: "log")
        #expect(Data(exposing: secret) == message)
        #expect(throws: StoreKeysError.unreadable) { _ = try keys.unprotectSecret(blob, label: "row") }
    }

    @Test func `a record is three bytes, then AES-GCM under the second key`() throws {
        let blob = try keys.protect(message, label: "attributes")
        #expect(blob.count == 3 + 12 + message.count + 16 && blob.prefix(3) == Data([1, 1, 3]))
        let key = SymmetricKey(data: Data((32..<64).map { $0 &+ 1 }))
        let opened = try AES.GCM.open(
            AES.GCM.SealedBox(combined: blob.dropFirst(3)), using: key,
            authenticating: Data([1, 1, 3]) + Data("attributes".utf8))
        #expect(opened == message)
    }

    // MARK: the root secret

    @Test func `a root secret has 96 bytes and no others`() {
        for count in [0, 32, 95, 97, 128] {
            let isMade = RootSecret(SecretBytes(zeroed: count)) != nil
            #expect(!isMade)
        }
    }

    @Test func `two new root secrets differ`() {
        let isSame = RootSecret().bytes.isEqual(to: RootSecret().bytes)
        #expect(!isSame)
    }
}

import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@testable import RelyingParty

@Suite struct AppleAttestationTests {
    /// A sequence that has the nonce in an octet string, tagged with 1.
    private static func content(_ nonce: [UInt8]) -> [UInt8] {
        [0x30, UInt8(nonce.count + 4), 0xA1, UInt8(nonce.count + 2), 0x04, UInt8(nonce.count)] + nonce
    }

    private static func register(
        _ verifier: WebAuthnVerifier = .example, authority: TestAuthority? = nil, certified: TestKey? = nil,
        credential: COSEAlgorithm = .es256, _ change: (inout TestStatement) throws -> Void = { _ in },
        content: (([UInt8]) -> [UInt8]?)? = nil
    ) async throws -> Registration {
        let authenticator = try TestAuthenticator(credential)
        let response = try authenticator.registration(format: "apple") { data, hash in
            var leaf = try TestLeaf()
            let nonce = Array(SHA256.hash(data: data + hash))
            if let value = content.map({ $0(nonce) }) ?? Self.content(nonce) {
                leaf.extensions.append(
                    Certificate.Extension(oid: [1, 2, 840, 113635, 100, 8, 2], critical: false, value: value[...]))
            }
            let key = (certified ?? authenticator.key).certificateKey
            var statement = TestStatement(members: [
                ("x5c", try [(authority ?? TestAuthority()).issue(leaf, for: key)].chain)
            ])
            try change(&statement)
            return statement.item
        }
        return try await verifier.register(response)
    }

    private func refused(_ error: AttestationError) -> CeremonyError { .attestation(error) }

    @Test func `a certificate for this credential attests`() async throws {
        let root = try TestAuthority()
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .apple, .anchored)
        #expect(try await Self.register(verifier, authority: root).trust == .anchored)
        for algorithm in TestKey.certified {
            #expect(try await Self.register(credential: algorithm).trust == .certificate)
        }
        #expect(try await Self.register { $0["alg"] = .number(-7) }.format == .apple)
    }

    @Test func `a certificate of another registration is refused`() async throws {
        await #expect(throws: refused(.challengeMismatch)) {
            try await Self.register(content: { Self.content([$0[0] ^ 1] + $0.dropFirst()) })
        }
        await #expect(throws: refused(.challengeMismatch)) {
            try await Self.register(content: { _ in Self.content([]) })
        }
        await #expect(throws: refused(.challengeMismatch)) {
            try await Self.register(content: { Self.content($0.dropLast()) })
        }
    }

    @Test func `a certificate for another key is refused`() async throws {
        await #expect(throws: refused(.keyMismatch)) { try await Self.register(certified: TestKey(.es256)) }
        await #expect(throws: refused(.keyMismatch)) { try await Self.register(certified: TestKey(.es384)) }
    }

    @Test func `the extension is there and can be read`() async throws {
        await #expect(throws: refused(.certificate(.formatExtension))) {
            try await Self.register(content: { _ in nil })
        }
        let contents: [([UInt8]) -> [UInt8]] = [
            { Array(Self.content($0).dropLast()) }, { Self.content($0) + [0] }, { _ in [] }, { _ in [0x30, 0] },
            { [0x04, 0x20] + $0 }, { [0x30, 0x24, 0xA2, 0x22, 0x04, 0x20] + $0 },
            { [0x30, 0x24, 0xA1, 0x22, 0x0C, 0x20] + $0 }, { [0x30, 0x26, 0xA1, 0x22, 0x04, 0x20] + $0 + [0x05, 0] },
        ]
        for content in contents {
            await #expect(throws: refused(.extensionUnreadable)) { try await Self.register(content: content) }
        }
    }

    @Test func `members are of their types, and no others`() async throws {
        await #expect(throws: refused(.missing(.x5c))) { try await Self.register { $0["x5c"] = nil } }
        await #expect(throws: refused(.mistyped(.x5c))) { try await Self.register { $0["x5c"] = .bytes([]) } }
        await #expect(throws: refused(.unexpectedMember)) { try await Self.register { $0["sig"] = .bytes([]) } }
    }
}

import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@testable import RelyingParty

@Suite struct AndroidKeyAttestationTests {
    /// `AuthorizationList`: fields by tag, each explicitly tagged.
    private struct Authorizations {
        var purposes: [UInt8]? = [2]
        var isForAllApplications = false
        var origin: UInt8? = 0
        var rest: [UInt8] = []

        var encoded: [UInt8] {
            var fields: [UInt8] = []
            if let purposes {
                let set = purposes.flatMap { [0x02, 0x01, $0] as [UInt8] }
                fields += [0xA1, UInt8(set.count + 2), 0x31, UInt8(set.count)] + set
            }
            if isForAllApplications { fields += [0xBF, 0x84, 0x58, 0x02, 0x05, 0x00] }
            if let origin { fields += [0xBF, 0x85, 0x3E, 0x03, 0x02, 0x01, origin] }
            return AndroidKeyAttestationTests.sequence(fields + rest)
        }

        static let empty = Self(purposes: nil, origin: nil)
    }

    private static func sequence(_ content: [UInt8]) -> [UInt8] { [0x30, UInt8(content.count)] + content }

    private struct Description {
        var software = Authorizations.empty
        var hardware = Authorizations()
        var challenge: (([UInt8]) -> [UInt8]) = { $0 }
        var head: [UInt8] = [0x02, 0x01, 0x04, 0x0A, 0x01, 0x01, 0x02, 0x01, 0x04, 0x0A, 0x01, 0x01]

        func encoded(_ hash: [UInt8]) -> [UInt8] {
            let challenge = self.challenge(hash)
            let fields: [[UInt8]] = [
                head, [0x04, UInt8(challenge.count)], challenge, [0x04, 0x00], software.encoded, hardware.encoded,
            ]
            return AndroidKeyAttestationTests.sequence(fields.flatMap { $0 })
        }
    }

    private static func register(
        _ verifier: WebAuthnVerifier = .example, authority: TestAuthority? = nil, certified: TestKey? = nil,
        _ describe: (inout Description) -> Void = { _ in }, extension content: (([UInt8]) -> [UInt8]?)? = nil,
        statement change: (inout TestStatement) throws -> Void = { _ in }
    ) async throws -> Registration {
        let authenticator = try TestAuthenticator()
        var description = Description()
        describe(&description)
        let response = try authenticator.registration(format: "android-key") { data, hash in
            var leaf = try TestLeaf()
            if let value = content.map({ $0(hash) }) ?? description.encoded(hash) {
                leaf.extensions.append(
                    Certificate.Extension(oid: [1, 3, 6, 1, 4, 1, 11129, 2, 1, 17], critical: false, value: value[...]))
            }
            let key = certified ?? authenticator.key
            var statement = TestStatement(members: [
                ("alg", .number(-7)), ("sig", .bytes(try key.sign(data + hash))),
                ("x5c", try [(authority ?? TestAuthority()).issue(leaf, for: key.certificateKey)].chain),
            ])
            try change(&statement)
            return statement.item
        }
        return try await verifier.register(response)
    }

    private func refused(_ error: AttestationError) -> CeremonyError { .attestation(error) }

    @Test func `a key made in the device for signatures attests`() async throws {
        let root = try TestAuthority()
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .androidKey, .anchored)
        #expect(try await Self.register(verifier, authority: root).trust == .anchored)
        // Properties may stand in either list, beside ones that nobody asks for.
        let registration = try await Self.register { description in
            description.software = Authorizations(purposes: nil, rest: [0xA2, 0x03, 0x02, 0x01, 0x03])
            description.hardware = Authorizations(origin: nil)
        }
        #expect(registration.format == .androidKey)
    }

    @Test func `SHA-1, and algorithms that are none, are refused`() async throws {
        for number in [-65535, -48, 0] {
            await #expect(throws: refused(.algorithm(number))) {
                try await Self.register(statement: { $0["alg"] = .number(number) })
            }
        }
    }

    @Test func `a key for all applications is refused, in either list`() async throws {
        await #expect(throws: refused(.androidKey(.notForAllApplications))) {
            try await Self.register { $0.software.isForAllApplications = true }
        }
        await #expect(throws: refused(.androidKey(.notForAllApplications))) {
            try await Self.register { $0.hardware.isForAllApplications = true }
        }
    }

    @Test func `a key that was not made in the device is refused`() async throws {
        for origin in [1, 2, 3, nil] as [UInt8?] {
            await #expect(throws: refused(.androidKey(.generatedInDevice))) {
                try await Self.register { $0.hardware.origin = origin }
            }
        }
        await #expect(throws: refused(.androidKey(.generatedInDevice))) {
            try await Self.register { $0.software.origin = 2 }
        }
    }

    @Test func `a key for other purposes is refused`() async throws {
        for purposes in [[], [0], [3], [0, 2], [2, 3], nil] as [[UInt8]?] {
            await #expect(throws: refused(.androidKey(.forSigning))) {
                try await Self.register { $0.hardware.purposes = purposes }
            }
        }
    }

    @Test func `another challenge and another key are refused`() async throws {
        await #expect(throws: refused(.challengeMismatch)) {
            try await Self.register { $0.challenge = { [$0[0] ^ 1] + $0.dropFirst() } }
        }
        await #expect(throws: refused(.challengeMismatch)) { try await Self.register { $0.challenge = { _ in [] } } }
        await #expect(throws: refused(.keyMismatch)) { try await Self.register(certified: TestKey(.es256)) }
    }

    @Test func `the signature must be the certificate's`() async throws {
        await #expect(throws: refused(.signatureInvalid)) {
            try await Self.register(statement: { $0["sig"] = .bytes(try TestKey(.es256).sign([1])) })
        }
        await #expect(throws: refused(.algorithm(-999))) {
            try await Self.register(statement: { $0["alg"] = .number(-999) })
        }
        for member in [AttestationMember.alg, .sig, .x5c] {
            await #expect(throws: refused(.missing(member))) {
                try await Self.register(statement: { $0[member.rawValue] = nil })
            }
            await #expect(throws: refused(.mistyped(member))) {
                try await Self.register(statement: { $0[member.rawValue] = .boolean(true) })
            }
        }
    }

    @Test func `the extension is there and can be read`() async throws {
        await #expect(throws: refused(.certificate(.formatExtension))) {
            try await Self.register(extension: { _ in nil })
        }
        let whole = Description().encoded([UInt8](repeating: 0, count: 32))
        for count in 0..<whole.count {
            await #expect(throws: refused(.extensionUnreadable), "\(count)") {
                try await Self.register(extension: { _ in Array(whole.prefix(count)) })
            }
        }
        await #expect(throws: refused(.extensionUnreadable)) { try await Self.register { $0.head = [] } }
    }
}

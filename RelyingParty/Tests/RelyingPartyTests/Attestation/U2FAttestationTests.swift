import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@testable import RelyingParty

@Suite struct U2FAttestationTests {
    private static func register(
        _ verifier: WebAuthnVerifier = .example, authority: TestAuthority? = nil, signer: TestKey? = nil,
        credential: COSEAlgorithm = .es256, aaguid: UInt8 = 0, flags: UInt8 = 0x01,
        verification: UserRequirements.Verification = .preferred,
        _ change: (inout TestStatement) throws -> Void = { _ in }, signed: (([UInt8]) -> [UInt8])? = nil
    ) async throws -> Registration {
        var authenticator = try TestAuthenticator(credential)
        authenticator.aaguid = [UInt8](repeating: aaguid, count: 16)
        authenticator.flags = flags
        let signer = try signer ?? TestKey(.es256)
        let certificate = try (authority ?? TestAuthority()).issue(try TestLeaf(), for: signer.certificateKey)
        let response = try authenticator.registration(format: "fido-u2f") { data, hash in
            var point: [UInt8] = []
            if case .p256(let key) = authenticator.key { point = Array(key.publicKey.x963Representation) }
            let message = [[0], Array(data.prefix(32)), hash, authenticator.credentialID, point].flatMap { $0 }
            var statement = TestStatement(members: [
                ("sig", .bytes(try signer.sign(signed?(message) ?? message))), ("x5c", try [certificate].chain),
            ])
            try change(&statement)
            return statement.item
        }
        return try await verifier.register(response, requirements: UserRequirements(verification: verification))
    }

    private func refused(_ error: AttestationError) -> CeremonyError { .attestation(error) }

    @Test func `a key of U2F attests`() async throws {
        let root = try TestAuthority()
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .fidoU2F, .anchored)
        let registration = try await Self.register(verifier, authority: root)
        #expect(registration.format == .fidoU2F && registration.trust == .anchored)
        #expect(try await Self.register().trust == .certificate)
    }

    @Test func `a model and a verified user, which the statement does not cover, do not count`() async throws {
        let root = try TestAuthority()
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .fidoU2F, .anchored)
        let registration = try await Self.register(verifier, authority: root, aaguid: 7, flags: 0x05)
        #expect(registration.trust == .anchored)
        #expect(registration.aaguid == Data(count: 16) && !registration.credential.isUserVerified)
        await #expect(throws: CeremonyError.userNotVerified) {
            try await Self.register(verifier, authority: root, flags: 0x05, verification: .required)
        }
    }

    @Test func `members are there, of their types, and no others`() async throws {
        for member in [AttestationMember.sig, .x5c] {
            await #expect(throws: refused(.missing(member))) { try await Self.register { $0[member.rawValue] = nil } }
            await #expect(throws: refused(.mistyped(member))) {
                try await Self.register { $0[member.rawValue] = .null }
            }
        }
        await #expect(throws: refused(.unexpectedMember)) { try await Self.register { $0["alg"] = .number(-7) } }
    }

    @Test func `there is exactly one certificate`() async throws {
        let der = CBORItem.bytes(try TestAuthority().certificate.der)
        for count in [0, 2] {
            await #expect(throws: refused(.certificateCount(count))) {
                try await Self.register { $0["x5c"] = .array([CBORItem](repeating: der, count: count)) }
            }
        }
    }

    @Test func `both keys are on P-256`() async throws {
        await #expect(throws: refused(.certificate(.keyType))) { try await Self.register(signer: TestKey(.es384)) }
        await #expect(throws: refused(.keyMismatch)) { try await Self.register(credential: .es384) }
        await #expect(throws: refused(.keyMismatch)) { try await Self.register(credential: .edDSA) }
    }

    @Test func `each part of the message is signed`() async throws {
        for index in [0, 1, 32, 33, 64, 65, 97, 161] {
            await #expect(throws: refused(.signatureInvalid)) {
                try await Self.register(signed: { message in
                    var changed = message
                    changed[index] ^= 1
                    return changed
                })
            }
        }
    }
}

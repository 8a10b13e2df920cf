import AccessControl
import Foundation
import LocalAuthentication
import OstiaryClient
import OstiaryMessages
import Testing

@Suite("Rights that confirm each signature")
struct LAConfirmedSignatureTests {
    private let daemon = FakeDaemon()
    private static let message = Data("Pay 100 EUR to Alice".utf8)

    private func saved() async throws -> LAPersistedRight {
        let right = LARight(confirmingEachSignatureWith: .default, service: daemon)
        #expect(right.confirmsEachSignature)
        return try await LARightStore(service: daemon).saveRight(right, identifier: "r")
    }

    @Test func `are saved as such, and found as such`() async throws {
        let saved = try await saved()
        let found = try await LARightStore(service: daemon).right(forIdentifier: "r")
        #expect(saved.confirmsEachSignature && found.confirmsEachSignature && found.grantLimits == nil)
        guard case .create(_, let accessControl, _)? = daemon.calls.first else {
            Issue.record("nothing was created")
            return
        }
        #expect(accessControl.confirmsEachSignature && accessControl.operations == [.create, .sign, .delete])
        #expect(!LARight(requirement: .default, service: daemon).confirmsEachSignature)
    }

    @Test func `permit leases within the limits that the program names, and else none`() async throws {
        let limits = try LAGrantLimits(hardSeconds: 1800, uses: 20)
        let right = LARight(confirmingEachSignatureWith: .default, leaseLimits: limits, service: daemon)
        #expect(right.confirmsEachSignature && right.leaseLimits == limits && right.grantLimits == nil)
        let saved = try await LARightStore(service: daemon).saveRight(right, identifier: "leased")
        let found = try await LARightStore(service: daemon).right(forIdentifier: "leased")
        #expect(saved.leaseLimits == limits && found.leaseLimits == limits)
        guard case .create(_, let accessControl, _)? = daemon.calls.first else {
            Issue.record("nothing was created")
            return
        }
        #expect(try accessControl.leaseLimits == GrantLimits(hardSeconds: 1800, uses: 20))

        #expect(try await self.saved().leaseLimits == nil)
        let ordinary = LARight(requirement: .default, grantLimits: limits, service: daemon)
        #expect(ordinary.leaseLimits == nil && ordinary.grantLimits == limits)
    }

    @Test func `send the message itself with the reason, and need no authorization`() async throws {
        let right = try await saved()
        let signature = try await right.key.sign(
            Self.message, algorithm: .ecdsaSignatureMessageX962SHA256, localizedReason: "pay")
        #expect(signature == Data("confirmed".utf8))
        #expect(
            daemon.calls.last
                == .confirmAndSign(
                    Self.message, algorithm: "algid:sign:ECDSA:message-X962:SHA256", reason: "pay"))
        #expect(try await right.attestation(for: Self.message, localizedReason: "prove") == Data("statement".utf8))
        #expect(daemon.calls.last == .confirmAndAttest(Self.message, reason: "prove"))
        #expect(!daemon.calls.contains { if case .authorize = $0 { true } else { false } })
    }

    @Test func `need a reason and a known algorithm`() async throws {
        let key = try await saved().key
        let unexplained = await thrownError {
            _ = try await key.sign(
                Self.message, algorithm: .ecdsaSignatureMessageX962SHA256, localizedReason: "")
        }
        expectAuthenticationError(.authenticationFailed, cause: "reason.empty", unexplained)
        let unknown = await thrownError {
            _ = try await key.sign(
                Self.message, algorithm: SecKeyAlgorithm(rawValue: "algid:sign:nothing"), localizedReason: "pay")
        }
        expectStatus(errSecParam, unknown)
        #expect(!daemon.calls.contains { if case .confirmAndSign = $0 { true } else { false } })
    }

    @Test func `give no signature when the person says no`() async throws {
        let key = try await saved().key
        daemon.refuseUse(OstiaryError(.init(.userCancel), "no"))
        let refused = await thrownError {
            _ = try await key.sign(
                Self.message, algorithm: .ecdsaSignatureMessageX962SHA256, localizedReason: "pay")
        }
        expectAuthenticationError(.userCancel, refused)
    }
}

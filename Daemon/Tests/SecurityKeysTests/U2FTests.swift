import AuthenticatorRequests
import Crypto
import ExactNames
import Foundation
import SecurityKeyTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import SecurityKeys

/// Keys of FIDO U2F alone (CTAP 1).
@Suite(.timeLimit(.minutes(10))) struct U2FTests {
    let fixture: KeyFixture
    let finger = TestFinger()

    init() throws { fixture = try KeyFixture() }

    private func engine() throws -> U2FEngine { U2FEngine(finger, certificate: try certificate()) }

    func certificate() throws -> [UInt8] {
        let path = fixture.folder.path("certificate.der")
        let process = try SpawnedProcess(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=key",
                "-keyout", fixture.folder.path("key.pem"), "-outform", "DER", "-out", path,
            ])
        #expect(process.wait() == .exited(0))
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    @Test func `a key of U2F registers and authenticates`() throws {
        let engine = try engine()
        let key = try fixture.plugIn(engine)
        let created = try fixture.create(KeyFixture.creation { $0.attestation = .direct })
        #expect(created.attestationObject.contains(Array("fido-u2f".utf8)))
        #expect(created.supportsPRF == nil)
        let asserted = try fixture.assert(KeyFixture.assertion(allowing: [created.credentialIdentifier]))
        #expect(verifies(asserted, with: engine.publicKey(of: created.credentialIdentifier)))
        #expect(throws: CredentialRefusal.excluded) {
            try fixture.create(
                KeyFixture.creation {
                    $0.excluded = [CredentialDescriptor(identifier: created.credentialIdentifier)]
                })
        }
        withExtendedLifetime(key) {}
    }

    @Test func `what U2F has not is refused by name`() throws {
        let key = try fixture.plugIn(try engine())
        #expect(throws: CredentialRefusal.unsupported(what: "userVerification")) {
            try fixture.create(KeyFixture.creation { $0.userVerification = .required })
        }
        #expect(throws: CredentialRefusal.unsupported(what: "residentKey")) {
            try fixture.create(KeyFixture.creation { $0.discoverable = .required })
        }
        #expect(throws: CredentialRefusal.noCredential) { try fixture.assert(KeyFixture.assertion()) }
        let created = try fixture.create(KeyFixture.creation { $0.extensions.wantsPRF = true })
        #expect(created.supportsPRF == false)
        withExtendedLifetime(key) {}
    }

    @Test func `a credential of U2F is found by the program's appID`() throws {
        let engine = try engine()
        let key = try fixture.plugIn(engine)
        let old = KeyFixture.creation { $0.relyingParty = RelyingPartyName(identifier: "https://example.com/app") }
        let created = try fixture.create(old)
        let plain = KeyFixture.assertion(allowing: [created.credentialIdentifier])
        #expect(throws: CredentialRefusal.noCredential) { try fixture.assert(plain) }
        let asserted = try fixture.assert(
            KeyFixture.assertion(allowing: [created.credentialIdentifier]) { $0.appID = "https://example.com/app" })
        #expect(asserted.usedAppID)
        #expect(verifies(asserted, with: engine.publicKey(of: created.credentialIdentifier)))
        withExtendedLifetime(key) {}
    }
}

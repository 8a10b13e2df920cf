import AuthenticatorRequests
import Crypto
import ExactNames
import Foundation
import SecurityKeyTestSupport
import Testing

@testable import SecurityKeys

/// Creations and assertions through the real helper and libfido2, with keys in software.
@Suite(.timeLimit(.minutes(10))) struct CeremonyTests {
    let fixture: KeyFixture
    let finger = TestFinger()

    init() throws { fixture = try KeyFixture() }

    @Test func `a credential is made with a touch, and signs with another`() throws {
        let engine = FIDO2Engine(finger)
        let key = try fixture.plugIn(engine)
        let question = ScriptedQuestion()
        let created = try fixture.create(KeyFixture.creation(), question)
        #expect(question.steps.contains(.touch(device: "key")))
        #expect(question.pinRequests.isEmpty)
        #expect(created.transports == ["usb"])
        #expect(created.attachment == .crossPlatform)
        // fmt "none", an empty statement, and authenticator data without the key's model.
        let head = [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8) + [0x67] + Array("attStmt".utf8)
        #expect(created.attestationObject.starts(with: head + [0xA0, 0x68] + Array("authData".utf8)))
        #expect(created.attestationObject.contains(Array(SHA256.hash(data: Array("example.com".utf8)))))
        #expect(!created.attestationObject.contains(FIDO2Engine.identifier))

        let asserted = try fixture.assert(KeyFixture.assertion(allowing: [created.credentialIdentifier]))
        #expect(asserted.credentialIdentifier == created.credentialIdentifier)
        #expect(verifies(asserted, with: engine.memory.publicKey(of: created.credentialIdentifier)))
        #expect(!verifies(asserted, with: P256.Signing.PrivateKey().publicKey))
        #expect(asserted.authenticatorData[32] & 0x05 == 0x01)
        #expect(finger.waitCount == 2)
        #expect(asserted.prf == nil)
        withExtendedLifetime(key) {}
    }

    @Test func `a relying party that asks for attestation gets the key's statement and model`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger))
        let created = try fixture.create(KeyFixture.creation { $0.attestation = .direct })
        #expect(created.attestationObject.contains(FIDO2Engine.identifier))
        #expect(created.attestationObject.contains(Array("packed".utf8)))
        withExtendedLifetime(key) {}
    }

    @Test func `a key that holds an excluded credential makes none, and says so after a touch`() throws {
        let engine = FIDO2Engine(finger)
        let key = try fixture.plugIn(engine)
        let created = try fixture.create()
        let excluding = KeyFixture.creation {
            $0.excluded = [CredentialDescriptor(identifier: created.credentialIdentifier)]
        }
        #expect(throws: CredentialRefusal.excluded) { try fixture.create(excluding) }
        #expect(engine.memory.count == 1)
        #expect(finger.waitCount == 2)
        withExtendedLifetime(key) {}
    }

    @Test func `excluded credentials are found in a list that is too long for the key`() throws {
        let engine = FIDO2Engine(finger)
        let key = try fixture.plugIn(engine)
        let created = try fixture.create()
        let others = (0..<40).map { CredentialDescriptor(identifier: [UInt8](repeating: UInt8($0), count: 32)) }
        let excluding = KeyFixture.creation {
            $0.excluded = others + [CredentialDescriptor(identifier: created.credentialIdentifier)]
        }
        #expect(throws: CredentialRefusal.excluded) { try fixture.create(excluding) }
        let allowing = others.map(\.identifier) + [created.credentialIdentifier]
        let asserted = try fixture.assert(KeyFixture.assertion(allowing: allowing))
        #expect(asserted.credentialIdentifier == created.credentialIdentifier)
        withExtendedLifetime(key) {}
    }

    @Test func `a key without the credential says so only to the person who touches it`() throws {
        let patient = TestFinger(touches: 0)
        let key = try fixture.plugIn(FIDO2Engine(patient))
        let assertion = KeyFixture.assertion(allowing: [[UInt8](repeating: 7, count: 32)])
        #expect(throws: CredentialRefusal.timedOut) { try fixture.assert(assertion, within: .seconds(2)) }
        let question = ScriptedQuestion(onStep: { if $0 == .touch(device: "key") { patient.touch() } })
        #expect(throws: CredentialRefusal.noCredential) { try fixture.assert(assertion, question) }
        withExtendedLifetime(key) {}
    }

    @Test func `a credential of another relying party is none`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger))
        let created = try fixture.create()
        let other = KeyFixture.assertion(allowing: [created.credentialIdentifier]) {
            $0.relyingParty = RelyingPartyName(identifier: "example.org")
        }
        #expect(throws: CredentialRefusal.noCredential) { try fixture.assert(other) }
        withExtendedLifetime(key) {}
    }

    @Test func `the person chooses among discoverable accounts`() throws {
        let engine = FIDO2Engine(finger, memory: KeyMemory(pin: "1234"))
        let key = try fixture.plugIn(engine)
        var identifiers: [String: [UInt8]] = [:]
        for name in ["ada", "grace"] {
            let creation = KeyFixture.creation {
                $0.discoverable = .required
                $0.user = KeyFixture.user(name)
            }
            identifiers[name] = try fixture.create(creation, ScriptedQuestion(pins: ["1234"])).credentialIdentifier
        }
        let required = KeyFixture.assertion { $0.userVerification = .required }
        let question = ScriptedQuestion(pins: ["1234"], account: 1)
        let asserted = try fixture.assert(required, question)
        #expect(question.accounts.map(\.name) == ["grace", "ada"])
        #expect(asserted.credentialIdentifier == identifiers["ada"])
        #expect(asserted.userHandle == Array("ada".utf8))
        #expect(asserted.authenticatorData[32] & 0x04 == 0x04)
        #expect(verifies(asserted, with: engine.memory.publicKey(of: asserted.credentialIdentifier)))
        #expect(throws: CredentialRefusal.cancelled) {
            try fixture.assert(required, ScriptedQuestion(pins: ["1234"], account: nil))
        }
        withExtendedLifetime(key) {}
    }

    @Test func `an algorithm that the key has not is refused`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger))
        let creation = KeyFixture.creation { $0.algorithms = [-257, -8] }
        #expect(throws: CredentialRefusal.unsupportedAlgorithm) { try fixture.create(creation) }
        #expect(
            try fixture.create(KeyFixture.creation { $0.algorithms = [-257, -7] }).credentialIdentifier.count == 32)
        withExtendedLifetime(key) {}
    }

    @Test func `hmac-secret gives what the key computes, and another output for a verified person`() throws {
        let engine = FIDO2Engine(finger, memory: KeyMemory(pin: "1234"))
        let key = try fixture.plugIn(engine)
        let created = try fixture.create(KeyFixture.creation { $0.extensions.wantsPRF = true })
        #expect(created.supportsPRF == true)
        let salts = PRFSalts(first: [UInt8](repeating: 1, count: 32), second: [UInt8](repeating: 2, count: 32))
        let credential = try #require(engine.memory.credentials().first)
        func outputs(_ verification: Preference, _ change: (inout CredentialAssertion) -> Void) throws -> PRFOutputs? {
            let assertion = KeyFixture.assertion(allowing: [created.credentialIdentifier]) {
                $0.userVerification = verification
                change(&$0)
            }
            return try fixture.assert(assertion, ScriptedQuestion(pins: ["1234"])).prf
        }
        let touched = try outputs(.discouraged) { $0.salts = salts }
        #expect(try touched == engine.memory.outputs(of: salts, with: credential, isVerified: false, under: nil))
        let verified = try outputs(.required) { $0.salts = salts }
        #expect(try verified == engine.memory.outputs(of: salts, with: credential, isVerified: true, under: nil))
        #expect(touched?.first != verified?.first)
        let own = try outputs(.discouraged) {
            $0.saltsByCredential = [created.credentialIdentifier: PRFSalts(first: [UInt8](repeating: 1, count: 32))]
            $0.salts = PRFSalts(first: [UInt8](repeating: 9, count: 32))
        }
        #expect(own == PRFOutputs(first: try #require(touched?.first)))
        withExtendedLifetime(key) {}
    }

    @Test func `what a key cannot do is refused by name`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger, hasPIN: false))
        #expect(throws: CredentialRefusal.unsupported(what: "userVerification")) {
            try fixture.create(KeyFixture.creation { $0.userVerification = .required })
        }
        #expect(throws: CredentialRefusal.unsupported(what: "largeBlob")) {
            try fixture.create(KeyFixture.creation { $0.extensions.largeBlob = .required })
        }
        let created = try fixture.create(KeyFixture.creation { $0.extensions.largeBlob = .preferred })
        #expect(created.supportsLargeBlob == false)
        withExtendedLifetime(key) {}
    }

    @Test(arguments: [
        KeyFixture.creation { $0.clientDataHash = [1] }, KeyFixture.creation { $0.user.identifier = [] },
        KeyFixture.creation { $0.user.identifier = [UInt8](repeating: 1, count: 65) },
        KeyFixture.creation { $0.relyingParty = RelyingPartyName(identifier: "") },
        KeyFixture.creation { $0.relyingParty = RelyingPartyName(identifier: "a\0b") },
        KeyFixture.creation { $0.excluded = [CredentialDescriptor(identifier: [])] },
        KeyFixture.creation {
            $0.excluded = (0...64).map { CredentialDescriptor(identifier: [UInt8($0)]) }
        },
    ])
    func `what no key would take starts no helper`(_ creation: CredentialCreation) throws {
        let engine = FIDO2Engine(finger)
        let key = try fixture.plugIn(engine)
        #expect(throws: CredentialRefusal.self) { try fixture.create(creation) }
        #expect(key.requests.isEmpty)
    }
}

import AuthenticatorRequests
import Cancellations
import Foundation
import SecretMemory
import SecurityKeyTestSupport
import Synchronization
import Testing

@testable import SecurityKeys

/// PINs of keys: entered, set, wrong, and spent.
@Suite(.timeLimit(.minutes(10))) struct PINTests {
    let fixture: KeyFixture
    let finger = TestFinger()
    let memory = KeyMemory(pin: "1234")
    private typealias Request = ScriptedQuestion.PINRequest

    init() throws { fixture = try KeyFixture() }

    private let verified = KeyFixture.creation { $0.userVerification = .required }

    @Test func `the right PIN verifies the person`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion(pins: ["1234"])
        let created = try fixture.create(verified, question)
        #expect(question.pinRequests == [Request(triesLeft: 8)])
        let asserted = try fixture.assert(
            KeyFixture.assertion(allowing: [created.credentialIdentifier]) { $0.userVerification = .required },
            ScriptedQuestion(pins: ["1234"]))
        #expect(asserted.authenticatorData[32] & 0x05 == 0x05)
        withExtendedLifetime(key) {}
    }

    @Test func `a wrong PIN is asked for again, with the tries that are left`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion(pins: ["9999", "1234"])
        _ = try fixture.create(verified, question)
        #expect(question.pinRequests == [Request(triesLeft: 8), Request(triesLeft: 7, wasWrong: true)])
        #expect(memory.pinTriesLeft() == 8)
        withExtendedLifetime(key) {}
    }

    @Test func `what cannot be a PIN costs no try`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let long = String(repeating: "1", count: 64)
        let question = ScriptedQuestion(pins: ["", "123", "é2é", "12\u{0}34", long, "1234"])
        _ = try fixture.create(verified, question)
        #expect(question.pinRequests.map(\.triesLeft) == [8, 8, 8, 8, 8, 8])
        #expect(question.pinRequests.map(\.wasWrong) == [false, true, true, true, true, true])
        withExtendedLifetime(key) {}
    }

    /// "ä" and "é" as they come from keyboards with dead keys, as they come from some input methods, and mixed.
    @Test(arguments: ["\u{E4}b\u{E9}c", "a\u{308}be\u{301}c", "\u{E4}be\u{301}c"])
    func `a PIN is the same however its letters are composed`(_ typed: String) throws {
        let memory = KeyMemory()
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        _ = try fixture.create(verified, ScriptedQuestion(pins: [typed]))
        #expect(memory.pinHash() == KeyMemory(pin: "\u{E4}b\u{E9}c").pinHash())
        _ = try fixture.create(verified, ScriptedQuestion(pins: [typed]))
        #expect(memory.pinTriesLeft() == 8)
        withExtendedLifetime(key) {}
    }

    @Test func `the form of a PIN is that of its whole text`() {
        let texts = [
            "", "1234", "pass word", "a\u{308}", "\u{308}a", "q\u{307}\u{323}", "\u{212B}", "\u{1100}\u{1161}\u{11A8}x",
            "\u{0928}\u{093C}", "\u{1D160}", "\u{1F600}e\u{301}", "a" + String(repeating: "\u{301}\u{323}", count: 20),
        ]
        for text in texts {
            let normal = SecretBytes(Data(text.utf8)).inNormalizationFormC()
            let expected = SecretBytes(Data(text.precomposedStringWithCanonicalMapping.utf8))
            let isSame = normal.isEqual(to: expected)
            #expect(isSame, "\(text.unicodeScalars.map(\.value))")
        }
        for bytes: [UInt8] in [[0xFF], [0x61, 0xCC], [0x61, 0xCC, 0x88, 0xC0], [0xED, 0xA0, 0x80]] {
            let isSame = SecretBytes(Data(bytes)).inNormalizationFormC().isEqual(to: SecretBytes(Data(bytes)))
            #expect(isSame)
        }
    }

    @Test func `a PIN is as long as its composed letters`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        // Six scalars, and three characters.
        let question = ScriptedQuestion(pins: ["a\u{308}e\u{301}o\u{308}", "1234"])
        _ = try fixture.create(verified, question)
        #expect(question.pinRequests.map(\.triesLeft) == [8, 8])
        withExtendedLifetime(key) {}
    }

    @Test func `three wrong PINs in a row need the key to be unplugged`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion(pins: ["9991", "9992", "9993", "1234"])
        #expect(throws: CredentialRefusal.pinTemporarilyBlocked) { try fixture.create(verified, question) }
        #expect(memory.pinTriesLeft() == 5)
        #expect(memory.count == 0)
        key.unplug()
        let again = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        _ = try fixture.create(verified, ScriptedQuestion(pins: ["1234"]))
        withExtendedLifetime(again) {}
    }

    @Test func `the last try is left unless the person insists`() throws {
        memory.setPINTriesLeft(2)
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let careful = ScriptedQuestion(pins: ["9999", "9998"])
        #expect(throws: CredentialRefusal.lastPINTry) { try fixture.create(verified, careful) }
        #expect(careful.pinRequests == [Request(triesLeft: 2)])
        #expect(memory.pinTriesLeft() == 1)
        #expect(throws: CredentialRefusal.lastPINTry) {
            try fixture.create(verified, ScriptedQuestion(pins: ["1234"]))
        }
        #expect(memory.pinTriesLeft() == 1)
        let insisting = ScriptedQuestion(pins: ["9999"], insists: true)
        #expect(throws: CredentialRefusal.pinBlocked) { try fixture.create(verified, insisting) }
        #expect(insisting.pinRequests == [Request(triesLeft: 1)])
        #expect(throws: CredentialRefusal.pinBlocked) {
            try fixture.create(verified, ScriptedQuestion(pins: ["1234"], insists: true))
        }
        withExtendedLifetime(key) {}
    }

    @Test func `the right PIN at the last try opens, when the person insists`() throws {
        memory.setPINTriesLeft(1)
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        _ = try fixture.create(verified, ScriptedQuestion(pins: ["1234"], insists: true))
        #expect(memory.pinTriesLeft() == 8)
        withExtendedLifetime(key) {}
    }

    @Test func `a key without a PIN gets one where verification is required`() throws {
        let memory = KeyMemory()
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion(pins: ["24680"])
        _ = try fixture.create(verified, question)
        #expect(question.pinRequests == [Request(triesLeft: nil, isNew: true)])
        #expect(memory.pinHash() == KeyMemory(pin: "24680").pinHash())
        _ = try fixture.create(verified, ScriptedQuestion(pins: ["24680"]))
        withExtendedLifetime(key) {}
    }

    /// A key whose policy refuses the first new PIN.
    private final class StrictKey: KeyEngine {
        private let engine: FIDO2Engine
        /// The subcommands that set or change the PIN.
        let settings = Mutex<[UInt8]>([])
        var capabilities: UInt8 { engine.capabilities }

        init(_ engine: FIDO2Engine) { self.engine = engine }

        func respond(toCBOR request: [UInt8], until cancellation: Cancellation) -> [UInt8] {
            // authenticatorClientPIN: a map that begins with the protocol and the subcommand.
            let subcommand = request.count > 5 && request[0] == 0x06 && request[4] == 0x02 ? request[5] : 0
            guard [3, 4].contains(subcommand) else { return engine.respond(toCBOR: request, until: cancellation) }
            let isFirst = settings.withLock { settings in
                settings.append(subcommand)
                return settings.count == 1
            }
            return isFirst ? [0x37] : engine.respond(toCBOR: request, until: cancellation)
        }

        func respond(toMessage request: [UInt8]) -> [UInt8] { engine.respond(toMessage: request) }
    }

    @Test func `a new PIN that the key's policy refuses is asked for again, and the present one is not`() throws {
        let strict = StrictKey(FIDO2Engine(finger, memory: memory))
        let key = try fixture.plugIn(strict)
        let question = ScriptedQuestion(pins: ["1234", "1111", "24680"])
        try fixture.keys().setPIN(with: question, until: fixture.cancellation)
        #expect(
            question.pinRequests == [
                Request(triesLeft: 8), Request(triesLeft: nil, isNew: true),
                Request(triesLeft: nil, isNew: true, wasWrong: true),
            ])
        #expect(strict.settings.withLock { $0 } == [4, 4])
        #expect(memory.pinHash() == KeyMemory(pin: "24680").pinHash() && memory.pinTriesLeft() == 8)
        withExtendedLifetime(key) {}
    }

    @Test func `a first PIN that the key's policy refuses is asked for again`() throws {
        let memory = KeyMemory()
        let strict = StrictKey(FIDO2Engine(finger, memory: memory))
        let key = try fixture.plugIn(strict)
        let question = ScriptedQuestion(pins: ["1111", "24680"])
        try fixture.keys().setPIN(with: question, until: fixture.cancellation)
        #expect(question.pinRequests.map(\.wasWrong) == [false, true] && question.pinRequests.allSatisfy(\.isNew))
        #expect(strict.settings.withLock { $0 } == [3, 3])
        #expect(memory.pinHash() == KeyMemory(pin: "24680").pinHash())
        withExtendedLifetime(key) {}
    }

    @Test func `a person who has no other PIN leaves the key as it is`() throws {
        let strict = StrictKey(FIDO2Engine(finger, memory: memory))
        let key = try fixture.plugIn(strict)
        #expect(throws: CredentialRefusal.cancelled) {
            try fixture.keys().setPIN(with: ScriptedQuestion(pins: ["1234", "1111"]), until: fixture.cancellation)
        }
        #expect(memory.pinHash() == KeyMemory(pin: "1234").pinHash())
        withExtendedLifetime(key) {}
    }

    @Test func `nobody is asked for a PIN that is not needed`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion()
        _ = try fixture.create(KeyFixture.creation(), question)
        #expect(question.pinRequests.isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `a person who cancels at the PIN ends it, and the key keeps its tries`() throws {
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        #expect(throws: CredentialRefusal.cancelled) { try fixture.create(verified) }
        #expect(memory.pinTriesLeft() == 8)
        #expect(finger.waitCount == 0)
        withExtendedLifetime(key) {}
    }

    @Test func `a key with a sensor verifies by itself, and tells the tries that are left`() throws {
        let finger = TestFinger(verifies: true, recognitions: [false, true])
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion()
        _ = try fixture.create(verified, question)
        #expect(question.pinRequests.isEmpty)
        #expect(question.steps.contains(.verifyOnDevice(device: "key", triesLeft: 3)))
        #expect(question.steps.contains(.verifyOnDevice(device: "key", triesLeft: 2)))
        withExtendedLifetime(key) {}
    }

    @Test func `a sensor that is blocked leaves the PIN`() throws {
        let finger = TestFinger(verifies: true, recognitions: [false, false, false])
        let key = try fixture.plugIn(FIDO2Engine(finger, memory: memory))
        let question = ScriptedQuestion(pins: ["1234"])
        _ = try fixture.create(verified, question)
        #expect(question.pinRequests == [Request(triesLeft: 8)])
        withExtendedLifetime(key) {}
    }

    @Test func `a sensor that is blocked on a key without a PIN is said`() throws {
        let finger = TestFinger(verifies: true, recognitions: [false, false, false])
        let key = try fixture.plugIn(FIDO2Engine(finger, hasPIN: false))
        #expect(throws: CredentialRefusal.self) { try fixture.create(verified) }
        withExtendedLifetime(key) {}
    }
}

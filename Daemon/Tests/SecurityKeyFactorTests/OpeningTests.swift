import AccessControl
import BrokerTestSupport
import Foundation
import Glibc
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import SecurityKeyTestSupport
import StoreTestSupport
import Testing

@testable import Broker

/// Rights that security keys open.
@Suite(.timeLimit(.minutes(10))) struct OpeningTests {
    private let fixture: FactorFixture

    init() throws { fixture = try FactorFixture() }

    private static let either: [FactorSet] = [.securityKey, .passcode]

    @Test func `an enrolled key opens a right, and nothing that the daemon keeps does`() throws {
        let key = try fixture.plugIn()
        let enrolled = try fixture.enroll()
        #expect(enrolled.name == "blue" && enrolled.verifiesUser && enrolled.keyID.count == 16)
        try fixture.create("vault")
        #expect(try fixture.open("vault") == ["security-key"])
        let grant = try #require(try fixture.grants().last)
        #expect(grant.factors == ["security-key"] && grant.strength == "key-bound")
        #expect(fixture.fixture.account.ring.privateHalf(.securityKey) == nil)
        withExtendedLifetime(key) {}
    }

    @Test func `a right opens after a restart of the daemon`() throws {
        let key = try fixture.plugIn()
        try fixture.enroll()
        try fixture.create("vault")
        try fixture.fixture.restart()
        #expect(try fixture.open("vault") == ["security-key"])
        #expect(try fixture.list().map(\.name) == ["blue"])
        withExtendedLifetime(key) {}
    }

    @Test func `a key that cannot verify is touch-only`() throws {
        let key = try fixture.plugIn(KeyMemory(), TestFinger())
        #expect(try !fixture.enroll().verifiesUser)
        try fixture.create("vault")
        try fixture.open("vault")
        #expect(try fixture.grants().last?.strength == "touch-only")
        withExtendedLifetime(key) {}
    }

    @Test func `any of several keys opens, and a new one opens what was made before it`() throws {
        let first = TestFinger(touches: 2, verifies: true)
        let a = try fixture.plugIn(KeyMemory(), named: "a", first)
        try fixture.enroll()
        try fixture.create("vault")
        let b = try fixture.enrollSecond(KeyMemory(), named: "green", after: first)
        #expect(try fixture.list().map(\.name) == ["blue", "green"])
        a.unplug()
        #expect(try fixture.open("vault") == ["security-key"])
        withExtendedLifetime(b) {}
    }

    @Test func `a passcode that is set, changed or removed leaves the keys`() throws {
        let key = try fixture.plugIn()
        try fixture.enroll()
        try fixture.create("vault")
        fixture.prompter.always(nil)
        try fixture.fixture.setPasscode()
        fixture.answer()
        try fixture.open("vault")
        fixture.prompter.always(nil)
        try fixture.fixture.changePasscode(to: "another horse 8")
        fixture.answer()
        try fixture.open("vault")
        fixture.prompter.always(nil)
        try fixture.fixture.removePasscode("another horse 8")
        fixture.answer()
        try fixture.open("vault")
        withExtendedLifetime(key) {}
    }

    // MARK: beside other factors

    @Test func `is offered beside the passcode in one question, and either proves`() throws {
        fixture.prompter.always(nil)
        try fixture.fixture.setPasscode()
        let finger = TestFinger(verifies: true)
        let key = try fixture.plugIn(KeyMemory(), finger)
        fixture.answer(passcode: BrokerFixture.passcode)
        try fixture.enroll()
        try fixture.create("either", Self.either)
        fixture.answer()
        #expect(try fixture.open("either") == ["security-key"])
        let question = try #require(fixture.prompter.asked.last)
        #expect(question.kind == .enterPasscode)
        #expect(question.sensors.map(\.kind) == [.securityKey])
        key.unplug()
        fixture.answer(passcode: BrokerFixture.passcode)
        #expect(try fixture.open("either") == ["passcode"])
    }

    @Test func `passcode and key are both needed where the rule says so`() throws {
        fixture.prompter.always(nil)
        try fixture.fixture.setPasscode()
        let key = try fixture.plugIn()
        fixture.answer(passcode: BrokerFixture.passcode)
        try fixture.enroll()
        try fixture.create("both", [[.securityKey, .passcode]])
        #expect(try Set(fixture.open("both")) == ["security-key", "passcode"])
        withExtendedLifetime(key) {}
    }

    @Test func `a key with a PIN takes the question away only when it is touched`() throws {
        fixture.prompter.always(nil)
        try fixture.fixture.setPasscode()
        let finger = TestFinger(touches: 2)
        let key = try fixture.plugIn(KeyMemory(pin: "1234"), finger, hasPIN: true)
        fixture.answer(pins: ["1234"], passcode: BrokerFixture.passcode)
        #expect(try fixture.enroll().verifiesUser)
        try fixture.create("either", Self.either)
        // The key is plugged in and waits for a touch; the person types.
        let before = finger.waitCount
        fixture.prompter.prepare([])
        fixture.prompter.always { question in
            guard question.kind == .enterPasscode else { return .cancel }
            for _ in 1...2000 where finger.waitCount == before { usleep(5_000) }
            return finger.waitCount > before ? .text(BrokerFixture.passcode) : .wait
        }
        #expect(try fixture.open("either") == ["passcode"])
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        fixture.answer(pins: ["1234"])
        for _ in 1...2 { finger.touch() }
        #expect(try fixture.open("either") == ["security-key"])
        #expect(fixture.prompter.askedKinds.prefix(2) == [.enterPasscode, .keyPIN])
        let question = fixture.prompter.asked[1]
        #expect(question.object?.string == "either")
        #expect(question.consequence?.string == "The PIN is for the security key “key”.")
        #expect(try fixture.grants().last?.strength == "key-bound")
        withExtendedLifetime(key) {}
    }

    // MARK: policies

    @Test func `satisfies the policies of a companion`() throws {
        let client = try fixture.fixture.client()
        for policy: Int32 in [3, 4] {
            #expect(throws: Refused.self) { try client.preflight(policy: policy) }
        }
        #expect(try refusal { try client.preflight(policy: 3) } == .companionNotAvailable)
        #expect(try client.environment().companions.isEmpty)
        let key = try fixture.plugIn()
        try fixture.enroll()
        for policy: Int32 in [3, 4] {
            try client.preflight(policy: policy)
            #expect(try client.evaluatePolicy(policy, in: client.openContext()) == ["security-key"])
        }
        #expect(try client.environment().companions.map(\.type) == [1])
        withExtendedLifetime(key) {}
    }

    @Test func `programs see a digest of the enrolled keys, which changes with each enrolment and removal`() throws {
        let client = try fixture.fixture.client()
        func digests() throws -> [Data] {
            let state = try client.environment()
            #expect(state.companions.count <= 1)
            return [state.companions.first?.stateHash ?? Data(), state.stateHash]
        }
        #expect(try digests() == [Data(), Data()])
        let first = TestFinger(touches: 2, verifies: true)
        let a = try fixture.plugIn(KeyMemory(), named: "a", first)
        try fixture.enroll()
        let one = try digests()
        #expect(one.allSatisfy { $0.count == 32 } && one[0] != one[1])
        let identifier = try #require(try fixture.list().first?.keyID)
        #expect(one.allSatisfy { $0.firstRange(of: identifier) == nil })
        let b = try fixture.enrollSecond(KeyMemory(), named: "green", after: first)
        let two = try digests()
        #expect(two[0] != one[0] && two[1] != one[1] && two.allSatisfy { $0.count == 32 })
        try fixture.fixture.restart()
        let again = try fixture.fixture.client().environment()
        #expect([again.companions.first?.stateHash, again.stateHash] == [two[0], two[1]])
        let keys = try fixture.list()
        try fixture.remove(keys[1])
        let left = try fixture.fixture.client().environment()
        #expect([left.companions.first?.stateHash, left.stateHash] == [one[0], one[1]])
        try fixture.remove(keys[0])
        let none = try fixture.fixture.client().environment()
        #expect(none.companions.isEmpty && none.stateHash.isEmpty)
        for key in [a, b] { key.unplug() }
        let c = try fixture.plugIn(KeyMemory(), named: "c")
        try fixture.enroll()
        let other = try fixture.fixture.client().environment()
        #expect(other.companions.first?.stateHash != one[0] && other.stateHash != one[1])
        withExtendedLifetime(c) {}
    }

    // MARK: status and doctor

    @Test func `the doctor tells of a key that is the only one`() throws {
        let finding = {
            try fixture.fixture.client().diagnosis().findings.first { $0.check == "security keys" }
        }
        #expect(try finding()?.verdict == .ok)
        let first = TestFinger(touches: 2, verifies: true)
        let a = try fixture.plugIn(KeyMemory(), named: "a", first)
        try fixture.enroll()
        #expect(try finding()?.verdict == .notice)
        #expect(try finding()?.message.contains("Only one") == true)
        let b = try fixture.enrollSecond(KeyMemory(), named: "green", after: first)
        #expect(try finding()?.verdict == .ok)
        withExtendedLifetime((a, b)) {}
    }

    @Test func `the log tells of enrolling and removing`() throws {
        let key = try fixture.plugIn()
        try fixture.remove(fixture.enroll())
        let records = try fixture.fixture.client().log().filter { $0.event.hasPrefix("security-key") }
        #expect(Set(records.map(\.event)) == ["security-key-enroll", "security-key-remove"])
        #expect(records.allSatisfy { $0.object == "blue" })
        withExtendedLifetime(key) {}
    }

    @Test func `two programs that ask for one key at once each get their own right`() throws {
        let key = try fixture.plugIn()
        try fixture.enroll()
        for number in 0...1 { try fixture.create("right \(number)") }
        let path = fixture.fixture.socketPath
        let opened = concurrently(2) { number in
            let client = try TestClient(socketPath: path)
            let (right, context) = (try client.find("right \(number)"), try client.openContext())
            #expect(try client.authorize(right, in: context) == ["security-key"])
            return try client.secret(of: right, in: context)
        }
        #expect(try opened.map { try $0.get() } == ["secret of right 0", "secret of right 1"])
        withExtendedLifetime(key) {}
    }

    // MARK: PINs

    /// Beside a key that was enrolled with its PIN. Keys of one model cannot be told apart before they are asked.
    @Test(arguments: [FIDO2Engine.identifier, [UInt8](repeating: 7, count: 16)])
    func `a key that got its first PIN after it was enrolled still opens`(_ model: [UInt8]) throws {
        let first = TestFinger(touches: 2)
        let a = try fixture.plugIn(KeyMemory(pin: "1234"), named: "a", first, hasPIN: true)
        fixture.answer(pins: ["1234"])
        try fixture.enroll()
        let (memory, finger) = (KeyMemory(), TestFinger(touches: 0))
        let b = try SoftwareKey(
            in: fixture.ports, named: "b", FIDO2Engine(finger, memory: memory, hasPIN: false, identifier: model))
        fixture.answer(pins: ["1234"]) { question in
            if question.operation.string.hasPrefix("use an enrolled") { return first.touch() }
            for _ in 1...4 { finger.touch() }
        }
        #expect(try !fixture.enroll("green").verifiesUser)
        try fixture.create("vault")
        for key in [a, b] { key.unplug() }
        memory.setPINHash(try #require(KeyMemory(pin: "5678").pinHash()))
        let again = try SoftwareKey(
            in: fixture.ports, named: "b with a PIN",
            FIDO2Engine(TestFinger(touches: 4), memory: memory, hasPIN: true, identifier: model))
        fixture.answer(pins: ["5678"])
        #expect(try fixture.open("vault") == ["security-key"])
        #expect(try fixture.grants().last?.strength == "touch-only")
        #expect(fixture.prompter.askedKinds.contains(.keyPIN) == (model == FIDO2Engine.identifier))
        withExtendedLifetime(again) {}
    }

    @Test func `a key gets its first PIN, and another one`() throws {
        let memory = KeyMemory()
        let key = try fixture.plugIn(memory, TestFinger(), hasPIN: true)
        let setPIN = {
            _ = try fixture.fixture.client().call(.securityKeyPIN(.with { $0.question = TestClient.question }))
        }
        fixture.answer(pins: ["1234", "1234"])
        try setPIN()
        #expect(memory.pinHash() == KeyMemory(pin: "1234").pinHash())
        fixture.answer(pins: ["1234", "56789", "56789"])
        try setPIN()
        #expect(memory.pinHash() == KeyMemory(pin: "56789").pinHash())
        fixture.answer(pins: ["1234"])
        #expect(throws: Refused.self) { try setPIN() }
        #expect(memory.pinHash() == KeyMemory(pin: "56789").pinHash())
        withExtendedLifetime(key) {}
    }
}

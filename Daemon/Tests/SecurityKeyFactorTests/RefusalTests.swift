import AccessControl
import Authenticators
import BrokerTestSupport
import CTAP
import CanonicalCBOR
import Foundation
import Glibc
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import Passkeys
import PromptProtocol
import SecurityKeyTestSupport
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing

@testable import Broker

/// Keys that open nothing.
@Suite(.timeLimit(.minutes(10))) struct RefusalTests {
    private let fixture: FactorFixture

    init() throws { fixture = try FactorFixture() }

    private func expect(
        _ code: WireFailureCode, _ cause: String, of name: String = "vault",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let refused = fixture.refusal(of: name)
        #expect(
            refused?.code == code && refused?.cause == cause, "\(String(describing: refused))",
            sourceLocation: sourceLocation)
    }

    // MARK: other keys

    @Test func `a key that is not enrolled opens nothing, and each touch is a failed try`() throws {
        let key = try fixture.plugIn()
        try fixture.enroll()
        try fixture.create("vault")
        key.unplug()
        let stranger = try fixture.plugIn(KeyMemory(), named: "other")
        expect(.authenticationFailed, "security-key.wrong")
        // Equal ones become one record.
        #expect(try fixture.misses() >= 1)
        #expect(try fixture.grants().isEmpty)
        withExtendedLifetime(stranger) {}
    }

    /// A key with a PIN is removed while its PIN is asked for.
    @Test(arguments: [false, true])
    func `a key that is removed while the question is open opens nothing`(_ hasPIN: Bool) throws {
        let finger = TestFinger(touches: 2, verifies: hasPIN ? nil : true)
        let key = try fixture.plugIn(KeyMemory(pin: hasPIN ? "1234" : nil), finger, hasPIN: hasPIN)
        fixture.answer(pins: ["1234"])
        let enrolled = try fixture.enroll()
        try fixture.create("vault")
        let life = try #require(fixture.fixture.account.securityKeys).life
        let isRemoved = Mutex(false)
        fixture.prompter.always { question in
            if question.kind == (hasPIN ? .keyPIN : .sensor), !isRemoved.withLock({ $0 }) {
                #expect(throws: Never.self) { try life.remove(enrolled.keyID) }
                isRemoved.withLock { $0 = true }
            }
            for _ in 1...4 { finger.touch() }
            return question.kind == .keyPIN ? .text("1234") : .wait
        }
        expect(.authenticationFailed, "security-key.wrong")
        #expect(isRemoved.withLock { $0 })
        #expect(try fixture.grants().isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `a key that another store enrolled opens nothing here`() throws {
        let (mine, foreign) = (KeyMemory(), KeyMemory())
        let key = try fixture.plugIn(mine)
        try fixture.enroll()
        try fixture.create("vault")
        key.unplug()
        let other = try FactorFixture(ports: fixture.ports)
        let stranger = try fixture.plugIn(foreign, named: "foreign")
        try other.enroll("foreign")
        try other.create("theirs")
        try other.open("theirs")
        expect(.authenticationFailed, "security-key.wrong")
        stranger.unplug()
        // A key of both stores has a credential for each, and each opens its own.
        let both = try fixture.plugIn(foreign, named: "both")
        expect(.authenticationFailed, "security-key.wrong")
        withExtendedLifetime(both) {}
    }

    @Test func `a removed key opens nothing any more, and the others open all`() throws {
        let (lost, kept) = (KeyMemory(), KeyMemory())
        let first = TestFinger(touches: 2, verifies: true)
        let a = try fixture.plugIn(lost, named: "a", first)
        let enrolled = try fixture.enroll()
        try fixture.create("old")
        let b = try fixture.enrollSecond(kept, named: "green", after: first)
        let before = try fixture.record
        try fixture.remove(enrolled)
        let after = try fixture.record
        #expect(after.keys.map(\.name) == ["green"])
        #expect(after.epochs.count == before.epochs.count + 1)
        #expect(after.saltGeneration == before.saltGeneration + 1)
        #expect(fixture.fixture.account.ring.publicHalf(.securityKey) == after.epochs.last)
        try fixture.create("new")
        a.unplug()
        b.unplug()
        let again = try fixture.plugIn(lost, named: "again")
        expect(.authenticationFailed, "security-key.wrong", of: "old")
        expect(.authenticationFailed, "security-key.wrong", of: "new")
        again.unplug()
        let green = try fixture.plugIn(kept, named: "green again")
        for name in ["old", "new"] { #expect(try fixture.open(name) == ["security-key"]) }
        // The key computes with the new salt now, and nothing of the former one opens.
        let renewed = try fixture.record
        #expect(renewed.keys[0].saltGeneration == renewed.saltGeneration)
        #expect(renewed.keys[0].publicHalf != after.keys[0].publicHalf)
        #expect(Set(renewed.keys[0].wraps.map(\.encoded)).isDisjoint(with: after.keys[0].wraps.map(\.encoded)))
        for name in ["old", "new"] { #expect(try fixture.open(name) == ["security-key"]) }
        withExtendedLifetime(green) {}
    }

    @Test func `without an enrolled key no rule can name one, not even after the last was removed`() throws {
        #expect(try BrokerTestSupport.refusal { try fixture.create("vault") } == .companionNotAvailable)
        let key = try fixture.plugIn()
        let enrolled = try fixture.enroll()
        try fixture.create("vault")
        try fixture.remove(enrolled)
        #expect(fixture.prompter.asked.last?.consequence?.string.contains("never be opened again") == true)
        #expect(try BrokerTestSupport.refusal { try fixture.create("other") } == .companionNotAvailable)
        expect(.companionNotAvailable, "security-key.not-enrolled")
        // The same key counts as another key after a second enrolment: the lost objects stay lost.
        try fixture.enroll()
        expect(.companionNotAvailable, "security-key.none-left")
        #expect(try fixture.grants().isEmpty)
        withExtendedLifetime(key) {}
    }

    // MARK: enrolling

    @Test func `a key is enrolled once, and a name is given once`() throws {
        let memory = KeyMemory()
        let key = try fixture.plugIn(memory)
        try fixture.enroll()
        #expect(throws: Refused.self) { try fixture.enroll("again") }
        let refused = #expect(throws: Refused.self) { try fixture.enroll("blue") }
        #expect(refused?.code == .duplicate && refused?.cause == "security-key.name-taken")
        #expect(try fixture.list().count == 1)
        withExtendedLifetime(key) {}
    }

    @Test(arguments: ["", String(repeating: "k", count: 65)])
    func `a name that no question can show is refused before anybody is asked`(name: String) throws {
        let refused = #expect(throws: Refused.self) { try fixture.enroll(name) }
        #expect(refused?.code == .invalidParameter && refused?.cause == "security-key.name")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `this machine's own authenticator is no factor`() throws {
        let engine = FIDO2Engine(
            TestFinger(verifies: true), hasPIN: false, identifier: PlatformAuthenticator.modelIdentifier)
        let key = try SoftwareKey(in: fixture.ports, engine)
        let refused = #expect(throws: Refused.self) { try fixture.enroll() }
        #expect(refused?.code == .companionNotAvailable && refused?.cause == "security-key.unsupported")
        #expect(try fixture.list().isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `a key that ignores the protection is no factor`() throws {
        let key = try fixture.plugIn { _, request, answer in
            guard request.first == 0x01, let range = answer.firstRange(of: Array("credProtect".utf8) + [0x03])
            else { return answer }
            var answer = answer
            answer[range.upperBound - 1] = 0x01
            return answer
        }
        let refused = #expect(throws: Refused.self) { try fixture.enroll() }
        #expect(refused?.code == .companionNotAvailable && refused?.cause == "security-key.unsupported")
        #expect(try fixture.list().isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `a person who says no enrols nothing`() throws {
        let key = try fixture.plugIn()
        fixture.prompter.always { _ in .cancel }
        #expect(try BrokerTestSupport.refusal { try fixture.enroll() } == .userCancel)
        fixture.prompter.always { $0.kind == .sensor ? .cancel : .confirm }
        #expect(try BrokerTestSupport.refusal { try fixture.enroll() } == .userCancel)
        #expect(try fixture.list().isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `enrolling and removing need the passcode`() throws {
        let key = try fixture.plugIn()
        let enrolled = try fixture.enroll()
        fixture.prompter.always(nil)
        try fixture.fixture.setPasscode()
        fixture.prompter.prepare([.text("wrong"), .text("wrong"), .text("wrong")])
        #expect(throws: Refused.self) { try fixture.remove(enrolled) }
        fixture.prompter.prepare([.text("wrong"), .text("wrong"), .text("wrong")])
        #expect(throws: Refused.self) { try fixture.enroll("green") }
        #expect(try fixture.list().map(\.name) == ["blue"])
        withExtendedLifetime(key) {}
    }

    // MARK: verification

    @Test func `the same credential without verification opens nothing`() throws {
        let memory = KeyMemory()
        let key = try fixture.plugIn(memory)
        try fixture.enroll()
        try fixture.create("vault")
        key.unplug()
        let unverifying = try fixture.plugIn(memory, named: "reset", TestFinger())
        expect(.authenticationFailed, "security-key.wrong")
        withExtendedLifetime(unverifying) {}
    }

    @Test func `an answer that says that nobody was verified opens nothing`() throws {
        let memory = KeyMemory()
        let key = try fixture.plugIn(memory)
        try fixture.enroll()
        try fixture.create("vault")
        key.unplug()
        let lying = try fixture.plugIn(memory, named: "lying") { _, request, answer in
            // The identifier of the credential is random and stands first, so a search for the head of member 2 could end there.
            guard request.first == 0x02, answer.first == 0x00,
                let data = try? Parameters(decoding: answer.dropFirst()).optional(2, \.bytes),
                let range = answer.firstRange(of: data)
            else { return answer }
            var answer = answer
            // The flags follow the hash of the relying party.
            answer[range.lowerBound + 32] &= ~0x04
            return answer
        }
        expect(.companionNotAvailable, "security-key.failed")
        #expect(try fixture.grants().isEmpty)
        withExtendedLifetime(lying) {}
    }

    // MARK: PINs

    private func keyWithPIN(_ memory: KeyMemory) throws -> SoftwareKey {
        let key = try fixture.plugIn(memory, TestFinger(), hasPIN: true)
        fixture.answer(pins: ["1234"])
        try fixture.enroll()
        try fixture.create("vault")
        return key
    }

    @Test func `a wrong PIN is a failed try, and the right one then opens`() throws {
        let key = try keyWithPIN(KeyMemory(pin: "1234"))
        fixture.answer(pins: ["9999", "1234"])
        #expect(try fixture.open("vault") == ["security-key"])
        let pins = fixture.prompter.asked.filter { $0.kind == .keyPIN }
        #expect(pins.map(\.triesLeft) == [8, 7])
        #expect(pins.map { $0.notice?.string } == [nil, "Wrong PIN."])
        #expect(try fixture.misses() == 1)
        withExtendedLifetime(key) {}
    }

    @Test func `three wrong PINs end it until the key is plugged in again`() throws {
        let memory = KeyMemory(pin: "1234")
        let key = try keyWithPIN(memory)
        fixture.answer(pins: ["9991", "9992", "9993", "1234"])
        expect(.companionNotAvailable, "security-key.blocked-until-unplugged")
        #expect(memory.pinTriesLeft() == 5)
        #expect(try fixture.grants().isEmpty)
        withExtendedLifetime(key) {}
    }

    @Test func `a blocked key leaves the passcode`() throws {
        fixture.prompter.always(nil)
        try fixture.fixture.setPasscode()
        let memory = KeyMemory(pin: "1234")
        let finger = TestFinger(touches: 2)
        let key = try fixture.plugIn(memory, finger, hasPIN: true)
        fixture.answer(pins: ["1234"], passcode: BrokerFixture.passcode)
        try fixture.enroll()
        try fixture.create("either", [.securityKey, .passcode])
        fixture.prompter.prepare([])
        fixture.prompter.always { question in
            switch question.kind {
            case .enterPasscode: question.sensors.isEmpty ? .text(BrokerFixture.passcode) : .wait
            case .keyPIN: .text("9999")
            default: .wait
            }
        }
        finger.touch()
        #expect(try fixture.open("either") == ["passcode"])
        #expect(fixture.prompter.asked.last?.sensors.isEmpty == true)
        withExtendedLifetime(key) {}
    }

    @Test func `the last try of a PIN is left unless the person insists`() throws {
        let memory = KeyMemory(pin: "1234")
        let key = try keyWithPIN(memory)
        memory.setPINTriesLeft(1)
        fixture.prompter.always { $0.kind == .sensor ? .wait : .cancel }
        expect(.companionNotAvailable, "security-key.last-pin-try")
        #expect(memory.pinTriesLeft() == 1)
        withExtendedLifetime(key) {}
    }

    @Test func `a person who cancels at the PIN ends it`() throws {
        let memory = KeyMemory(pin: "1234")
        let key = try keyWithPIN(memory)
        fixture.answer()
        expect(.userCancel, "prompt.cancelled")
        #expect(memory.pinTriesLeft() == 8)
        withExtendedLifetime(key) {}
    }

    // MARK: faults

    @Test func `a key that is unplugged between PIN and touch opens nothing`() throws {
        let memory = KeyMemory(pin: "1234")
        let finger = TestFinger(touches: 2)
        let key = try fixture.plugIn(memory, finger, hasPIN: true)
        fixture.answer(pins: ["1234"])
        try fixture.enroll()
        try fixture.create("vault")
        fixture.answer(pins: ["1234"]) { [prompter = fixture.prompter] _ in
            // The second question about the key comes after its PIN.
            guard prompter.askedKinds.contains(.keyPIN) else { return finger.touch() }
            key.unplug()
        }
        expect(.companionNotAvailable, "security-key.removed")
        #expect(try fixture.grants().isEmpty)
    }

    @Test func `a helper that is killed opens nothing`() throws {
        let memory = KeyMemory(pin: "1234")
        let finger = TestFinger(touches: 2)
        let key = try fixture.plugIn(memory, finger, hasPIN: true)
        fixture.answer(pins: ["1234"])
        try fixture.enroll()
        try fixture.create("vault")
        fixture.answer(pins: ["1234"]) { [prompter = fixture.prompter] _ in
            guard prompter.askedKinds.contains(.keyPIN) else { return finger.touch() }
            for helper in runningPrompts(named: "ostiary-fido") { kill(helper, SIGKILL) }
        }
        expect(.companionNotAvailable, "security-key.helper")
        #expect(try fixture.grants().isEmpty)
        withExtendedLifetime(key) {}
    }

    /// Kills the helper once, when the key has answered this command.
    private func killingHelper(at command: UInt8) -> SoftwareKey.Fault {
        let isKilled = Mutex(false)
        return { _, request, answer in
            guard request.first == command else { return answer }
            let isFirst = isKilled.withLock { isKilled in
                defer { isKilled = true }
                return !isKilled
            }
            if isFirst { for helper in runningPrompts(named: "ostiary-fido") { kill(helper, SIGKILL) } }
            return answer
        }
    }

    /// While the credential is made, and while the key computes its first output.
    @Test(arguments: [0x01, 0x02] as [UInt8])
    func `a helper that is killed during an enrolment enrols nothing, and the next one works`(_ command: UInt8) throws {
        let key = try fixture.plugIn(
            KeyMemory(pin: "1234"), TestFinger(), hasPIN: true, fault: killingHelper(at: command))
        fixture.answer(pins: ["1234"])
        let refused = #expect(throws: Refused.self) { try fixture.enroll() }
        #expect(refused?.cause == "security-key.helper")
        #expect(try fixture.list().isEmpty)
        fixture.answer(pins: ["1234", "1234"])
        try fixture.enroll()
        try fixture.create("vault")
        #expect(try fixture.open("vault") == ["security-key"])
        withExtendedLifetime(key) {}
    }

    @Test func `a helper that is killed while a PIN is set sets none, and the next one does`() throws {
        let memory = KeyMemory()
        let key = try fixture.plugIn(memory, TestFinger(), hasPIN: true, fault: killingHelper(at: 0x06))
        let setPIN = {
            _ = try fixture.fixture.client().call(.securityKeyPIN(.with { $0.question = TestClient.question }))
        }
        fixture.answer(pins: ["1234", "1234"])
        let refused = #expect(throws: Refused.self) { try setPIN() }
        #expect(refused?.cause == "security-key.helper")
        #expect(memory.pinHash() == nil)
        fixture.answer(pins: ["1234", "1234"])
        try setPIN()
        #expect(memory.pinHash() == KeyMemory(pin: "1234").pinHash())
        withExtendedLifetime(key) {}
    }

    @Test func `without the helper no key is enrolled, and what there is stays`() throws {
        let broken = try FactorFixture(program: "/nonexistent/ostiary-fido")
        let key = try broken.plugIn()
        let refused = #expect(throws: Refused.self) { try broken.enroll() }
        #expect(refused?.cause == "security-key.helper")
        #expect(try broken.list().isEmpty)
        withExtendedLifetime(key) {}
    }
}

import AccessControl
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import ProcessFacts
import PromptProtocol
import Prompting
import Refusals
import StoreKeys
import StoreTestSupport
import Synchronization
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport

/// A scripted person at a machine with a trusted place.
private final class PlacedPerson: Prompter {
    private let person: ScriptedPrompter
    private let refusal = Mutex<PlaceRefusal?>(nil)
    private let isImpostor = Mutex(false)

    init(_ person: ScriptedPrompter) { self.person = person }

    let hasTrustedPlace = true

    func placeRefusal(ofProcess processID: Int32, of userID: UInt32) -> PlaceRefusal? { refusal.withLock { $0 } }

    func refuse(_ reason: PlaceRefusal?) { refusal.withLock { $0 = reason } }

    /// Puts each question in a dialog, wherever it belongs.
    func ignorePlaces() { isImpostor.withLock { $0 = true } }

    func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
        if question.isAtTrustedPlace, let refusal = refusal.withLock({ $0 }) {
            return .unavailable(.placeRefused(refusal))
        }
        let isPlaced = question.isAtTrustedPlace && !isImpostor.withLock { $0 }
        return PlacedQuestion(at: isPlaced ? .trusted : .dialog(of: caller.owner)) { [person] live in
            person.ask(question, on: caller, live: live)
        }.ask(live)
    }
}

/// Rights and requirements that ask for the trusted place, as the daemon enforces them.
@Suite("A rule at the trusted place")
struct TrustedPlaceRuleTests {
    private let fixture: BrokerFixture
    private let client: TestClient
    private let person: PlacedPerson

    init() throws {
        let made = Mutex<PlacedPerson?>(nil)
        fixture = try BrokerFixture(asking: { scripted in
            let person = PlacedPerson(scripted)
            made.withLock { $0 = person }
            return person
        })
        person = try #require(made.withLock { $0 })
        try fixture.setPasscode()
        client = try fixture.client()
    }

    private func right(_ name: String, atTrustedPlace isPlaced: Bool = true) throws -> WireRight {
        try client.create(
            name,
            AccessControl(
                availability: .whenUnlocked, using: Requirement.passcode,
                limits: isPlaced ? GrantLimits(isAtTrustedPlace: true) : nil),
            secret: "s", replace: true)
    }

    private func cause(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return refused.cause }
    }

    private func authorize(_ right: WireRight, in context: UInt64) throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try client.authorize(right, in: context) == ["passcode"])
    }

    @Test func `is asked there, and label and log say so`() throws {
        let (right, context) = (try right("placed"), try client.openContext())
        try authorize(right, in: context)
        #expect(fixture.prompter.asked.map(\.isAtTrustedPlace) == [true])
        #expect(try client.secret(of: right, in: context) == "s")
        let records = try client.log().filter { $0.event == "authorize" && $0.object == "placed" }
        #expect(records.map(\.strength).allSatisfy { $0.hasSuffix(" at trusted place") } && !records.isEmpty)
    }

    @Test func `other rules are asked elsewhere, with the label that they always had`() throws {
        let (right, context) = (try right("free", atTrustedPlace: false), try client.openContext())
        try authorize(right, in: context)
        #expect(fixture.prompter.asked.map(\.isAtTrustedPlace) == [false])
        let records = try client.log().filter { $0.event == "authorize" && $0.object == "free" }
        #expect(records.map(\.strength).allSatisfy { !$0.contains("place") } && !records.isEmpty)
    }

    @Test func `a kept proof from elsewhere does not count, and one from there counts everywhere`() throws {
        let (placed, free) = (try right("placed"), try right("free", atTrustedPlace: false))
        let context = try client.openContext(keepingFactors: true)
        try authorize(free, in: context)
        fixture.prompter.prepare([])
        #expect(try cause { _ = try client.authorize(rightID: placed.rightID, in: context, interactive: false) } != nil)
        try authorize(placed, in: context)
        #expect(fixture.prompter.asked.map(\.isAtTrustedPlace) == [true])
        let other = try right("other", atTrustedPlace: false)
        fixture.prompter.prepare([])
        #expect(try client.authorize(other, in: context) == ["passcode"])
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `is refused with the reason where the place cannot be used`() throws {
        let (right, context) = (try right("placed"), try client.openContext())
        for (reason, name) in [
            (.notAtConsole, "notAtConsole"), (.session(.remote), "session-remote"), (.notReached, "notReached"),
            (.signUnreadable, "signUnreadable"),
        ] as [(PlaceRefusal, String)] {
            person.refuse(reason)
            fixture.prompter.prepare([.text(BrokerFixture.passcode)])
            #expect(try cause { _ = try client.authorize(right, in: context) } == "prompt.place-\(name)")
            #expect(fixture.prompter.asked.isEmpty, "nobody was asked anywhere")
        }
        person.refuse(nil)
        try authorize(right, in: context)
    }

    @Test func `an answer that was given elsewhere is none`() throws {
        let (right, context) = (try right("placed"), try client.openContext())
        person.ignorePlaces()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try cause { _ = try client.authorize(right, in: context) } == "prompt.place-elsewhere")
        #expect(throws: Refused.self) { _ = try client.secret(of: right, in: context) }
    }

    @Test func `cannot be made where there is no trusted place`() throws {
        let plain = try BrokerFixture()
        try plain.setPasscode()
        let client = try plain.client()
        let rule = try AccessControl(
            availability: .whenUnlocked, using: Requirement.passcode, limits: GrantLimits(isAtTrustedPlace: true))
        #expect(try cause { _ = try client.create("placed", rule, secret: "s", replace: true) } == "rule.without-place")
    }

    // MARK: the sign

    private var signs: OwnerSignStorage {
        OwnerSignStorage(
            vault: fixture.broker.vault, owner: fixture.account.id, keys: fixture.broker.store.keys)
    }

    @Test func `the sign is typed there after the passcode, and is found nowhere else`() throws {
        #expect(try signs.load() == nil)
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text("abc"), .text("amber otter 47")])
        try client.passcode(.sign)
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .newSign, .newSign])
        #expect(fixture.prompter.asked.map(\.isAtTrustedPlace) == [true, true, true])
        #expect(fixture.prompter.asked[2].notice?.string == "A sign has 4 to 48 characters.")
        fixture.account.ring.lock()
        #expect(try signs.load()?.text == "amber otter 47", "the question for the passcode shows it")
        let records = try client.log()
        #expect(records.contains { $0.event == "sign-set" } && !records.contains { "\($0)".contains("otter") })
        let files = try FileManager.default.subpathsOfDirectory(atPath: fixture.stateDirectory)
        for file in files {
            let bytes = FileManager.default.contents(atPath: "\(fixture.stateDirectory)/\(file)") ?? Data()
            #expect(bytes.range(of: Data("otter".utf8)) == nil, "\(file)")
        }
    }

    @Test func `without a trusted place there is no sign`() throws {
        let plain = try BrokerFixture()
        try plain.setPasscode()
        let client = try plain.client()
        plain.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try cause { try client.passcode(.sign) } == "prompt.place-absent")
        #expect(plain.prompter.asked.isEmpty)
    }

    @Test func `a sign in the row of another owner is none`() throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text("amber otter 47")])
        try client.passcode(.sign)
        let (vault, owner) = (fixture.broker.vault, fixture.account.id)
        let row = try #require(try vault.read { try $0.attempts(owner: owner, subject: OwnerSignStorage.subject) })
        let keys = fixture.broker.store.keys
        #expect(throws: StoreKeysError.unreadable) {
            try keys.unprotect(row.delayState, label: "ostiary.owner-sign.v1.\(VaultID())")
        }
    }
}

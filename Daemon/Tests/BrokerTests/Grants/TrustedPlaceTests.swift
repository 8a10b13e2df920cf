import AccessControl
import Foundation
import OstiaryMessages
import PromptProtocol
import Prompting
import Refusals
import StoreTestSupport
import Synchronization
import Testing

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
        let rule = AccessControl(
            availability: .whenUnlocked, using: Requirement.passcode, limits: try GrantLimits(isAtTrustedPlace: true))
        #expect(try cause { _ = try client.create("placed", rule, secret: "s", replace: true) } == "rule.without-place")
    }
}

import AccessControl
import BrokerTestSupport
import OstiaryWire
import Prompting
import SwiftProtobuf
import Testing

@testable import Broker

/// What of a program's words gets into a question.
@Suite("A question")
struct QuestionTests {
    @Test(arguments: [" ", "\n\t", "\u{1B}", "\u{202E}\u{200B}"])
    func `may have a reason that shows nothing`(reason: String) throws {
        #expect(try QuestionStyle(.with { $0.reason = reason }).reason.isEmpty)
    }

    @Test(arguments: [false, true]) func `needs a reason`(isForbidden: Bool) throws {
        var refused: Refusal?
        do { _ = try QuestionStyle(.with { $0.interactionNotAllowed = isForbidden }) } catch { refused = error }
        #expect(refused?.code == .emptyReason && refused?.cause == "reason.empty")
    }

    @Test func `for the passcode offers nothing instead of it; one for a password does`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        try fixture.create("both", Requirement(anyOf: [[.passcode, .applicationPassword]]), .whenUnlocked)
        let client = try fixture.client()
        let (context, right) = (try client.openContext(), try client.find("both"))
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .fallback])
        let request = WireAuthorizeRequest.with {
            $0.contextID = context
            $0.rightID = right.rightID
            $0.question = .with { ($0.reason, $0.fallbackTitle, $0.cancelTitle) = ("a test", "Another way", "Not now") }
        }
        #expect(try refusal { try client.call(.authorize(request)) } == .userFallback)
        #expect(fixture.prompter.askedKinds == [.enterPasscode, .applicationPassword])
        #expect(fixture.prompter.asked.map(\.fallbackTitle) == [nil, DisplayText("Another way")])
        #expect(fixture.prompter.asked.map(\.cancelTitle) == [DisplayText("Not now"), DisplayText("Not now")])
    }

    // MARK: names

    /// What the question for a right of this name says that it is about.
    private func shown(_ name: String, _ fixture: BrokerFixture) throws -> String? {
        try fixture.create(name, Requirement(anyOf: [.passcode]), .whenUnlocked)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try fixture.client().authorize(name) } == .userCancel)
        return fixture.prompter.asked.first?.object?.string
    }

    @Test func `tells apart names that look alike`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let names = ["tok", "to\u{200B}k", "tok ", " tok", "tok\u{2060}", "t\u{F6}k", "to\u{308}k"]
        let shown = try names.map { try self.shown($0, fixture) ?? "" }
        #expect(shown.map { Array($0.unicodeScalars) }.count == Set(shown.map { Array($0.unicodeScalars) }).count)
        #expect(shown.prefix(3) == ["tok", #"to\u{200b}k"#, #"tok\u{20}"#])
    }

}

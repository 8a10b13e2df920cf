import AccessControl
import OstiaryMessages
import PromptProtocol
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Refusals

/// What of a program's words gets into a question.
@Suite("A question")
struct QuestionTests {
    @Test(arguments: [" ", "\n\t"])
    func `may have a reason that shows nothing`(reason: String) throws {
        #expect(try QuestionStyle(.with { $0.reason = reason }).reason.isEmpty)
    }

    @Test func `shows what a reason hides`() throws {
        let escape = try QuestionStyle(.with { $0.reason = "\u{1B}" }).reason
        let invisible = try QuestionStyle(.with { $0.reason = "\u{202E}\u{200B}" }).reason
        #expect(escape.string == #"\u{1b}"# && invisible.string == #"\u{202e}\u{200b}"#)
    }

    @Test(arguments: [false, true]) func `needs a reason`(isForbidden: Bool) throws {
        var refused: Refusal?
        do { _ = try QuestionStyle(.with { $0.interactionNotAllowed = isForbidden }) } catch { refused = error }
        #expect(refused?.code == .emptyReason && refused?.cause == "reason.empty")
    }

    @Test func `that any program could answer says so: the first passcode, and none after a proof`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        #expect(fixture.prompter.asked.map(\.isUnproved) == [true, true])
        try fixture.changePasscode(to: "another battery 8")
        #expect(fixture.prompter.asked.map(\.isUnproved) == [false, false, false])
        try fixture.removePasscode("another battery 8")
        #expect(fixture.prompter.asked.map(\.isUnproved) == [false, false])
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
            $0.subject = .rightID(right.rightID)
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

    // MARK: removing the passcode

    /// What the warning says before everything behind the passcode is destroyed.
    private func warning(_ names: [String], itemCount: Int = 0) throws -> String {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let rule = try Requirement(anyOf: [.passcode])
        for name in names { try fixture.create(name, rule, .whenPasscodeSet) }
        let client = try fixture.client()
        for number in 0..<itemCount {
            try client.addItem(
                ["acct": .text("\(number)")], accessControl: try .item(rule, .whenPasscodeSet))
        }
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .cancel])
        #expect(try refusal { try client.passcode(.remove) } == .userCancel)
        guard case .confirmation(let warning)? = fixture.prompter.asked.last?.kind else { return "" }
        return warning.string
    }

    @Test func `about what is destroyed says how much before it says what`() throws {
        let begin = "This destroys for good, with their keys and secrets: "
        #expect(try warning([]) == "The passcode will no longer protect anything.")
        #expect(try warning(["2fa"]) == begin + "1 right. The right: “2fa”.")
        let many = try warning(["c", "a", "b", "e", "d"], itemCount: 2)
        #expect(many.hasPrefix(begin + "5 rights, 2 keychain items. The rights: “") && many.hasSuffix(" and 2 more."))
        #expect(try warning([], itemCount: 1) == begin + "1 keychain item.")
    }

    @Test func `about what is destroyed is not cut and not written by names`() throws {
        let begin = "This destroys for good, with their keys and secrets: 6 rights, 2 keychain items. The rights: “"
        let names = (0..<6).map { String(repeating: "\u{200B}🐢", count: 73 - $0) }
        let long = try warning(names, itemCount: 2)
        #expect(long.hasPrefix(begin) && long.hasSuffix("” and 3 more."), "\(long)")
        #expect(long.unicodeScalars.count < DisplayText.maximumScalarCount)
        let lying = try warning(["nothing”. All is kept, and “x", "x), and 0 rights. Nothing is lost"])
        #expect(lying.count { $0 == "“" } == 2 && lying.count { $0 == "”" } == 2, "\(lying)")
    }
}

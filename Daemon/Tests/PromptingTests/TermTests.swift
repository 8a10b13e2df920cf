import Foundation
import Glibc
import Prompting
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import PromptProgram
@testable import PromptProtocol
@testable import ostiary_prompt

extension PromptQuestion {
    fileprivate static let withTerms = PromptQuestion(
        .enterPasscode, objects: PromptObjects(DisplayText("commits")), operation: DisplayText("sign once with a key"),
        terms: [.seconds(600), .uses(20)])
}

/// For how long an answer counts, as front ends offer it.
@Suite struct TermTests {
    private static func request(_ question: PromptQuestion) -> PromptRequest {
        PromptRequest(
            question: question, program: DisplayText("/usr/bin/git"), processID: 7, frontEnd: .terminal,
            timeLimitSeconds: 60)
    }

    private static func terms(_ terms: [PromptTerm]) -> [String] {
        let question = PromptQuestion(.enterPasscode, operation: DisplayText("x"), terms: terms)
        return PromptText(request: request(question)).terms
    }

    @Test func `terms are told in words, once first, and none where there is no choice`() {
        #expect(Self.terms([]) == [])
        #expect(Self.terms([.seconds(600), .uses(20)]) == ["once", "for 10 minutes", "20 times"])
        #expect(Self.terms([.seconds(60), .seconds(90)]) == ["once", "for 1 minute", "for 90 seconds"])
        #expect(Self.terms([.uses(2), .uses(3), .uses(4)]).count == 3, "at most two besides once")
    }

    @Test func `a window tells the same`() {
        let text = SheetText(request: Self.request(.withTerms), phrases: .english)
        #expect(text.terms == ["once", "for 10 minutes", "20 times"])
        #expect(text.spoken.contains("Your answer counts: once, for 10 minutes, 20 times."))
        #expect(SheetText(request: Self.request(.passcode), phrases: .english).terms.isEmpty)
    }

    /// The process would not ask for its next use.
    @Test func `an answer that the process keeps does not count once, on terminals and in windows`() throws {
        let question = PromptQuestion(
            .enterPasscode, operation: DisplayText("x"), terms: [.seconds(600), .uses(20)], isKept: true)
        let request = Self.request(question)
        let terms = ["for this run of the program", "for 10 minutes", "20 times"]
        #expect(PromptText(request: request).terms == terms)
        #expect(SheetText(request: request, phrases: .english).terms == terms)
        let layout = try #require(TerminalLayout(text: PromptText(request: request), width: 80))
        #expect(layout.linesOfTerm(0).joined().hasPrefix("  Counts    for this run of the program. Ctrl-L: for 10 min"))
        #expect(!layout.lines.contains { $0.contains("once") })
        #expect(try PromptRequest(decoding: request.encoded()) == request)
        let other = PromptQuestion(.enterPasscode, operation: DisplayText("x"), terms: [.seconds(600), .uses(20)])
        #expect(!question.isRepetition(of: other))
    }

    @Test func `a terminal has a line for them, with what the key brings next`() throws {
        let layout = try #require(TerminalLayout(text: PromptText(request: Self.request(.withTerms)), width: 80))
        #expect(layout.lines.contains("  Counts    once. Ctrl-L: for 10 minutes, then 20 times."))
        #expect(layout.linesOfTerm(1) == ["  Counts    for 10 minutes. Ctrl-L: 20 times, then once."])
        #expect(layout.linesOfTerm(3) == [])
        let plain = try #require(TerminalLayout(text: PromptText(request: Self.request(.passcode)), width: 80))
        #expect(!plain.lines.contains { $0.contains("Ctrl-L") } && plain.linesOfTerm(0) == [])
    }

    @Test func `a term that counts in one place says so, on terminals and in windows`() throws {
        for (place, words) in [
            (PromptTermPlace.terminal, "Only in the program's terminal."),
            (PromptTermPlace.session, "Only in the program's session."),
        ] {
            let question = PromptQuestion(
                .enterPasscode, operation: DisplayText("x"), terms: [.uses(20)], termPlace: place)
            let request = Self.request(question)
            let layout = try #require(TerminalLayout(text: PromptText(request: request), width: 80))
            #expect(layout.linesOfTerm(0) == ["  Counts    once. Ctrl-L: 20 times. \(words)"])
            let sheet = SheetText(request: request, phrases: .english)
            #expect(sheet.termPlace == words && sheet.spoken.contains("Your answer counts: once, 20 times. \(words)"))
            #expect(try PromptRequest(decoding: request.encoded()) == request)
            #expect(
                !question.isRepetition(
                    of: PromptQuestion(.enterPasscode, operation: DisplayText("x"), terms: [.uses(20)])))
            let plain = PromptQuestion(.enterPasscode, operation: DisplayText("x"), termPlace: place)
            #expect(PromptText(request: Self.request(plain)).termPlace == nil)
            #expect(SheetText(request: Self.request(plain), phrases: .english).termPlace == nil)
        }
    }

    @Test func `a question travels with its terms, and other terms make another question`() throws {
        let request = Self.request(.withTerms)
        #expect(try PromptRequest(decoding: request.encoded()) == request)
        let fewer = PromptQuestion(
            .enterPasscode, objects: PromptObjects(DisplayText("commits")),
            operation: DisplayText("sign once with a key"), terms: [.seconds(600)])
        #expect(!fewer.isRepetition(of: .withTerms) && PromptQuestion.withTerms.isRepetition(of: .withTerms))
    }

    @Test func `a choice has a word of its own, which is never the last`() {
        for term in 0...2 {
            let word = PromptReply(choosing: term)
            #expect(word?.chosenTerm == term && word?.isLast == false)
        }
        #expect(PromptReply(choosing: 3) == nil && PromptReply(choosing: -1) == nil)
        let last = PromptReply.allCases.filter(\.isLast)
        #expect(last.count == PromptReply.allCases.count - 4 && last.allSatisfy { $0.chosenTerm == nil })
    }
}

extension RealPromptTests {
    /// The real prompt on a terminal.
    @Suite struct TerminalTermTests {
        let terminal: PseudoTerminal
        let process: CallerProcess

        init() throws {
            terminal = try PseudoTerminal()
            process = try CallerProcess(on: terminal)
        }

        private func ask(_ question: PromptQuestion) throws -> Asking {
            let prompter = ProcessPrompter(
                program: Build.prompt, configuration: PromptConfiguration(), userID: geteuid())
            let asking = try Asking(prompter, question, on: process.caller(terminal.slave))
            terminal.waitFor("Passcode: ")
            return asking
        }

        @Test(arguments: [("", 0), ("\u{C}", 1), ("\u{C}\u{C}", 2), ("\u{C}\u{C}\u{C}", 0), ("a\u{C}b", 1)])
        func `the last choice before the answer counts`(_ keys: String, _ term: Int) throws {
            let asking = try ask(.withTerms)
            terminal.type(keys + "typed\r")
            let typed = keys.filter(\.isLetter) + "typed"
            #expect(asking.wait() == .entered(typed, .passcode))
            #expect(asking.live.chosenTerm == term)
            #expect(terminal.isAsBefore)
        }

        @Test func `the choice is shown, and the typed text is not`() throws {
            let asking = try ask(.withTerms)
            terminal.clearScreen()
            terminal.type("secret\u{C}")
            terminal.waitFor("Passcode: ")
            #expect(terminal.shows("Counts for 10 minutes. Ctrl-L: 20 times, then once."), "\(terminal.screen)")
            #expect(!terminal.screen.contains("secret"))
            terminal.type("\u{3}")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `without terms the key does nothing`() throws {
            let asking = try ask(.passcode)
            terminal.type("a\u{C}b\r")
            #expect(asking.wait() == .entered("ab", .passcode))
            #expect(asking.live.chosenTerm == 0)
        }
    }

    /// The real sheet on a real X server.
    @Suite struct SheetTermTests {
        private let stage: SheetStage

        init() throws { stage = try SheetStage() }

        /// Tab leads from the field over Show to the terms.
        @Test(arguments: [(["Tab", "Tab", "Tab", "space"], 1), (["Tab", "Tab", "Tab", "Tab", "space"], 2), ([], 0)])
        func `a term is chosen by its button, and told before the answer`(_ keys: [String], _ term: Int) throws {
            let asking = try stage.ask(.withTerms)
            try stage.server.type("typed")
            for key in keys { try stage.server.press(key) }
            for _ in keys.dropLast() { try stage.server.press("shift+Tab") }
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("typed", .passcode))
            #expect(asking.live.chosenTerm == term)
        }
    }
}

import Foundation
@testable import PromptProgram
@testable import PromptProtocol
import Testing
@testable import ostiary_prompt

private func text(
    _ kind: PromptKind = .enterPasscode, program: String = "/usr/bin/asker", object: String = "GitHub token",
    operation: String = "use the key", reason: String = "to push", cancelTitle: String? = nil,
    fallbackTitle: String? = nil
) -> PromptText {
    let question = PromptQuestion(
        kind, objects: PromptObjects(DisplayText(fact: object)), operation: DisplayText(fact: operation),
        reason: DisplayText(reason),
        cancelTitle: cancelTitle.map { DisplayText($0, maximumScalarCount: 40) },
        fallbackTitle: fallbackTitle.map { DisplayText($0, maximumScalarCount: 40) })
    return PromptText(
        request: PromptRequest(
            question: question, program: DisplayText(fact: program), application: DisplayText(fact: "com.example.app"),
            processID: 77, frontEnd: .terminal, timeLimitSeconds: 60))
}

@Suite struct FactTests {
    @Test(arguments: [
        "/usr/bin/ostiary", "GitHub token", "żółw 🐢", "日本語", "100%", "a 'b' \"c\"", "com.example.shared", "",
    ])
    func `what shows by itself stays as it is`(_ fact: String) {
        #expect(DisplayText(fact: fact).string == fact)
    }

    @Test(arguments: [
        ("bin/\u{200B}ostiary", #"bin/\u{200b}ostiary"#), ("to\u{200B}k", #"to\u{200b}k"#),
        ("ostiary ", #"ostiary\u{20}"#),
        (" a", #"\u{20}a"#), ("a  b", #"a \u{20}b"#), ("   ", #"\u{20}\u{20}\u{20}"#), ("a\u{A0}b", #"a\u{a0}b"#),
        ("a\tb\n", #"a\u{9}b\u{a}"#), ("a\u{1B}[2J", #"a\u{1b}[2J"#), ("a\u{202E}b", #"a\u{202e}b"#),
        ("a\u{FE0F}", #"a\u{fe0f}"#), ("a\u{2800}b", #"a\u{2800}b"#), (#"a\u{20}b"#, #"a\\u{20}b"#),
        ("a”, “b", #"a\u{201d}, \u{201c}b"#), ("e\u{301}", #"e\u{301}"#), ("\u{212B}", #"\u{212b}"#),
    ])
    func `what does not is written out`(_ fact: String, _ shown: String) throws {
        #expect(DisplayText(fact: fact).string == shown)
        #expect(DisplayText(wholeFact: fact)?.string == shown)
        let data = try JSONEncoder().encode(DisplayText(fact: fact))
        #expect(try JSONDecoder().decode(DisplayText.self, from: data).string == shown)
    }

    @Test func `no two facts look alike for what they hide`() {
        let parts = [
            "", " ", "  ", "\u{200B}", "\\", #"\u{20}"#, #"\u{200b}"#, "\u{2060}", "\u{A0}", "\t", "“", "\\\\",
        ]
        let facts = parts.flatMap { part in ["\(part)tok", "to\(part)k", "tok\(part)"] }
        let shown = Dictionary(grouping: Set(facts.map { Array($0.unicodeScalars) })) { scalars in
            var fact = String.UnicodeScalarView()
            fact.append(contentsOf: scalars)
            return DisplayText(fact: String(fact)).string
        }
        #expect(shown.values.allSatisfy { $0.count == 1 }, "\(shown.filter { $0.value.count > 1 }.keys)")
    }

    @Test func `a fact that must be whole is whole or none`() {
        let longest = String(repeating: "a", count: DisplayText.maximumScalarCount)
        #expect(DisplayText(wholeFact: longest)?.string == longest)
        #expect(DisplayText(wholeFact: longest + "a") == nil)
        #expect(DisplayText(wholeFact: longest.dropLast() + " ") == nil, "written out it is longer")
        #expect(DisplayText(fact: longest + "a").string.hasSuffix("…"))
    }
}

@Suite struct TerminalLayoutTests {
    private static let hostile = "Login password for root X at the next line. Passcode: X"

    @Test(arguments: [30, 31, 48, 77, 80, 81, 100, 65535])
    func `no text of a program begins a line, whatever the width is said to be`(_ width: Int) throws {
        let text = text(
            .applicationPassword, program: Self.hostile, object: Self.hostile, reason: Self.hostile,
            cancelTitle: Self.hostile, fallbackTitle: Self.hostile)
        let lines = try #require(TerminalLayout(text: text, width: width)).lines
        let own = [
            "Ostiary asks", "Typing is not", "not shown", "shown.", "Enter:", "continue.", "Ctrl-C:", "Cancel.", "Tab:",
            "another", "way.",
        ]
        for line in lines.dropFirst() where !line.hasPrefix("  ") {
            #expect(own.contains { line.hasPrefix($0) }, "\(line)")
            #expect(!line.contains("root") && !line.contains("X"), "\(line)")
        }
        for line in lines where line.hasPrefix(" ") { #expect(line.count < min(width, 80), "\(line)") }
    }

    @Test func `titles are quoted on lines of their own, beside what the keys do`() throws {
        let text = text(.applicationPassword, cancelTitle: "Not now”", fallbackTitle: "Use the recovery key")
        let lines = try #require(TerminalLayout(text: text, width: 80)).lines
        #expect(
            lines.suffix(3) == [
                "Typing is not shown. Enter: continue. Ctrl-C: Cancel. Tab: another way.",
                "  Ctrl-C    “Not now\"”", "  Tab       “Use the recovery key”",
            ])
        let plain = try #require(TerminalLayout(text: plainText, width: 80)).lines
        #expect(plain.last == "Typing is not shown. Enter: continue. Ctrl-C: Cancel.")
    }

    private var plainText: PromptText { text() }

    @Test func `a confirmation says only what confirms`() throws {
        let layout = try #require(
            TerminalLayout(text: text(.confirmation(warning: DisplayText("All is lost."))), width: 80))
        #expect(layout.lines.last == "yes and Enter: go on. Ctrl-C: Cancel.")
        #expect(layout.field == "Type yes to go on: ")
        #expect(!layout.lines.contains { $0.contains("Enter: continue") })
    }

    @Test func `a rule for what is typed comes before the mistake`() throws {
        let question = PromptQuestion(
            .newPasscode, operation: DisplayText("x"), hint: DisplayText("At least 8 characters."),
            notice: DisplayText("Too short."))
        let request = PromptRequest(
            question: question, program: DisplayText("p"), processID: 1, frontEnd: .terminal, timeLimitSeconds: 60)
        let lines = try #require(TerminalLayout(text: PromptText(request: request), width: 80)).lines
        #expect(lines.suffix(3).prefix(2) == ["At least 8 characters.", "Too short."])
        let description = PinentryDescription(PromptText(request: request), showsAll: false)
        #expect(description.text(within: 1000)?.contains("At least 8 characters.") == true)
    }

    @Test func `a name that is read from right to left is isolated, on each of its lines`() throws {
        let word = "\u{5d0}\u{5d1}\u{5d2}"
        let layout = try #require(
            TerminalLayout(
                text: text(
                    .confirmation(warning: DisplayText("Destroys “\(word)”, “2fa” and 2 more.")),
                    object: Array(repeating: word, count: 40).joined(separator: " "), reason: word), width: 80))
        let (begin, end) = (Character("\u{2068}"), Character("\u{2069}"))
        for line in layout.lines {
            #expect(line.count { $0 == begin } == line.count { $0 == end }, "\(line)")
            if line.contains(word) { #expect(line.contains("\u{2068}\(word)"), "\(line)") }
        }
        #expect(layout.lines.count { $0.contains(word) } > 4)
        let warning = try #require(layout.lines.first { $0.contains("Warning") })
        #expect(warning.contains("“\u{2068}\(word)\u{2069}”, “\u{2068}2fa\u{2069}” and 2 more."))
    }

    @Test func `a name cannot end its own isolate`() throws {
        let layout = try #require(TerminalLayout(text: text(object: "\u{2069}\u{5d0}"), width: 80))
        #expect(layout.lines.contains { $0.contains("\u{2068}\\u{2069}\u{5d0}\u{2069}") })
    }

    @Test func `text that is read from left to right is shown as it is`() throws {
        let layout = try #require(TerminalLayout(text: text(object: "żółw 🐢 “x”"), width: 80))
        #expect(!layout.lines.joined().unicodeScalars.contains { "\u{2068}\u{2069}".unicodeScalars.contains($0) })
    }

    @Test(arguments: [1, 8, 29]) func `a terminal without room for an indentation is not used`(_ width: Int) {
        #expect(TerminalLayout(text: text(), width: width) == nil)
    }

    @Test func `a character of any number of columns is cut`() throws {
        let wide = String(repeating: "\u{1100}", count: 200)
        #expect(wide.count == 1)
        let lines = try #require(TerminalLayout(text: text(object: wide), width: 80)).lines
        #expect(lines.allSatisfy { $0.unicodeScalars.count { $0 == "\u{1100}" } <= 33 })
    }
}

@Suite struct PinentryDescriptionTests {
    private static let room = Assuan.argumentByteCount(of: "SETDESC")

    private func laidOut(_ text: PromptText, showsAll: Bool = false, within room: Int = room) -> String? {
        PinentryDescription(text, showsAll: showsAll).text(within: room)
    }

    @Test(arguments: ["%", "a", "🐢", "\u{200B}", "ż"])
    func `names and words of any length leave everything of Ostiary's own`(_ character: String) throws {
        let long = String(repeating: character, count: 300)
        let text = text(
            .confirmation(warning: DisplayText("Sure?")), program: long, object: long, operation: "use the key “x”",
            reason: String(repeating: character + "r", count: 300))
        let description = try #require(laidOut(text))
        #expect(Assuan.escapedByteCount(description) <= Self.room)
        let lines = description.split(separator: "\n")
        try #require(lines.count == 7)
        #expect(lines[1].hasPrefix("Program: ") && lines[1].hasSuffix("… (process 77)"))
        #expect(lines[2] == "Known as: com.example.app")
        #expect(lines[3].hasPrefix("For: ") && lines[3].hasSuffix("…"))
        #expect(lines[4].hasPrefix("To: use the key"))
        #expect(lines[5] == "Sure?")
        #expect(lines[6].hasPrefix("It says: “") && lines[6].hasSuffix("…”"), "what is quoted ends")
        let command = Assuan.command("SETDESC", description)
        let argumentByteCount = command.count - "SETDESC \n".utf8.count
        #expect(argumentByteCount == Assuan.escapedByteCount(description), "nothing is cut behind")
    }

    @Test func `a name that is cut closes its isolate`() throws {
        let description = try #require(laidOut(text(object: String(repeating: "\u{5d0}", count: 300)), within: 400))
        #expect(Assuan.escapedByteCount(description) <= 400)
        let line = try #require(description.split(separator: "\n").first { $0.hasPrefix("For: ") })
        #expect(line.hasPrefix("For: \u{2068}\u{5d0}") && line.hasSuffix("\u{5d0}…\u{2069}"), "\(line)")
    }

    @Test func `what fits is not cut`() throws {
        let path = "/opt/" + String(repeating: "p", count: 250)
        let description = try #require(laidOut(text(program: path, object: "100%", reason: "to push")))
        #expect(description.contains("Program: \(path) (process 77)\n"))
        #expect(description.contains("For: 100%\n") && description.hasSuffix("It says: “to push”"))
    }

    @Test func `of what must be shown in full nothing is cut, or nothing is shown`() throws {
        let groups = (1...4).map { "com.example.shared.calendar\($0)" }.joined(separator: ", ")
        let operation = "register the program as com.example.tool with the groups \(groups)"
        let warning = PromptKind.confirmation(warning: DisplayText(operation))
        for kind in [warning, .enterPasscode] {
            let path = "/opt/" + String(repeating: "p", count: 200)
            let long = String(repeating: "r", count: 300)
            let shown = try #require(
                laidOut(text(kind, object: path, operation: operation, reason: long), showsAll: true))
            #expect(shown.contains("For: \(path)\nTo: \(operation)"))
            #expect(shown.contains("Known as: com.example.app\n"))
        }
        let percent = "/" + String(repeating: "%", count: 250)
        #expect(laidOut(text(warning, object: percent, operation: operation), showsAll: true) == nil)
        #expect(laidOut(text(warning, object: percent, operation: operation)) != nil)
    }

    @Test func `a warning or an operation without room is not shown in part`() {
        let long = String(repeating: "🐢", count: 250)
        #expect(laidOut(text(.confirmation(warning: DisplayText(long)))) == nil)
        #expect(laidOut(text(operation: long)) == nil)
    }

    @Test func `words make way for facts`() throws {
        let text = text(reason: String(repeating: "r", count: 300))
        #expect(try #require(laidOut(text, within: 160)).contains("It says") == false)
        #expect(try #require(laidOut(text, within: 400)).contains("It says: “rrr"))
        #expect(laidOut(text, within: 60) == nil)
    }
}

import Foundation
@testable import PromptProgram
@testable import PromptProtocol
import Testing
@testable import ostiary_prompt

@Suite struct PromptObjectsTests {
    private static let none = DisplayText("")

    private func objects(_ names: [String], _ noun: PromptObjects.Noun = .item) throws -> PromptObjects {
        try #require(PromptObjects(names.map { ($0, Self.none) }, noun: noun))
    }

    private func request(_ objects: PromptObjects?, isShownInFull: Bool = false) -> PromptRequest {
        PromptRequest(
            question: PromptQuestion(
                .enterPasscode, objects: objects, operation: DisplayText("read"), reason: DisplayText("to sync"),
                isShownInFull: isShownInFull),
            program: DisplayText(fact: "/usr/bin/asker"), processID: 7, frontEnd: .terminal, timeLimitSeconds: 60)
    }

    /// What is shown behind "For".
    private func shown(_ objects: PromptObjects, naming count: Int = .max) throws -> String {
        let fact = PromptText(request: request(objects), namedObjectCount: count).facts.first { $0.label == "For" }
        return try #require(fact.map { $0.lead + $0.text + $0.detail })
    }

    private func numbered(_ count: Int) -> [String] { (1...count).map { "name \($0)" } }

    @Test func `one object is shown as its name`() throws {
        #expect(try shown(PromptObjects(DisplayText(fact: "token"))) == "token")
        #expect(try shown(objects(["token"])) == "token")
    }

    @Test(arguments: [
        (2, Int.max, "2 items: “name 1” and “name 2”"), (3, .max, "3 items: “name 1”, “name 2” and “name 3”"),
        (3, 2, "3 items: “name 1”, “name 2” and 1 more"), (3, 1, "3 items: “name 1” and 2 more"),
        (3, 0, "3 items: “name 1” and 2 more"), (2, 1, "2 items: “name 1” and 1 more"),
    ]) func `of several objects the number and as many names as wanted are shown`(
        _ count: Int, _ named: Int, _ expected: String
    ) throws {
        #expect(try shown(objects(numbered(count)), naming: named) == expected)
    }

    @Test func `names beyond those that a question carries are counted`() throws {
        let limit = PromptObjects.maximumNameCount
        let atLimit = try objects(numbered(limit))
        #expect(atLimit.areAllNamedInFull)
        #expect(try shown(atLimit).hasSuffix("and “name \(limit)”"))
        let beyond = try objects(numbered(limit + 1))
        #expect(!beyond.areAllNamedInFull && beyond.count == limit + 1 && beyond.names.count == limit)
        #expect(try shown(beyond).hasSuffix("“name \(limit)” and 1 more"))
    }

    @Test(arguments: PromptObjects.Noun.allCases) func `the number has its noun`(_ noun: PromptObjects.Noun) throws {
        #expect(try shown(objects(["a", "b"], noun)) == "2 \(noun.rawValue)s: “a” and “b”")
    }

    @Test func `no list is empty`() { #expect(PromptObjects([], noun: .item) == nil) }

    @Test func `a name cannot look like two, nor like the end of the list`() throws {
        let text = try shown(objects(["a”, “b", "c” and 7 more\n", "d\u{202E}\u{1B}[2J"]))
        #expect(
            text == #"3 items: “a\u{201d}, \u{201c}b”, “c\u{201d} and 7 more\u{a}” and “d\u{202e}\u{1b}[2J”"#)
        let labelled = try #require(
            PromptObjects([("key 12", DisplayText("x”, “y")), ("key 34", Self.none)], noun: .key))
        #expect(
            try shown(labelled)
                == #"2 keys: “key 12, which a program named “x\u{201d}, \u{201c}y”” and “key 34”"#)
    }

    @Test func `a name that is cut is not shown in full`() throws {
        let long = String(repeating: "x", count: DisplayText.maximumScalarCount)
        #expect(try objects(["a", long]).areAllNamedInFull)
        #expect(try !objects(["a", long + "x"]).areAllNamedInFull)
        // One that is not even carried counts too.
        #expect(try !objects(numbered(PromptObjects.maximumNameCount) + [long + "x"]).areAllNamedInFull)
    }

    @Test func `a list that does not hold what it says is not decoded`() throws {
        func decode(_ names: Int, _ count: Int) throws -> PromptObjects {
            let names = Array(repeating: "x", count: names)
            let json: [String: Any] = ["names": names, "count": count, "noun": "item", "areAllNamedInFull": true]
            return try JSONDecoder().decode(PromptObjects.self, from: JSONSerialization.data(withJSONObject: json))
        }
        #expect(try decode(2, 3).count == 3)
        for (names, count) in [(0, 0), (0, 1), (2, 1), (13, 13), (1, -1)] {
            #expect(throws: DecodingError.self) { try decode(names, count) }
        }
    }

    // MARK: in little room

    private func description(_ request: PromptRequest) throws -> String? {
        let options = PinentryOptions(
            program: "/p", terminalPath: nil, terminalType: .vt100, display: nil, waylandDisplay: nil, xAuthority: nil)
        guard let commands = PinentryScript(options: options, request: request).commands else { return nil }
        let line = try #require(
            commands.map { String(decoding: $0.line, as: UTF8.self) }.first { $0.hasPrefix("SETDESC") })
        return line.replacing("%0A", with: "\n").replacing("%25", with: "%")
    }

    @Test func `a dialog with room for all names has them all`() throws {
        let text = try #require(try description(request(objects(["a", "b", "c"]))))
        #expect(text.contains("\nFor: 3 items: “a”, “b” and “c”\n"))
        #expect(text.contains("to sync"))
    }

    @Test func `a dialog without room names as many as fit, in full, and counts the others`() throws {
        let names = (0..<6).map { String(repeating: "\($0)", count: 250) }
        let text = try #require(try description(request(objects(names))))
        let list = names.prefix(3).map { "“\($0)”" }.joined(separator: ", ")
        #expect(text.contains("\nFor: 6 items: \(list) and 3 more\n"))
        #expect(!text.contains("…"))
    }

    @Test func `a name that alone is too long for a dialog is cut, the number stays`() throws {
        let names = Array(repeating: String(repeating: "\u{1B}", count: 200), count: 2)
        var request = request(try objects(names))
        request = PromptRequest(
            question: request.question, program: DisplayText(fact: String(repeating: "p", count: 290)),
            application: DisplayText(fact: String(repeating: "q", count: 290)), processID: 7, frontEnd: .terminal,
            timeLimitSeconds: 60)
        let text = try #require(try description(request))
        #expect(text.contains("\nFor: 2 items: “") && text.contains("…” and 1 more\n"), "\(text)")
    }

    @Test func `what must be shown in full is not asked where it does not fit`() throws {
        let names = (0..<6).map { String(repeating: "\($0)", count: 250) }
        #expect(try description(request(objects(names), isShownInFull: true)) == nil)
        #expect(try description(request(objects(["a", "b"]), isShownInFull: true)) != nil)
    }

    @Test func `on a terminal the list is behind its label, on as many lines as it needs`() throws {
        let text = PromptText(request: request(try objects(numbered(12))))
        let lines = try #require(TerminalLayout(text: text, width: 40)).lines
        let begin = try #require(lines.firstIndex { $0.hasPrefix("  For       12 items: “name 1”,") })
        let list = lines[begin...].prefix { $0.hasPrefix("  For") || $0.hasPrefix("            ") }
        #expect(list.map { $0.dropFirst(12) }.joined(separator: " ").hasSuffix("“name 11” and “name 12”"))
        #expect(lines.allSatisfy { $0.count < 40 })
    }
}

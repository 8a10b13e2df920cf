import Foundation
@testable import PromptProtocol
import Testing

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
        let parts = ["", " ", "  ", "\u{200B}", "\\", #"\u{20}"#, #"\u{200b}"#, "\u{2060}", "\u{A0}", "\t", "“", "\\\\"]
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

import ExactNames
import Testing

@Suite("Names that decide who may do what") struct ExactNameTests {
    /// Pairs that people cannot tell apart, and that Swift calls equal.
    static let pairs = [
        ("/opt/caf\u{E9}", "/opt/cafe\u{301}"), ("\u{212A}eys", "Keys"), ("\u{1100}\u{1161}", "\u{AC00}"),
        ("a\u{323}\u{307}", "a\u{307}\u{323}"), ("exa\u{340}mple", "exa\u{300}mple"),
    ]

    @Test(arguments: pairs) func `two spellings of one text are two names`(_ one: String, _ other: String) {
        #expect(one == other)
        #expect(ExactName(one) != ExactName(other))
        #expect(ExactName(one) < ExactName(other) || ExactName(other) < ExactName(one))
        #expect(Set([ExactName(one), ExactName(other)]).count == 2)
        #expect([ExactName(one): 1][ExactName(other)] == nil)
        #expect(![ExactName(one)].contains(ExactName(other)))
        #expect(!ExactName(one + "/x").hasPrefix(ExactName(other)))
        #expect(!ExactName("x" + one).hasSuffix(ExactName(other)))
    }

    @Test func `a name equals itself however its text was made`() {
        let made = ["/opt/", "caf\u{E9}"].joined()
        #expect(ExactName(made) == "/opt/caf\u{E9}")
        #expect(Set([ExactName(made), "/opt/caf\u{E9}"]).count == 1)
        #expect(ExactName("").isEmpty && ExactName("") != "\0")
    }

    @Test func `a prefix ends between two bytes, and not between two characters`() {
        #expect(ExactName("/opt/\u{301}x").hasPrefix("/opt/"))
        #expect(ExactName("a.\u{301}b").hasSuffix("\u{301}b"))
        #expect(!ExactName("/opt").hasPrefix("/opt/"))
        #expect(!ExactName("b").hasSuffix("ab"))
    }

    @Test func `names sort by their bytes`() {
        #expect([ExactName("b"), "\u{E9}", "a", "e\u{301}"].sorted() == ["a", "b", "e\u{301}", "\u{E9}"])
    }
}

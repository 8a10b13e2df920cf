import AccessControl
import SeededRandomness
import Testing

@Suite("Reading and printing rules")
struct RuleParsingTests {
    private static let passcode = Rule.factor(.passcode)
    private static let biometry = Rule.factor(.biometry)
    private static let securityKey = Rule.factor(.securityKey)

    @Test(
        arguments: [
            ("unrestricted", .unrestricted),
            ("  unrestricted\t", .unrestricted),
            ("passcode", passcode),
            ("biometry-current-set", .factor(.biometryCurrentSet)),
            ("application-password", .factor(.applicationPassword)),
            ("((passcode))", passcode),
            ("biometry or passcode", .anyOf([biometry, passcode])),
            ("biometry and passcode and security-key", .allOf([biometry, passcode, securityKey])),
            ("(biometry and passcode) or security-key", .anyOf([.allOf([biometry, passcode]), securityKey])),
            ("biometry and (passcode or security-key)", .allOf([biometry, .anyOf([passcode, securityKey])])),
            ("2 of (passcode, biometry, security-key)", .atLeast(2, of: [passcode, biometry, securityKey])),
            ("2of(passcode,biometry)", nil),
            ("2 of(passcode,biometry)", .atLeast(2, of: [passcode, biometry])),
            (
                "1 of (passcode and biometry, security-key)",
                .atLeast(1, of: [.allOf([passcode, biometry]), securityKey])
            ),
            ("1 of (passcode) and biometry", .allOf([.atLeast(1, of: [passcode]), biometry])),
            ("all of (passcode)", .allOf([passcode])),
            ("any of (passcode, biometry)", .anyOf([passcode, biometry])),
        ] as [(String, Rule?)])
    func `a text is read as the rule it says`(text: String, expected: Rule?) {
        #expect((try? Rule(parsing: text)) == expected)
    }

    @Test(
        arguments: [
            ("", .expected(.part), 0),
            ("   ", .expected(.part), 3),
            ("passcode biometry", .expected(.connectiveOrEnd), 9),
            ("passcode and", .expected(.part), 12),
            ("passcode and and biometry", .expected(.part), 13),
            ("or passcode", .expected(.part), 0),
            ("Passcode", .expected(.part), 0),
            ("passcode OR biometry", .expected(.connectiveOrEnd), 9),
            ("passcodes", .expected(.part), 0),
            ("pass code", .expected(.part), 0),
            ("biometryCurrentSet", .expected(.part), 0),
            ("not passcode", .expected(.part), 0),
            ("()", .expected(.part), 1),
            ("(passcode", .expected(.connectiveOrClosingParenthesis), 9),
            ("(passcode, biometry)", .expected(.connectiveOrClosingParenthesis), 9),
            ("passcode)", .expected(.connectiveOrEnd), 8),
            ("passcode,", .expected(.connectiveOrEnd), 8),
            ("2 (passcode, biometry)", .expected(.of), 2),
            ("2 of passcode", .expected(.openingParenthesis), 5),
            ("2 of ()", .expected(.part), 6),
            ("2 of (passcode,)", .expected(.part), 15),
            ("1 of (passcode", .expected(.connectiveCommaOrClosingParenthesis), 14),
            ("all (passcode)", .expected(.of), 4),
            ("all of ()", .expected(.part), 8),
            ("any of ()", .expected(.part), 8),
            ("of (passcode)", .expected(.part), 0),
            ("2of (passcode, biometry)", .expected(.part), 0),
            ("-1 of (passcode)", .expected(.part), 0),
            ("passcode or biometry and security-key", .mixedConnectives, 21),
            ("passcode and biometry or security-key", .mixedConnectives, 22),
            ("1 of (passcode and biometry or security-key)", .mixedConnectives, 28),
            ("0 of (passcode)", .invalid(.countOutOfRange), 0),
            ("2 of (passcode)", .invalid(.countOutOfRange), 0),
            ("01 of (passcode)", .invalid(.countOutOfRange), 0),
            ("biometry or 3 of (passcode, biometry)", .invalid(.countOutOfRange), 12),
            ("99999999999999999999999 of (passcode)", .invalid(.countOutOfRange), 0),
            ("unrestricted or passcode", .expected(.end), 13),
            ("unrestricted unrestricted", .expected(.end), 13),
            ("passcode or unrestricted", .invalid(.unrestrictedInsideConnective), 12),
            ("(unrestricted)", .invalid(.unrestrictedInsideConnective), 1),
            ("1 of (unrestricted)", .invalid(.unrestrictedInsideConnective), 6),
            ("passcode; biometry", .unexpectedCharacter, 8),
            ("passcode\nor biometry", .unexpectedCharacter, 8),
            ("passcode\0", .unexpectedCharacter, 8),
            ("passcode or pa\u{301}sscode", .unexpectedCharacter, 14),
            ("passcode\u{a0}or biometry", .unexpectedCharacter, 8),
            ("раsscode", .unexpectedCharacter, 0),
            ("２ of (passcode, biometry)", .unexpectedCharacter, 0),
            ("passcode && biometry", .unexpectedCharacter, 9),
        ] as [(String, RuleSyntaxError.Problem, Int)])
    func `what is no rule is refused with the place and what was expected`(
        text: String, problem: RuleSyntaxError.Problem, position: Int
    ) {
        let error = #expect(throws: RuleSyntaxError.self) { try Rule(parsing: text) }
        #expect(error?.problem == problem)
        #expect(error?.position == position)
    }

    @Test func `an error says what was expected and where, without repeating the text`() {
        let error = #expect(throws: RuleSyntaxError.self) { try Rule(parsing: "2 of hunter2") }
        #expect(error?.description == "expected “(” (at character 6)")
        let mixed = #expect(throws: RuleSyntaxError.self) { try Rule(parsing: "passcode or biometry and security-key") }
        #expect(mixed?.description == "“and” beside “or” is ambiguous: use parentheses (at character 22)")
        let unknown = #expect(throws: RuleSyntaxError.self) { try Rule(parsing: "hunter2") }
        #expect(unknown?.description.contains("hunter2") == false)
        #expect(unknown?.description.contains("“biometry-current-set”") == true)
    }

    // MARK: limits

    @Test func `a text may have 2048 bytes and not one more`() throws {
        let padding = String(repeating: " ", count: Rule.Limits.textByteCount - "passcode".utf8.count)
        #expect(try Rule(parsing: padding + "passcode") == .factor(.passcode))
        #expect(Self.refusal(of: padding + " passcode") == .tooLong)
    }

    @Test func `parentheses may be 16 deep and not one deeper`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "(", count: depth) + "passcode" + String(repeating: ")", count: depth)
        }
        #expect(try Rule(parsing: nested(Rule.Limits.depth)) == .factor(.passcode))
        #expect(Self.refusal(of: nested(Rule.Limits.depth + 1)) == .invalid(.tooDeep))
    }

    @Test func `connectives may make 16 levels and not one more`() throws {
        func nested(_ depth: Int) -> String {
            (1..<depth).reduce("passcode") { text, _ in "1 of (\(text))" }
        }
        #expect(try Requirement(Rule(parsing: nested(Rule.Limits.depth))).alternatives == [.passcode])
        #expect(Self.refusal(of: nested(Rule.Limits.depth + 1)) == .invalid(.tooDeep))
        // Two levels per pair of parentheses: the levels count, not the parentheses.
        let paired = (0..<8).reduce("passcode") { text, _ in "1 of (\(text) and biometry)" }
        #expect(Self.refusal(of: paired) == .invalid(.tooDeep))
    }

    @Test func `a rule may have 64 parts and not one more`() throws {
        func list(_ count: Int) -> String { Array(repeating: "passcode", count: count).joined(separator: " or ") }
        #expect(try Requirement(Rule(parsing: list(63))).alternatives == [.passcode])
        #expect(Self.refusal(of: list(64)) == .invalid(.tooManyParts))
        #expect(Self.refusal(of: "1 of (\(list(63)))") == .invalid(.tooManyParts))
    }

    private static func refusal(of text: String) -> RuleSyntaxError.Problem? {
        do throws(RuleSyntaxError) { _ = try Rule(parsing: text) } catch { return error.problem }
        return nil
    }

    // MARK: printing

    @Test(
        arguments: [
            (.allOf([passcode]), "all of (passcode)"),
            (.anyOf([passcode]), "any of (passcode)"),
            (.anyOf([.allOf([biometry, passcode]), securityKey]), "(biometry and passcode) or security-key"),
            (.allOf([.allOf([biometry, passcode]), securityKey]), "(biometry and passcode) and security-key"),
            (
                .atLeast(2, of: [.allOf([biometry, passcode]), securityKey]),
                "2 of (biometry and passcode, security-key)"
            ),
            (.anyOf([.allOf([passcode]), biometry]), "all of (passcode) or biometry"),
        ] as [(Rule, String)])
    func `a rule prints with the parentheses it needs`(rule: Rule, text: String) {
        #expect(rule.description == text)
    }

    @Test func `every small rule prints to text that is read back to itself`() {
        let different = SmallRules.all.filter { (try? Rule(parsing: $0.description)) != $0 }
        #expect(SmallRules.all.count > 4_000)
        #expect(different.isEmpty)
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a random rule prints to text that is read back to itself`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let rule = generator.rule(depth: 4)
        #expect(try Rule(parsing: rule.description) == rule)
    }

    @Test func `the longest valid rule prints within the text limit`() throws {
        // 14 of the levels have one part each, which prints longest.
        let leaves = Array(repeating: Rule.factor(.biometryCurrentSet), count: Rule.Limits.partCount - 15)
        let rule = (0..<14).reduce(Rule.atLeast(leaves.count, of: leaves)) { inner, _ in .allOf([inner]) }
        #expect(try Requirement(rule).alternatives == [.biometryCurrentSet])
        #expect(try Rule(parsing: rule.description) == rule)
    }

    @Test func `no cut or changed text is read as more than a valid rule`() throws {
        let texts = ["2 of (passcode, biometry and security-key)", "(biometry or passcode) and application-password"]
        var read = 0
        for text in texts {
            let bytes = Array(text.utf8)
            let variants =
                bytes.indices.map { Array(bytes[..<$0]) }
                + bytes.indices.flatMap { index in
                    (0..<8).map { bit in
                        var changed = bytes
                        changed[index] ^= 1 << bit
                        return changed
                    }
                }
            for variant in variants {
                guard let rule = try? Rule(parsing: String(decoding: variant, as: UTF8.self)) else { continue }
                read += 1
                #expect(try Rule(parsing: rule.description) == rule)
            }
        }
        #expect(read > 0)
    }
}

import AccessControl
import Testing

@Suite("A rule with a place")
struct PlacedRuleTests {
    private func problem(_ text: String) -> RuleSyntaxError.Problem? {
        do throws(RuleSyntaxError) {
            _ = try PlacedRule(parsing: text)
            return nil
        } catch { return error.problem }
    }

    @Test(
        arguments: [
            ("passcode", false), ("passcode at trusted place", true),
            ("passcode and security-key at trusted place", true),
            ("(biometry or passcode)\tat  trusted place", true), ("2 of (passcode, biometry) at trusted place", true),
            ("unrestricted", false), ("unrestricted at trusted place", true),
        ])
    func `is read with its place or without`(text: String, isPlaced: Bool) throws {
        let placed = try PlacedRule(parsing: text)
        #expect(placed.isAtTrustedPlace == isPlaced)
        #expect(try PlacedRule(parsing: placed.description) == placed)
    }

    @Test(
        arguments: [
            ("passcode at", .expected(.place)), ("passcode at trusted", .expected(.place)),
            ("passcode at place", .expected(.place)), ("passcode at trusted place now", .expected(.end)),
            ("passcode trusted place", .expected(.connectiveOrEnd)), ("at trusted place", .expected(.part)),
            ("passcode At trusted place", .expected(.connectiveOrEnd)),
            ("(passcode at trusted place) or biometry", .expected(.connectiveOrClosingParenthesis)),
            ("passcode at trusted place and biometry", .expected(.end)), ("passcode and", .expected(.part)),
        ] as [(String, RuleSyntaxError.Problem)])
    func `stands behind the whole rule alone`(text: String, expected: RuleSyntaxError.Problem) {
        #expect(problem(text) == expected)
    }

    @Test func `is no rule for those who know no places`() {
        #expect(throws: RuleSyntaxError.self) { try Rule(parsing: "passcode at trusted place") }
    }
}

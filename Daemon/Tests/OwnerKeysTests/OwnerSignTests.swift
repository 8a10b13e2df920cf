import Foundation
import SecretMemory
import Testing

@testable import OwnerKeys

@Suite("The owner's sign")
struct OwnerSignTests {
    private func violation(_ text: String) -> OwnerSignViolation? {
        let typed = SecretBytes(Data(text.utf8))
        do throws(OwnerSignViolation) {
            _ = try OwnerSign(typed: typed)
            return nil
        } catch { return error }
    }

    @Test(
        arguments: [
            ("amber otter 47", nil), ("abcd", nil), (String(repeating: "x", count: 48), nil), ("a-b, c!", nil),
            ("abc", .length), (String(repeating: "x", count: 49), .length), ("bärbel", .character),
            ("a\u{1B}[2Jb", .character), (#"back\slash"#, .character), (#"say "x""#, .character),
            (" amber", .spaces), ("amber ", .spaces), ("amber  otter", .spaces),
        ] as [(String, OwnerSignViolation?)])
    func `is words that every console can show`(text: String, expected: OwnerSignViolation?) {
        #expect(violation(text) == expected)
    }
}

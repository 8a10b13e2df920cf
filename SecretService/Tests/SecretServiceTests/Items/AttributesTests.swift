import SecretItems
import Testing

@testable import SecretService

@Suite struct AttributesTests {
    private func item(_ attributes: [String: String]?, modified: UInt64 = 0) -> ListedSecret {
        ListedSecret(
            id: .random(),
            contents: attributes.map { SecretContents(collection: "login", attributes: $0, modified: modified) })
    }

    @Test func `a search asks for a part, and an empty one for everything`() {
        let whole = ["a": "1", "b": "2"]
        for part in [[:], ["a": "1"], ["b": "2"], whole] { #expect(Attributes.are(part, among: whole)) }
        for part in [["a": "2"], ["c": "1"], ["a": "1", "c": ""], ["A": "1"]] {
            #expect(!Attributes.are(part, among: whole))
        }
    }

    @Test func `a replacement compares all attributes`() {
        let (part, whole) = (item(["a": "1"]), item(["a": "1", "b": "2"]))
        #expect(Attributes.replaced(by: ["a": "1"], among: [whole]) == nil)
        #expect(Attributes.replaced(by: ["a": "1"], among: [whole, part])?.id == part.id)
        #expect(Attributes.replaced(by: ["a": "1", "b": "2"], among: [whole, part])?.id == whole.id)
        #expect(Attributes.replaced(by: [:], among: [whole, part]) == nil)
        let none = item([:])
        #expect(Attributes.replaced(by: [:], among: [whole, none])?.id == none.id)
    }

    @Test func `of several the one that was changed last is replaced, and none that cannot be seen`() {
        let (older, newer) = (item(["a": "1"], modified: 1), item(["a": "1"], modified: 2))
        #expect(Attributes.replaced(by: ["a": "1"], among: [newer, older])?.id == newer.id)
        #expect(Attributes.replaced(by: ["a": "1"], among: [older, newer])?.id == newer.id)
        #expect(Attributes.replaced(by: [:], among: [item(nil)]) == nil)
    }

    /// Swift's texts are equal when people see the same.
    @Test func `texts are compared by their bytes`() {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(composed == decomposed)
        #expect(!Attributes.areEqual(["a": composed], ["a": decomposed]))
        #expect(!Attributes.areEqual([composed: "a"], [decomposed: "a"]))
        #expect(!Attributes.are(["a": composed], among: ["a": decomposed]))
    }
}

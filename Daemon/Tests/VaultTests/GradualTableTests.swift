import SeededRandomness
import Testing

@testable import Vault

/// The table that finds items is made in pieces after a list was read. A search finds the same items however much of it is made.
@Suite("A table of items that is made in pieces")
struct GradualTableTests {
    private static let itemCount: UInt64 = 5000

    private static func entry(_ number: UInt64, generation: UInt64 = 1, terms: [UInt64]) -> ItemCatalogue.Entry {
        ItemCatalogue.Entry(
            id: ItemDigest(high: number &* 0x9E37_79B9_7F4A_7C15, low: number), generation: generation, code: .none,
            sequence: number, itemClass: .genericPassword,
            index: ItemIndex(uniqueness: ItemDigest(high: number &* 77, low: number), terms: terms))
    }

    /// A list that was just read, and the items that it must find.
    private let catalogue: ItemCatalogue
    private var expected: [ItemCatalogue.Entry]

    init() {
        expected = (1...Self.itemCount).map { Self.entry($0, terms: [$0 % 7, 1000 + $0]) }
        catalogue = ItemCatalogue(expected)
    }

    private func expectSame(
        _ term: UInt64, begin: UInt64 = 0, limit: Int = .max, _ location: SourceLocation = #_sourceLocation
    ) {
        let found = catalogue.search(ItemQuery(allOf: [term], anyOf: [], begin: begin, limit: limit))
        let wanted = expected.filter { $0.sequence >= begin && $0.index.terms.contains(term) }.prefix(limit)
        #expect(found == Array(wanted), sourceLocation: location)
    }

    @Test func `each search finds all, the first one too`() {
        for number in (1...Self.itemCount).reversed() where number % 500 == 0 { expectSame(1000 + number) }
        expectSame(3)
    }

    @Test func `pages across the end of the table follow one another without a gap`() {
        for begin in stride(from: 0, to: Self.itemCount, by: 90) { expectSame(5, begin: begin, limit: 13) }
    }

    @Test func `a uniqueness digest is known before the table has it`() {
        let last = expected[expected.count - 1]
        #expect(catalogue.holds(last.index.uniqueness))
        #expect(!catalogue.holds(last.index.uniqueness, besides: VaultID(last.id)))
        #expect(catalogue.entry(VaultID(last.id)) == last)
    }

    @Test(arguments: [UInt64](1...8))
    mutating func `changes, taken back, suspended or kept, are found however far the table is`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<30 {
            let former = expected
            for _ in 0..<UInt64.random(in: 0...20, using: &random) { change(&random) }
            switch UInt64.random(in: 0..<3, using: &random) {
            case 0:
                catalogue.undoChanges(after: 0)
                expected = former
            case 1:
                let changed = expected
                catalogue.suspendChanges()
                expected = former
                expectSame(UInt64.random(in: 0..<7, using: &random))
                catalogue.resumeChanges()
                expected = changed
                fallthrough
            default: catalogue.commit()
            }
            if UInt64.random(in: 0..<4, using: &random) == 0 { expectSame(UInt64.random(in: 0..<7, using: &random)) }
        }
        for term in 0..<UInt64(7) { expectSame(term) }
        #expect(catalogue.count == expected.count)
    }

    private mutating func change(_ random: inout SeededGenerator) {
        let index = Int.random(in: 0..<expected.count, using: &random)
        switch UInt64.random(in: 0..<3, using: &random) {
        case 0:
            catalogue.remove(VaultID(expected[index].id))
            expected.remove(at: index)
        case 1:
            let entry = Self.entry(
                expected[index].sequence, generation: expected[index].generation + 1,
                terms: [UInt64.random(in: 0..<7, using: &random)])
            catalogue.replace(entry)
            expected[index] = entry
        default:
            let entry = Self.entry(catalogue.nextSequence, terms: [UInt64.random(in: 0..<7, using: &random)])
            // The identifier of a removed item is not used again here.
            catalogue.append(entry)
            expected.append(entry)
        }
    }
}

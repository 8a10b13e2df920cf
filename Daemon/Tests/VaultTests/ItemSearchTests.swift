import Testing

@testable import Vault

/// A search visits the items with the rarest of its terms, however many items there are and however many of them have the other terms.
@Suite("The work of a search") struct ItemSearchTests {
    /// The term of every item, of every tenth, of a hundred items, and of four.
    private static let common: UInt64 = 1
    private static let frequent: UInt64 = 2
    private static let seldom: UInt64 = 3
    private static let rare: UInt64 = 4
    /// The term that one item alone has.
    private static func own(_ number: UInt64) -> UInt64 { 1_000_000 + number }

    private static func terms(_ number: UInt64) -> [UInt64] {
        var terms = [common, own(number)]
        if number.isMultiple(of: 10) { terms.append(frequent) }
        if number <= 100 { terms.append(seldom) }
        if [3, 40, 50, 70].contains(number) { terms.append(rare) }
        return terms
    }

    /// A list with its table, which searches make in pieces after the list was read.
    private static func catalogue(of count: UInt64) -> ItemCatalogue {
        let catalogue = ItemCatalogue(
            (1...count).map { number in
                ItemCatalogue.Entry(
                    id: ItemDigest(high: number &* 0x9E37_79B9_7F4A_7C15, low: number), generation: 1, code: .none,
                    sequence: number, itemClass: .freeform,
                    index: ItemIndex(uniqueness: ItemDigest(high: number &* 77, low: number), terms: terms(number)))
            })
        while catalogue.indexedCount < catalogue.count { _ = catalogue.search(ItemQuery(allOf: [0], anyOf: [])) }
        return catalogue
    }

    private static func work(_ query: ItemQuery, in catalogue: ItemCatalogue) -> (visited: Int, found: Int) {
        var visited = 0
        catalogue.visitCandidates(for: query) { _ in
            visited += 1
            return true
        }
        return (visited, catalogue.search(query).count)
    }

    @Test(arguments: [200, 20_000] as [UInt64])
    func `a rare attribute among common ones is all that is visited, among few items and many`(count: UInt64) {
        let catalogue = Self.catalogue(of: count)
        func work(_ allOf: [UInt64], _ anyOf: [UInt64] = [], begin: UInt64 = 0) -> (visited: Int, found: Int) {
            Self.work(ItemQuery(itemClass: .freeform, allOf: allOf, anyOf: anyOf, begin: begin), in: catalogue)
        }
        let (common, frequent, seldom, rare) = (Self.common, Self.frequent, Self.seldom, Self.rare)
        #expect(work([common, rare]) == (4, 4))
        #expect(work([seldom, common, rare, frequent]) == (4, 3))
        #expect(work([common, Self.own(70)]) == (1, 1))
        // One group is as good as an attribute.
        #expect(work([rare], [common]) == (4, 4))
        #expect(work([common], [rare]) == (4, 4))
        // Attributes that no item has together cost as much as the rarest, and one that no item has nothing.
        #expect(work([common, rare, Self.own(5)]) == (1, 0))
        let absent = UInt64.max
        #expect(work([common, absent]) == (0, 0))
        #expect(work([absent], [common]) == (0, 0))
        // A page of a common attribute begins where it is asked to.
        #expect(work([common], begin: count - 9) == (10, 10))
    }

    @Test func `an item has its terms in the list with as many attributes as it may have`() throws {
        let terms = (0..<255).map { UInt64($0) }
        let entry = ItemCatalogue.Entry(
            id: ItemDigest(high: 1, low: 1), generation: 1, code: .none, sequence: 1, itemClass: .freeform,
            index: ItemIndex(uniqueness: ItemDigest(high: 2, low: 2), terms: terms))
        #expect(try ItemCatalogue.Entry(entry.listed) == entry)
        let catalogue = ItemCatalogue([entry])
        for term in terms {
            #expect(catalogue.search(ItemQuery(itemClass: .freeform, allOf: [term], anyOf: [])) == [entry])
            #expect(catalogue.search(ItemQuery(itemClass: .key, allOf: [term], anyOf: [])).isEmpty)
        }
    }
}

import Foundation
import Testing

@testable import Vault

/// The example of `Documentation/formats/vault.md` about keychain items.
@Suite("The documented example of an item")
struct ItemFormatTests {
    private static let entry = ItemCatalogue.Entry(
        id: ItemDigest(high: 0x0a0b_0000_0000_0000, low: 0), generation: 1,
        code: RowCode(high: 0xaaaa_aaaa_aaaa_aaaa, low: 0xbbbb_bbbb_bbbb_bbbb), sequence: 1,
        itemClass: .genericPassword,
        index: ItemIndex(
            uniqueness: ItemDigest(high: 0x3333_3333_3333_3333, low: 0x4444_4444_4444_4444),
            terms: [0x5555_5555_5555_5555]))

    private static func listed(_ tag: [UInt8], key: [UInt8] = entry.listed.key) -> ListedRow {
        ListedRow(key: key, entry: ListEntry(generation: 1, code: entry.code, tag: tag))
    }

    @Test func `the tag of an item is the documented one`() throws {
        #expect(Data(Self.entry.listed.key).hexadecimal == "0a0b0000000000000000000000000000")
        #expect(
            Data(Self.entry.listed.entry.tag).hexadecimal
                == "000000000000000101333333333333333344444444444444445555555555555555")
        #expect(Self.entry.bucket == 0xa0)
        #expect(try ItemCatalogue.Entry(Self.entry.listed) == Self.entry)
    }

    @Test(arguments: 0..<33) func `no truncation of a tag decodes but one that has fewer terms`(count: Int) throws {
        let tag = Self.entry.listed.entry.tag
        #expect(tag.count == 33)
        let row = Self.listed(Array(tag.prefix(count)))
        guard count != 25 else {
            #expect(try ItemCatalogue.Entry(row).index.terms == [])
            return
        }
        #expect(throws: MalformedRow.self) { try ItemCatalogue.Entry(row) }
    }

    @Test func `unknown classes, unsorted terms, too many terms and other keys do not decode`() {
        let tag = Self.entry.listed.entry.tag
        let bad = [
            Self.listed(Array(tag[..<8] + [9] + tag[9...])),
            Self.listed(tag + [UInt8](repeating: 0, count: 8)),
            Self.listed(tag + [UInt8](repeating: 0x55, count: 8)),
            Self.listed(tag + (1...255 as ClosedRange<UInt8>).flatMap { [UInt8](repeating: 0x60, count: 7) + [$0] }),
            Self.listed(tag, key: []), Self.listed(tag, key: Array(Self.entry.listed.key.dropLast())),
            Self.listed(tag, key: Self.entry.listed.key + [0]),
        ]
        for row in bad { #expect(throws: MalformedRow.self) { try ItemCatalogue.Entry(row) } }
    }
}

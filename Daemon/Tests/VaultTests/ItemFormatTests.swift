import Foundation
import Testing

@testable import Vault

/// The examples of `Documentation/formats/vault.md` about keychain items.
@Suite("The documented examples of items")
struct ItemFormatTests {
    private static let entry = ItemCatalogue.Entry(
        id: ItemDigest(high: 0x0a0b_0000_0000_0000, low: 0), generation: 1, sequence: 1, itemClass: .genericPassword,
        index: ItemIndex(
            uniqueness: ItemDigest(high: 0x3333_3333_3333_3333, low: 0x4444_4444_4444_4444),
            terms: [0x5555_5555_5555_5555]))
    private static let row = ItemLeaf.row(bucket: 0xa0, owner: VaultID(), generation: 1, entries: [entry])

    private static var bytes: Data {
        guard case .blob(let bytes) = row.columns[0] else { return Data() }
        return bytes
    }

    @Test func `the entries of a leaf are the documented ones`() throws {
        #expect(
            Self.bytes.hexadecimal == """
                01000000010a0b00000000000000000000000000000000000000000001000000000000000101333333333333333344444444444444\
                44015555555555555555
                """)
        #expect(Self.row.key == Data([0, 0xa0]) && ItemLeaf.bucket(of: Self.entry.id) == 0xa0)
        let leaf = try ItemLeaf.entries(of: Self.row)
        #expect(leaf.bucket == 0xa0 && leaf.entries == [Self.entry])
    }

    @Test(arguments: 0..<63) func `no truncation of a leaf decodes`(count: Int) {
        #expect(Self.bytes.count == 63)
        var row = Self.row
        row.columns = [.blob(Self.bytes.prefix(count))]
        #expect(throws: MalformedRow.self) { try ItemLeaf.entries(of: row) }
    }

    @Test func `an entry in another bucket, unsorted terms and trailing bytes do not decode`() {
        for key in [Data([0, 0xa1]), Data([0x10, 0]), Data([0xa0]), Data()] {
            let row = SealedRow(
                table: .itemLeaves, owner: VaultID(), key: key, generation: 1, columns: Self.row.columns)
            #expect(throws: MalformedRow.self) { try ItemLeaf.entries(of: row) }
        }
        var twice = Self.bytes.dropLast(9)
        twice += [2] + [UInt8](repeating: 9, count: 8) + [UInt8](repeating: 8, count: 8)
        for bytes in [Data(twice), Self.bytes + [0]] {
            var row = Self.row
            row.columns = [.blob(bytes)]
            #expect(throws: MalformedRow.self) { try ItemLeaf.entries(of: row) }
        }
    }
}

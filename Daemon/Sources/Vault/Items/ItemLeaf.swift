import CanonicalEncoding
import Foundation

/// One of the 4,096 lists that together say which items an owner has. An item is in the list that the first twelve bits of
/// its identifier name, so each list stays short and a change writes one of them.
enum ItemLeaf {
    static let bucketCount = 4096

    static func bucket(of id: ItemDigest) -> Int { Int(id.high >> 52) }

    static func key(of bucket: Int) -> Data { Data([UInt8(bucket >> 8), UInt8(bucket & 0xff)]) }

    /// The leaf's row. Layout of its entries: `Documentation/formats/vault.md`.
    static func row(
        bucket: Int, owner: VaultID, generation: UInt64, entries: some Collection<ItemCatalogue.Entry>
    ) -> SealedRow {
        var writer = CanonicalWriter(capacity: 8 + entries.count * 160)
        writer.write(VaultFormat.leafVersion)
        writer.write(UInt32(entries.count))
        for entry in entries {
            writer.write(entry.id)
            writer.write(entry.generation)
            writer.write(entry.sequence)
            writer.write(entry.itemClass.rawValue)
            writer.write(entry.index.uniqueness)
            writer.write(UInt8(entry.index.terms.count))
            for term in entry.index.terms { writer.write(term) }
        }
        return SealedRow(
            table: .itemLeaves, owner: owner, key: key(of: bucket), generation: generation,
            columns: [.blob(Data(writer.bytes))])
    }

    /// The bucket and the entries of an authentic leaf.
    static func entries(of row: SealedRow) throws(MalformedRow) -> (bucket: Int, entries: [ItemCatalogue.Entry]) {
        guard row.key.count == 2 else { throw MalformedRow() }
        let bucket = row.key.reduce(0) { $0 << 8 | Int($1) }
        guard bucket < bucketCount else { throw MalformedRow() }
        var columns = ColumnReader(row.columns)
        do {
            var reader = CanonicalReader(Array(try columns.blob()))
            guard try reader.read(UInt8.self) == VaultFormat.leafVersion else { throw MalformedRow() }
            var entries: [ItemCatalogue.Entry] = []
            for _ in 0..<(try reader.read(UInt32.self)) {
                let entry = try entry(from: &reader)
                guard self.bucket(of: entry.id) == bucket else { throw MalformedRow() }
                entries.append(entry)
            }
            try reader.finish()
            return (bucket, entries)
        } catch {
            throw MalformedRow()
        }
    }

    private static func entry(from reader: inout CanonicalReader) throws -> ItemCatalogue.Entry {
        let id = try reader.readDigest()
        let (generation, sequence) = (try reader.read(UInt64.self), try reader.read(UInt64.self))
        guard let itemClass = ItemClass(rawValue: try reader.read(UInt8.self)) else { throw MalformedRow() }
        let uniqueness = try reader.readDigest()
        var terms: [UInt64] = []
        let count = Int(try reader.read(UInt8.self))
        terms.reserveCapacity(count)
        for _ in 0..<count { terms.append(try reader.read(UInt64.self)) }
        let index = ItemIndex(uniqueness: uniqueness, terms: terms)
        guard index.terms == terms else { throw MalformedRow() }
        return ItemCatalogue.Entry(
            id: id, generation: generation, sequence: sequence, itemClass: itemClass, index: index)
    }
}

extension CanonicalWriter {
    fileprivate mutating func write(_ digest: ItemDigest) {
        write(digest.high)
        write(digest.low)
    }
}

extension CanonicalReader {
    fileprivate mutating func readDigest() throws(CanonicalEncodingError) -> ItemDigest {
        ItemDigest(high: try read(UInt64.self), low: try read(UInt64.self))
    }
}

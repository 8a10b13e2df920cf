import CanonicalEncoding
import Foundation

/// The entry of an item in the list of its owner's items. Its tag holds the item's place in the order of creation, its
/// class, its uniqueness digest and its terms. Layout: `Documentation/formats/vault.md`.
extension ItemCatalogue.Entry {
    /// The bucket that the first twelve bits of the identifier name.
    var bucket: Int { Int(id.high >> 52) }

    var listed: ListedRow {
        var (key, tag) = (CanonicalWriter(capacity: 16), CanonicalWriter(capacity: 25 + index.terms.count * 8))
        key.write(id)
        tag.write(sequence)
        tag.write(itemClass.rawValue)
        tag.write(index.uniqueness)
        for term in index.terms { tag.write(term) }
        return ListedRow(key: key.bytes, entry: ListEntry(generation: generation, code: code, tag: tag.bytes))
    }

    init(_ row: ListedRow) throws(MalformedRow) {
        do {
            guard row.key.count == ItemDigest.byteCount, let id = ItemDigest(prefixOf: row.key) else {
                throw MalformedRow()
            }
            var reader = CanonicalReader(row.entry.tag)
            let sequence = try reader.read(UInt64.self)
            guard let itemClass = ItemClass(rawValue: try reader.read(UInt8.self)) else { throw MalformedRow() }
            let uniqueness = ItemDigest(high: try reader.read(UInt64.self), low: try reader.read(UInt64.self))
            let termCount = (row.entry.tag.count - Self.fixedByteCount) / 8
            guard termCount <= 255 else { throw MalformedRow() }
            var terms: [UInt64] = []
            terms.reserveCapacity(termCount)
            for _ in 0..<termCount { terms.append(try reader.read(UInt64.self)) }
            try reader.finish()
            let index = ItemIndex(uniqueness: uniqueness, terms: terms)
            guard index.terms == terms else { throw MalformedRow() }
            self.init(
                id: id, generation: row.entry.generation, code: row.entry.code, sequence: sequence,
                itemClass: itemClass,
                index: index)
        } catch {
            throw MalformedRow()
        }
    }

    /// Place, class and uniqueness digest.
    private static let fixedByteCount = 25
}

extension CanonicalWriter {
    fileprivate mutating func write(_ digest: ItemDigest) {
        write(digest.high)
        write(digest.low)
    }
}

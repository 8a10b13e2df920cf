import Foundation

/// One list in memory, with the codes of its buckets as they lie in the database.
final class StoredList {
    let id: ListID
    let content: any ListContent
    private var digest: ListDigest
    /// Buckets to write besides the changed ones, for a list that the database does not have yet.
    private var unwritten: Set<Int> = []
    /// The former codes of the buckets that the running transaction wrote.
    private var formerCodes: [(bucket: Int, code: RowCode)] = []

    private init(_ id: ListID, _ content: any ListContent, _ digest: ListDigest) {
        self.id = id
        self.content = content
        self.digest = digest
    }

    /// A list that the database does not have yet.
    convenience init(new id: ListID, _ content: any ListContent) {
        self.init(id, content, ListDigest(bucketCount: id.table.bucketCount))
        unwritten = Set((0..<id.table.bucketCount).filter { !content.rows(inBucket: $0).isEmpty })
    }

    /// Reads a list and compares it with its digest in the root.
    ///
    /// - Throws: ``VaultError/corrupt(_:_:)``. It names the altered bucket; if a bucket is missing or too old, it names
    ///   the list by a key of one byte.
    static func read(_ id: ListID, expected: Data, from rows: RowStore) throws -> StoredList {
        let (listed, digest) = try listedRows(id, expected: expected, from: rows)
        do {
            return StoredList(id, try id.table.content(listed), digest)
        } catch { throw VaultError.corrupt(id.reference, .malformed) }
    }

    /// The rows of all buckets of a list, after these were compared with the digest in the root. Throws as
    /// ``read(_:expected:from:)``.
    private static func listedRows(
        _ id: ListID, expected: Data, from rows: RowStore
    ) throws -> ([ListedRow], ListDigest) {
        var digest = ListDigest(bucketCount: id.table.bucketCount)
        var listed: [ListedRow] = []
        let buckets = try rows.buckets(of: id)
        for stored in buckets {
            switch stored {
            case .unreadable(let reference, let fault): throw VaultError.corrupt(reference, fault)
            case .readable(let row):
                do {
                    let number = try ListBucket.number(row.key, of: id.table)
                    digest[number] = row.code
                    listed += try ListBucket.rows(row)
                } catch { throw VaultError.corrupt(row.reference, .malformed) }
            }
        }
        guard try digest.value(by: rows.protector) == expected else {
            throw VaultError.corrupt(id.reference, buckets.isEmpty ? .removed : .replayed)
        }
        return (listed, digest)
    }

    /// Compares some buckets, as they lie in the database, with the list in memory, which was compared with the root when it
    /// was read. Throws as ``read(_:expected:from:)``.
    func verify(_ buckets: Range<Int>, in rows: RowStore) throws {
        var missing = Set(buckets.filter { digest[$0] != .none })
        for stored in try rows.buckets(of: id, in: buckets) {
            switch stored {
            case .unreadable(let reference, let fault): throw VaultError.corrupt(reference, fault)
            case .readable(let row):
                let number: Int
                do { number = try ListBucket.number(row.key, of: id.table) } catch {
                    throw VaultError.corrupt(row.reference, .malformed)
                }
                // A row with the same code has the content that was decoded before, or that was written.
                guard digest[number] == row.code else { throw VaultError.corrupt(id.reference, .replayed) }
                missing.remove(number)
            }
        }
        guard missing.isEmpty else { throw VaultError.corrupt(id.reference, .removed) }
    }

    // MARK: writing

    var isChanged: Bool { content.changeCount > 0 || !unwritten.isEmpty }

    /// Writes the buckets that changed and returns the list's new digest.
    func write(generation: UInt64, to rows: RowStore) throws -> Data {
        for bucket in content.changedBuckets.union(unwritten).sorted() {
            let listed = content.rows(inBucket: bucket)
            formerCodes.append((bucket, digest[bucket]))
            if listed.isEmpty {
                _ = try rows.delete(id.table.listTable, owner: id.owner, key: ListBucket.key(bucket, of: id.table))
                digest[bucket] = .none
            } else {
                let row = ListBucket.row(bucket, of: id, generation: generation, listing: listed)
                digest[bucket] = RowCode(prefixOf: try rows.put(row))
            }
        }
        return try digest.value(by: rows.protector)
    }

    /// Shows the list as it was before the running transaction, until ``resumeChanges()``.
    func suspendChanges() {
        content.suspendChanges()
        exchangeCodes()
    }

    func resumeChanges() {
        content.resumeChanges()
        exchangeCodes()
    }

    /// Each bucket is written once in a transaction, so a second exchange undoes the first.
    private func exchangeCodes() {
        for index in formerCodes.indices {
            let (bucket, code) = formerCodes[index]
            formerCodes[index].code = digest[bucket]
            digest[bucket] = code
        }
    }

    func commit() {
        content.commit()
        unwritten = []
        formerCodes = []
    }

    func rollBack() {
        content.undoChanges(after: 0)
        for (bucket, code) in formerCodes.reversed() { digest[bucket] = code }
        formerCodes = []
    }
}

extension ListID {
    /// The list as a whole.
    var reference: RowReference { RowReference(table: table.listTable, key: Data([table.rawValue])) }
}

extension VaultTable {
    fileprivate func content(_ rows: [ListedRow]) throws(MalformedRow) -> any ListContent {
        self == .items ? try ItemCatalogue(rows) : try Manifest(rows, of: self)
    }

    /// The content of a new list of the table.
    var emptyContent: any ListContent { self == .items ? ItemCatalogue() : Manifest(of: self) }
}

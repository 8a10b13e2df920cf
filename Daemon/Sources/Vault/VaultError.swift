public import Foundation

/// Why the vault could not do its work. No case carries a stored or searched value.
public enum VaultError: Error, Equatable, Sendable {
    /// There is no store in this folder, and the caller did not ask to create one.
    case missing
    /// The file in the store's place cannot be used as a store; nothing was changed.
    case unreadable(UnreadableReason)
    /// A newer version of the program wrote the store; nothing was changed.
    case tooNew(found: UInt32, supported: UInt32)
    /// The store has a version from before the first one that is kept; nothing was changed.
    case tooOld(found: UInt32, supported: UInt32)
    /// No space is left; the transaction left no trace.
    case diskFull
    /// Another process holds the database.
    case busy
    /// A row with this identity exists.
    case duplicate
    /// The owner has as many items as ``ItemLimits/itemCount`` allows.
    case tooManyItems
    /// The row to change, or the owner it would belong to, does not exist.
    case notFound
    /// The change is based on another generation of the object than the stored one.
    case conflict
    /// The root in the database is not the one that this vault committed last: another program wrote the database. The
    /// vault refuses to read and write until it is opened again.
    case changedByOthers
    /// One row is altered, missing or should not exist. It is neither usable nor absent. Other rows go on working.
    case corrupt(RowReference, RowFault)
    /// Another input or output error: an SQLite extended result code, or an `errno` below 256 from a file call.
    case io(code: Int32)
}

/// Why a whole store cannot be used.
public enum UnreadableReason: Equatable, Sendable {
    /// A symbolic link, device, folder or hard link, or a file of another user.
    case notOurFile
    /// Not an SQLite database, or its pages are damaged.
    case notADatabase
    /// An SQLite database of another program.
    case anotherProgram
    /// The tables, indexes, triggers or views differ from those of this version.
    case alteredSchema
    /// The store's own record is missing or not authentic, for example because another enclave wrote it.
    case storeRecord
    /// The root over all lists is missing or does not verify. Without it nobody can say which rows are the present ones.
    case root
    /// A row or list is newer than the root: somebody put back an older root, but not the whole store of that time.
    case newerThanRoot
    /// SQLite did not accept a setting that durability or erasure depends on.
    case setting
}

/// Names a row. The key is a random identifier, a role or a counter's subject, never a name.
public struct RowReference: Hashable, Sendable {
    /// The kind of row.
    public let table: VaultTable
    /// The row's key, as `Documentation/formats/vault.md` defines it for the table.
    public let key: Data

    /// A reference to the row of `table` with `key`.
    public init(table: VaultTable, key: Data) {
        self.table = table
        self.key = key
    }

    /// The key as an identifier, for the tables whose key is one.
    public var id: VaultID? { VaultID(bytes: key) }

    /// Whether it is a user's row or the list of the users. Without that list, nothing about any user is known.
    public var isOfUsers: Bool {
        table == .users || table == .lists && key.first == VaultTable.users.rawValue
    }
}

/// The fault of one row.
public enum RowFault: Equatable, Sendable {
    /// The row's authentication code does not fit its columns.
    case altered
    /// Authentic, but not the listed writing of the row, for instance an older one.
    case replayed
    /// Authentic, but not listed: it was removed before, or moved here.
    case planted
    /// Listed, but missing.
    case removed
    /// Authentic, but its columns do not decode.
    case malformed
}

/// One element of a listing. Unusable rows have an element too.
public enum Stored<Record: Sendable>: Sendable {
    /// Authentic and current.
    case readable(Record)
    /// Neither usable nor absent.
    case unreadable(RowReference, RowFault)

    /// The record, if it is readable.
    public var record: Record? {
        if case .readable(let record) = self { record } else { nil }
    }

    /// Which row it is, if it is not readable.
    public var unreadable: RowReference? {
        if case .unreadable(let reference, _) = self { reference } else { nil }
    }
}

extension Stored: Equatable where Record: Equatable {}

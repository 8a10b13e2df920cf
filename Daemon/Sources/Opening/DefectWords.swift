package import AuditLog
package import Enclave
package import Vault

/// Why a file of the state folder cannot be used, as the rest of a sentence for a person.
extension VaultError {
    package var words: String {
        switch self {
        case .missing: "vault.sqlite is missing"
        case .unreadable(let reason): reason.words
        case .tooNew(let found, let supported): "it has version \(found), and this daemon reads only up to \(supported)"
        case .tooOld(let found, let supported):
            "it has version \(found), and this daemon reads only from version \(supported) on"
        case .diskFull: "the disk is full"
        case .busy: "another process holds it"
        case .changedByOthers: "another program changed it"
        case .corrupt(let reference, let fault): "a row of the table \(reference.table) is \(fault.words)"
        case .io(let code): "reading or writing failed with code \(code)"
        case .duplicate, .tooManyItems, .notFound, .conflict: "\(self)"
        }
    }
}

extension UnreadableReason {
    fileprivate var words: String {
        switch self {
        case .notOurFile: "vault.sqlite is not a plain file of yours"
        case .notADatabase: "vault.sqlite is no database, or a damaged one"
        case .anotherProgram: "vault.sqlite is the database of another program"
        case .alteredSchema: "its tables are not those that this version makes"
        case .storeRecord: "the record of the store is missing or does not verify"
        case .root: "the root over its lists is missing or does not verify"
        case .newerThanRoot: "a row or list is newer than the root over them"
        case .setting: "SQLite did not accept a setting"
        }
    }
}

extension RowFault {
    fileprivate var words: String {
        switch self {
        case .altered: "altered"
        case .replayed: "older than its list"
        case .planted: "not in its list"
        case .removed: "missing"
        case .malformed: "malformed"
        }
    }
}

extension PrivateFileDefect {
    package var words: String {
        switch self {
        case .notRegularFile: "it is not a plain file"
        case .foreignOwner: "it or its folder belongs to another user"
        case .permissive: "other users can reach it"
        case .unknownVersion: "another version of Ostiary made it"
        case .damaged: "it is damaged"
        case .systemCall(let errno): "a system call failed with error \(errno)"
        }
    }
}

extension AuditLogError {
    package var words: String {
        switch self {
        case .missing: "it is missing"
        case .exists: "it exists already"
        case .tooNew(let found, let supported): "it has version \(found), and this daemon reads only up to \(supported)"
        case .damaged: "it does not fit its anchor"
        case .diskFull: "the disk is full"
        case .notDurable: "the kernel could not say whether its records reached the disk"
        case .io(let code): "reading or writing failed with error \(code)"
        case .anchorUnreadable: "the key of its anchor cannot be used"
        case .epochOutOfOrder: "the number of its next epoch is not larger"
        }
    }
}

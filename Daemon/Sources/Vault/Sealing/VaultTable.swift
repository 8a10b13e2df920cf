/// The kinds of rows. The raw value is part of the format; 2, 11 and 12 were used before and are never used again.
public enum VaultTable: UInt8, CaseIterable, Sendable {
    case store = 1
    case users = 3
    case keyPairs = 4
    case passcodeRecords = 5
    case attemptCounters = 6
    case objects = 7
    case logAnchors = 8
    case logEpochs = 9
    case items = 10
    case lists = 13
    case itemLists = 14
    case roots = 15

    /// Name in the database, and in the authenticated encoding of each row.
    var name: String {
        switch self {
        case .store: "store"
        case .users: "users"
        case .keyPairs: "key_pairs"
        case .passcodeRecords: "passcode_records"
        case .attemptCounters: "attempt_counters"
        case .objects: "objects"
        case .logAnchors: "log_anchors"
        case .logEpochs: "log_epochs"
        case .items: "items"
        case .lists: "lists"
        case .itemLists: "item_lists"
        case .roots: "roots"
        }
    }

    /// The columns besides the common ones of all tables (owner, row_key, generation, mac), in authenticated order.
    var columns: [String] {
        switch self {
        case .store: ["created", "format_version"]
        case .users: ["uid", "name", "created"]
        case .keyPairs: ["epoch", "public_half", "wrap_kind", "wrapped_private_half"]
        case .passcodeRecords: ["stretch", "salt", "sealed_private_half", "epoch", "state", "created"]
        case .attemptCounters: ["failed_count", "delay_state"]
        case .objects:
            [
                "kind", "suite", "name_digest", "attribute_record", "access_control", "enclave_kind", "public_key",
                "key_blob", "payload", "slots",
            ]
        case .logAnchors: ["count", "head", "epoch", "sealed_key"]
        case .logEpochs: ["first_index", "seed_owner", "wrap_kind", "wrapped_seed"]
        case .items:
            [
                "class", "suite", "attribute_record", "access_control", "wrap_kind", "wrapped_secret", "payload",
                "key_id",
            ]
        case .lists, .itemLists: ["entries"]
        case .roots: ["lists"]
        }
    }

    /// The columns whose bytes count where an owner may store so many: those of any length. Empty where nothing counts.
    var countedColumns: [String] {
        switch self {
        case .objects: ["attribute_record", "access_control", "public_key", "key_blob", "payload", "slots"]
        case .items: ["attribute_record", "access_control", "wrapped_secret", "payload"]
        case .store, .users, .keyPairs, .passcodeRecords, .attemptCounters, .logAnchors, .logEpochs, .lists, .itemLists,
            .roots:
            []
        }
    }

    /// The tables whose rows belong to one user.
    static let ofUsers: [VaultTable] = [.keyPairs, .passcodeRecords, .attemptCounters, .objects, .items]
    /// The tables whose rows belong to the store as a whole.
    static let ofStore: [VaultTable] = [.users, .logAnchors, .logEpochs]
    /// The tables of which no row may be newer than the root: all but those of the root and of the store's own record.
    static let belowRoot: [VaultTable] = ofStore + ofUsers + [.lists, .itemLists]
    /// Whether the table's rows belong to the store as a whole, and not to a user.
    public var isOfStore: Bool { Self.ofStore.contains(self) }

    /// The table with the list of this table's rows. Items have a table of their own, so that a damaged page in it does
    /// not harm the other lists.
    var listTable: VaultTable { self == .items ? .itemLists : .lists }
    /// The number of parts of the list. An owner may have very many items and objects, and a change of one must not write the
    /// whole list again.
    var bucketCount: Int { self == .items || self == .objects ? 4096 : 1 }
}

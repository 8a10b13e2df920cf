/// The kinds of rows. The raw value is part of the format.
public enum VaultTable: UInt8, CaseIterable, Sendable {
    case store = 1
    case manifests = 2
    case users = 3
    case keyPairs = 4
    case passcodeRecords = 5
    case attemptCounters = 6
    case objects = 7
    case logAnchors = 8
    case logEpochs = 9
    case items = 10
    case itemLeaves = 11
    case itemRoots = 12

    /// Name in the database, and in the authenticated encoding of each row.
    var name: String {
        switch self {
        case .store: "store"
        case .manifests: "manifests"
        case .users: "users"
        case .keyPairs: "key_pairs"
        case .passcodeRecords: "passcode_records"
        case .attemptCounters: "attempt_counters"
        case .objects: "objects"
        case .logAnchors: "log_anchors"
        case .logEpochs: "log_epochs"
        case .items: "items"
        case .itemLeaves: "item_leaves"
        case .itemRoots: "item_roots"
        }
    }

    /// The columns besides those that every table has (owner, row_key, generation, mac), in authenticated order.
    var columns: [String] {
        switch self {
        case .store: ["created", "format_version"]
        case .manifests: ["entries"]
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
        case .logEpochs: ["first_index", "wrap_kind", "wrapped_seed"]
        case .items:
            ["class", "suite", "attribute_record", "access_control", "wrap_kind", "wrapped_secret", "payload", "key_id"]
        case .itemLeaves: ["entries"]
        case .itemRoots: []
        }
    }

    /// The tables whose rows belong to one user and are listed in a manifest.
    static let ofUsers: [VaultTable] = [.keyPairs, .passcodeRecords, .attemptCounters, .objects]
    /// The tables of one user's keychain items, which are listed in leaves instead.
    static let ofItems: [VaultTable] = [.items, .itemLeaves, .itemRoots]
    /// The tables whose rows belong to the store as a whole.
    static let ofStore: [VaultTable] = [.users, .logAnchors, .logEpochs]
}

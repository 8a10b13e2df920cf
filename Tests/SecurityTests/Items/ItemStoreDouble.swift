import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory
import Security
import Synchronization

/// A keychain in this process: it keeps what it is given, finds by equal attributes, and refuses what a test says.
/// Uniqueness and conversion are those of the daemon as far as these tests need them.
final class ItemStoreDouble: ItemService {
    struct Row: Sendable {
        var item: StoredItem
        var data: Data?
    }

    enum Call: Equatable {
        case add, find(limit: Int?), update, delete, createKey, findKey, removeKey
    }

    private struct State {
        var rows: [Row] = []
        var keys: [EnclaveKey] = []
        var keyGroups: [String?] = []
        var awaitsItem: [Bool] = []
        var calls: [Call] = []
        var uses: [ItemUse] = []
        var selections: [ItemSelection] = []
        var refusal: (OstiaryError, Call?)?
    }

    private let state = Mutex(State())

    var rows: [Row] { state.withLock { $0.rows } }
    var keys: [EnclaveKey] { state.withLock { $0.keys } }
    /// The access groups that keys were asked for, in order.
    var keyGroups: [String?] { state.withLock { $0.keyGroups } }
    /// Whether each key was to be stored with its item, in order.
    var awaitsItem: [Bool] { state.withLock { $0.awaitsItem } }
    var calls: [Call] { state.withLock { $0.calls } }
    var lastUse: ItemUse? { state.withLock { $0.uses.last } }
    var lastSelection: ItemSelection? { state.withLock { $0.selections.last } }

    /// Refuses calls from now on: all, or those of one kind.
    func refuse(_ failure: WireFailureCode, only call: Call? = nil) {
        state.withLock { $0.refusal = (OstiaryError(.init(failure), "refused"), call) }
    }

    private func record(_ call: Call, _ use: ItemUse? = nil, _ selection: ItemSelection? = nil) throws {
        try state.withLock { state in
            state.calls.append(call)
            if let use { state.uses.append(use) }
            if let selection { state.selections.append(selection) }
            if let (refusal, only) = state.refusal, only == nil || only == call { throw refusal }
        }
    }

    // MARK: ItemService

    func addItem(
        _ itemClass: String, attributes: ItemAttributeValues, accessControl: AccessControl, shownAccessControl: Data,
        data: borrowing SecretBytes?, keyID: Data?, returningAttributes: Bool, use: ItemUse
    ) throws -> StoredItem {
        try record(.add, use)
        try Self.checkGroup(attributes["agrp"])
        let bytes = Self.exposed(data)
        let added = attributes.merging(
            ["agrp": .text("G"), "cdat": .date(Self.date), "mdat": .date(Self.date)],
            uniquingKeysWith: { given, _ in given })
        let item = StoredItem(
            id: Data((0..<16).map { _ in UInt8.random(in: 0...255) }), itemClass: itemClass, attributes: added,
            accessControl: accessControl, shownAccessControl: shownAccessControl, hasData: bytes != nil, keyID: keyID)
        return try state.withLock { state in
            guard !state.rows.contains(where: { Self.uniqueness($0.item) == Self.uniqueness(item) }) else {
                throw OstiaryError(.init(.duplicate), "taken")
            }
            state.rows.append(Row(item: item, data: bytes))
            return item
        }
    }

    func findItems(
        _ selection: ItemSelection, limit: Int?, returningData: Bool, returningAttributes: Bool, use: ItemUse,
        _ body: (StoredItem, borrowing SecretBytes?) throws -> Void
    ) throws {
        try record(.find(limit: limit), use, selection)
        let found = rows.filter { Self.matches($0.item, selection) }.prefix(limit ?? .max)
        guard !found.isEmpty else { throw OstiaryError(.init(.notFound), "none") }
        for row in found {
            let data: SecretBytes? = returningData ? row.data.map { SecretBytes($0) } : nil
            try body(row.item, data)
        }
    }

    func updateItems(
        _ selection: ItemSelection, attributes: ItemAttributeValues, accessControl: AccessControl?,
        shownAccessControl: Data,
        data: borrowing SecretBytes?, use: ItemUse
    ) throws -> Int {
        try record(.update, use, selection)
        let bytes = Self.exposed(data)
        return try state.withLock { state in
            let indices = state.rows.indices.filter { Self.matches(state.rows[$0].item, selection) }
            guard !indices.isEmpty else { throw OstiaryError(.init(.notFound), "none") }
            for index in indices {
                let old = state.rows[index].item
                state.rows[index].item = StoredItem(
                    id: old.id, itemClass: old.itemClass, attributes: old.attributes.merging(attributes) { $1 },
                    accessControl: accessControl ?? old.accessControl,
                    shownAccessControl: accessControl == nil ? old.shownAccessControl : shownAccessControl,
                    hasData: old.hasData || bytes != nil, keyID: old.keyID)
                if let bytes { state.rows[index].data = bytes }
            }
            return indices.count
        }
    }

    func deleteItems(_ selections: [ItemSelection]) throws -> Int {
        try record(.delete, nil, selections.first)
        return try state.withLock { state in
            let rows = state.rows
            for selection in selections {
                guard rows.contains(where: { Self.matches($0.item, selection) }) else {
                    state.rows = rows
                    throw OstiaryError(.init(.notFound), "none")
                }
                state.rows.removeAll { Self.matches($0.item, selection) }
            }
            let keys = rows.compactMap(\.item.keyID).filter { key in !state.rows.contains { $0.item.keyID == key } }
            state.keys.removeAll { keys.contains($0.id) }
            return rows.count - state.rows.count
        }
    }

    func createKey(
        _ kind: EnclaveKeyKind, accessControl: AccessControl, shownAccessControl: Data, accessGroup: String?,
        awaitsItem: Bool, use: ItemUse
    ) throws -> EnclaveKey {
        try record(.createKey, use)
        state.withLock { $0.awaitsItem.append(awaitsItem) }
        try Self.checkGroup(accessGroup.map { .text($0) })
        state.withLock { $0.keyGroups.append(accessGroup) }
        let key = EnclaveKey(
            id: Data((0..<16).map { _ in UInt8.random(in: 0...255) }), kind: kind, publicKey: Self.publicKey,
            accessControl: accessControl, shownAccessControl: shownAccessControl, enclaveKind: "software")
        state.withLock { $0.keys.append(key) }
        return key
    }

    func key(id: Data) throws -> EnclaveKey {
        try record(.findKey)
        guard let key = keys.first(where: { $0.id == id }) else { throw OstiaryError(.init(.notFound), "none") }
        return key
    }

    func removeKey(id: Data) throws {
        try record(.removeKey)
        try state.withLock { state in
            guard state.keys.contains(where: { $0.id == id }) else { throw OstiaryError(.init(.notFound), "none") }
            state.keys.removeAll { $0.id == id }
        }
    }

    // MARK: the rules

    /// A group that the program is not in.
    static let foreignGroup = "org.example.foreign"

    private static func checkGroup(_ group: ItemAttributeValue?) throws {
        guard group != .text(foreignGroup) else { throw OstiaryError(.init(.missingEntitlement), "foreign") }
    }

    static let date = Date(timeIntervalSinceReferenceDate: 1)
    /// A point of the curve.
    static let publicKey: Data = {
        let parameters = [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256] as [CFString: Any]
        let key = SecKeyCreateRandomKey(parameters as CFDictionary, nil)!
        return SecKeyCopyExternalRepresentation(SecKeyCopyPublicKey(key)!, nil)! as Data
    }()

    private static func uniqueness(_ item: StoredItem) -> [ItemAttributeValue?] {
        let keys = [
            "acct", "svce", "srvr", "port", "ptcl", "path", "atyp", "sdmn", "kcls", "klbl", "atag", "ctyp", "issr",
            "slnr", "agrp", "sync",
        ]
        return [.text(item.itemClass)] + keys.map { item.attributes[$0] }
    }

    private static func matches(_ item: StoredItem, _ selection: ItemSelection) -> Bool {
        if let id = selection.id { return item.id == id }
        guard item.itemClass == selection.itemClass else { return false }
        let isSynchronizable = item.attributes["sync"] == .number(1)
        switch selection.synchronizable {
        case .no: guard !isSynchronizable else { return false }
        case .yes: guard isSynchronizable else { return false }
        case .any: break
        }
        return selection.attributes.allSatisfy { bytes(item.attributes[$0.key]) == bytes($0.value) }
    }

    private static func bytes(_ value: ItemAttributeValue?) -> Data? {
        switch value {
        case .data(let data): data
        case .text(let text): Data(text.utf8)
        case .number(let number): Data("#\(number)".utf8)
        case .date(let date): Data("\(date.timeIntervalSinceReferenceDate)".utf8)
        case nil: nil
        }
    }

    private static func exposed(_ secret: borrowing SecretBytes?) -> Data? {
        switch secret {
        case .some(let secret): Data(exposing: secret)
        case .none: nil
        }
    }
}

/// The four calls on a store of the test, as statuses.
struct Keychain {
    let store = ItemStoreDouble()

    private var calls: ItemCalls { ItemCalls(service: store) }

    func add(_ query: [String: Any]) -> (OSStatus, AnyObject?) { outcome { try calls.add(query as CFDictionary) } }

    func find(_ query: [String: Any], isResultWanted: Bool = true) -> (OSStatus, AnyObject?) {
        outcome { try calls.find(query as CFDictionary, isResultWanted: isResultWanted) }
    }

    func update(_ query: [String: Any], _ changes: [String: Any]) -> OSStatus {
        outcome {
            try calls.update(query as CFDictionary, changes as CFDictionary)
            return nil
        }.0
    }

    func delete(_ query: [String: Any]) -> OSStatus {
        outcome {
            try calls.delete(query as CFDictionary)
            return nil
        }.0
    }

    private func outcome(_ work: () throws -> AnyObject?) -> (OSStatus, AnyObject?) {
        do { return (errSecSuccess, try work()) } catch { return (ItemStatus.status(of: error), nil) }
    }
}

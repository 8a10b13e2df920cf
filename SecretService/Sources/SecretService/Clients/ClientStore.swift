import SecretItems
import UnixSocket

/// What Ostiary does in the name of one program. Calls block.
protocol ClientStore: AnyObject, Sendable {
    /// Whether the program's process has not ended.
    var isAlive: Bool { get }

    func begin() throws(StoreRefusal)
    func rest()
    func leave()
    func forgetProofs(of scope: ProofScope)
    func leaveProofs(ofCollection name: String)
    /// Whether its process executes a program of the system with this name.
    func isSystemProgram(named name: String) -> Bool

    func list(_ query: SecretQuery) throws(StoreRefusal) -> [ListedSecret]
    func read(
        _ id: SecretID, in collection: String, asking question: SecretQuestion?
    ) throws(StoreRefusal) -> OpenedSecret
    func readTogether(
        _ items: [(id: SecretID, collection: String)], asking question: SecretQuestion
    ) throws(StoreRefusal) -> [SecretID: HeldSecret]

    func add(_ new: NewSecret, asking question: SecretQuestion?) throws(StoreRefusal) -> SecretID
    func change(
        _ query: SecretQuery, to change: SecretChange, asking question: SecretQuestion?
    ) throws(StoreRefusal)
    func delete(_ queries: [SecretQuery], asking question: SecretQuestion?) throws(StoreRefusal)

    func openStore(asking question: SecretQuestion) throws(StoreRefusal)
    func proveOwner(asking question: SecretQuestion) throws(StoreRefusal)
    func proveRule(of item: ListedSecret, asking question: SecretQuestion) throws(StoreRefusal)
}

extension SecretClient: ClientStore {}

/// Tells what happened in the store.
protocol NewsSource: Sendable {
    func next() throws(StoreRefusal) -> SecretNews?
    func end()
}

extension SecretWatch: NewsSource {}

/// The store as the service itself uses it, and the way to its clients' views of it.
protocol SecretSource: Sendable {
    /// - Parameter process: a pidfd of the client.
    func client(_ process: SharedDescriptor) throws(StoreRefusal) -> any ClientStore
    func isUnlocked() throws(StoreRefusal) -> Bool
    func item(_ id: SecretID) throws(StoreRefusal) -> ListedSecret?
    func list(_ query: SecretQuery) throws(StoreRefusal) -> [ListedSecret]
    /// The same for the oldest items alone.
    func list(_ query: SecretQuery, atMost limit: Int) throws(StoreRefusal) -> [ListedSecret]
    func watch() -> any NewsSource
}

/// The daemon's store.
struct OstiarySource: SecretSource {
    func client(_ process: SharedDescriptor) throws(StoreRefusal) -> any ClientStore {
        try SecretClient(process: process)
    }

    func isUnlocked() throws(StoreRefusal) -> Bool { try SecretStore.isUnlocked() }

    func item(_ id: SecretID) throws(StoreRefusal) -> ListedSecret? { try SecretStore.item(id) }

    func list(_ query: SecretQuery) throws(StoreRefusal) -> [ListedSecret] { try SecretStore.list(query) }

    func list(_ query: SecretQuery, atMost limit: Int) throws(StoreRefusal) -> [ListedSecret] {
        try SecretStore.list(query, atMost: limit)
    }

    func watch() -> any NewsSource { SecretWatch() }
}

import CLinuxShims
import SecretItems
import SecretMemory
import Synchronization
import UnixSocket

@testable import SecretService

/// What the played store does in the name of one process.
final class PlayedClient: ClientStore {
    private struct Proofs {
        /// What was proved counts for everything but what was locked since.
        var isProved = false
        var forgotten: Set<ProofScope> = []

        func count(for scope: ProofScope) -> Bool {
            isProved && !forgotten.contains(scope) && !forgotten.contains(.collection(Self.collection(of: scope)))
        }

        mutating func add(for scope: ProofScope) {
            isProved = true
            forgotten.remove(scope)
            if case .item(_, let collection) = scope { forgotten.remove(.collection(collection)) }
        }

        private static func collection(of scope: ProofScope) -> String {
            switch scope {
            case .item(_, let collection), .collection(let collection): collection
            }
        }
    }

    let store: PlayedStore
    let processID: Int32
    private let real: SecretClient
    private let proofs = Mutex(Proofs())

    init(_ store: PlayedStore, of real: SecretClient, _ processID: Int32) {
        (self.store, self.real, self.processID) = (store, real, processID)
    }

    var isAlive: Bool { real.isAlive }

    func begin() throws(StoreRefusal) { store.noteBegin(processID) }
    func rest() { proofs.withLock { $0 = Proofs() } }
    func leave() { rest() }
    func forgetProofs(of scope: ProofScope) { _ = proofs.withLock { $0.forgotten.insert(scope) } }
    func leaveProofs(ofCollection name: String) {}
    func isSystemProgram(named name: String) -> Bool { store.systemProgram(of: processID) == name }

    func list(_ query: SecretQuery) throws(StoreRefusal) -> [ListedSecret] {
        store.list { PlayedStore.fits($0, query) }
    }

    func read(
        _ id: SecretID, in collection: String, asking question: SecretQuestion?
    ) throws(StoreRefusal) -> OpenedSecret {
        let row = try permitted(id)
        guard row.contents.collection == collection else { throw .notFound }
        try open(asking: question)
        try prove([row], asking: question)
        return OpenedSecret(
            row.secret ?? HeldSecret(SecretBytes(zeroed: 0)), contentType: row.contents.contentType,
            isForSomePrograms: row.readers != nil)
    }

    func readTogether(
        _ items: [(id: SecretID, collection: String)], asking question: SecretQuestion
    ) throws(StoreRefusal) -> [SecretID: HeldSecret] {
        var (read, rows): ([SecretID: HeldSecret], [PlayedStore.Row]) = ([:], [])
        for item in items {
            let row = try permitted(item.id)
            read[item.id] = row.secret
            rows.append(row)
        }
        try prove(rows, asking: question)
        return read
    }

    private func permitted(_ id: SecretID) throws(StoreRefusal) -> PlayedStore.Row {
        let row = try store.row(id)
        guard row.readers.map({ $0.contains(processID) }) ?? true else {
            throw .notPermitted("The item is for other programs.")
        }
        return row
    }

    /// Has the person prove the rules of rows, with one question.
    private func prove(_ rows: [PlayedStore.Row], asking question: SecretQuestion?) throws(StoreRefusal) {
        let scopes = rows.filter(\.isRuled).map(Self.scope)
        guard proofs.withLock({ proofs in !scopes.allSatisfy { proofs.count(for: $0) } }) else { return }
        guard let question else { throw .needsQuestion }
        try store.ask(question, processID)
        proofs.withLock { proofs in
            for scope in scopes { proofs.add(for: scope) }
        }
    }

    private static func scope(of row: PlayedStore.Row) -> ProofScope {
        row.contents.kind == .item
            ? .item(row.id, in: row.contents.collection) : .collection(row.id.description)
    }

    private func open(asking question: SecretQuestion?) throws(StoreRefusal) {
        guard !store.isOpen else { return }
        guard let question else { throw .locked }
        try openStore(asking: question)
    }

    func add(_ new: NewSecret, asking question: SecretQuestion?) throws(StoreRefusal) -> SecretID {
        try open(asking: question)
        return store.add(new)
    }

    func change(
        _ query: SecretQuery, to change: SecretChange, asking question: SecretQuestion?
    ) throws(StoreRefusal) {
        if let id = query.id { _ = try permitted(id) }
        try open(asking: question)
        try prove(store.rows.filter { PlayedStore.fits($0, query) }, asking: question)
        try store.update(query, change)
    }

    func delete(_ queries: [SecretQuery], asking question: SecretQuestion?) throws(StoreRefusal) {
        for id in queries.compactMap(\.id) { _ = try permitted(id) }
        try prove(store.rows.filter { row in queries.contains { PlayedStore.fits(row, $0) } }, asking: question)
        try store.delete(queries)
    }

    func openStore(asking question: SecretQuestion) throws(StoreRefusal) {
        guard !store.isOpen else { return }
        try store.ask(question, processID)
        store.setOpen(true)
    }

    func proveOwner(asking question: SecretQuestion) throws(StoreRefusal) {
        guard store.hasPasscode else { throw .nothingToProve }
        try store.ask(question, processID)
    }

    func proveRule(of item: ListedSecret, asking question: SecretQuestion) throws(StoreRefusal) {
        try prove([store.row(item.id)], asking: question)
    }
}

enum ProcessNumber {
    static func of(_ process: SharedDescriptor) -> Int32 { ostiary_process_of(process.number) }

    /// A pidfd of a process.
    static func hold(_ process: Int32) throws -> CInt {
        let number = ostiary_open_process(process)
        guard number >= 0 else { throw SystemCallError("pidfd_open") }
        return number
    }
}

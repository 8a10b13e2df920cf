import MessageBus
import SecretItems
import SecretMemory
import Synchronization

/// The items of the collection `session`: they lie in this process alone, their secrets in locked memory, and end with it.
///
/// Every program of the session that may call the service reads them, as it does in other keyrings. What a program makes or changes counts
/// to its share.
struct MemoryItems: Sendable {
    private struct Entry: Sendable {
        var contents: SecretContents
        var secret: HeldSecret
        /// To whose share the item counts, and its secret.
        let maker: Holder
        var writer: Holder
    }

    private struct State: Sendable {
        var entries: [SecretID: Entry] = [:]
        /// Oldest first.
        var order: [SecretID] = []
        var items = Holdings(ServiceLimits.memoryItems)
        var bytes = Holdings(ServiceLimits.memoryBytes)
        var modified: UInt64
    }

    private final class Kept: Sendable {
        let state: Mutex<State>

        init(_ state: consuming State) { self.state = Mutex(state) }
    }

    let created: UInt64
    private let now: @Sendable () -> UInt64
    private let kept: Kept
    private let holder: Holder

    /// - Parameter now: the time in seconds since 1970.
    init(now: @escaping @Sendable () -> UInt64) {
        let created = now()
        self.init(now, created, Kept(State(modified: created)), Holder(ofProgram: nil))
    }

    private init(_ now: @escaping @Sendable () -> UInt64, _ created: UInt64, _ kept: Kept, _ holder: Holder) {
        (self.now, self.created, self.kept, self.holder) = (now, created, kept, holder)
    }

    /// The same items, as a program makes and changes them.
    func share(of program: CallerFile?) -> MemoryItems { MemoryItems(now, created, kept, Holder(ofProgram: program)) }

    var modified: UInt64 { kept.state.withLock { $0.modified } }

    /// The items that have all of these attributes, oldest first.
    func list(_ attributes: [String: String] = [:]) -> [ListedSecret] {
        kept.state.withLock { state in
            state.order.compactMap { id in
                guard let entry = state.entries[id], Attributes.are(attributes, among: entry.contents.attributes) else {
                    return nil
                }
                return ListedSecret(id: id, contents: entry.contents)
            }
        }
    }

    func item(_ id: SecretID) throws(StoreRefusal) -> ListedSecret {
        guard let entry = kept.state.withLock({ $0.entries[id] }) else { throw .notFound }
        return ListedSecret(id: id, contents: entry.contents)
    }

    func read(_ id: SecretID) throws(StoreRefusal) -> OpenedSecret {
        guard let entry = kept.state.withLock({ $0.entries[id] }) else { throw .notFound }
        return OpenedSecret(entry.secret, contentType: entry.contents.contentType)
    }

    /// - Throws: `tooMuch`.
    func add(
        label: String, attributes: [String: String], contentType: String, _ secret: HeldSecret
    ) throws(StoreRefusal) -> SecretID {
        let (id, time) = (SecretID.random(), now())
        let contents = SecretContents(
            collection: CollectionName.session.text, label: label, contentType: contentType, attributes: attributes,
            created: time, modified: time)
        try kept.state.withLock { (state) throws(StoreRefusal) in
            try Self.taking("items in the collection session") { () throws(ReachedLimit) in
                try state.items.take(for: holder)
            }
            do throws(StoreRefusal) { try take(secret, in: &state) } catch {
                state.items.giveBack(of: holder)
                throw error
            }
            state.entries[id] = Entry(contents: contents, secret: secret, maker: holder, writer: holder)
            state.order.append(id)
            state.modified = time
        }
        return id
    }

    func change(_ id: SecretID, to change: SecretChange) throws(StoreRefusal) {
        let time = now()
        try kept.state.withLock { (state) throws(StoreRefusal) in
            guard var entry = state.entries[id] else { throw .notFound }
            if let secret = change.secret {
                // The former one counts no more, also where both are the program's own.
                state.bytes.giveBack(entry.secret.bytes.count, of: entry.writer)
                do throws(StoreRefusal) { try take(secret, in: &state) } catch {
                    state.bytes.add(entry.secret.bytes.count, to: entry.writer)
                    throw error
                }
                (entry.secret, entry.writer) = (secret, holder)
            }
            entry.contents.label = change.label ?? entry.contents.label
            entry.contents.attributes = change.attributes ?? entry.contents.attributes
            entry.contents.contentType = change.contentType ?? entry.contents.contentType
            entry.contents.modified = time
            state.entries[id] = entry
            state.modified = time
        }
    }

    func remove(_ id: SecretID) throws(StoreRefusal) {
        let time = now()
        try kept.state.withLock { (state) throws(StoreRefusal) in
            guard let entry = state.entries.removeValue(forKey: id) else { throw .notFound }
            state.order.removeAll { $0 == id }
            state.items.giveBack(of: entry.maker)
            state.bytes.giveBack(entry.secret.bytes.count, of: entry.writer)
            state.modified = time
        }
    }

    private func take(_ secret: HeldSecret, in state: inout State) throws(StoreRefusal) {
        try Self.taking("bytes of secrets in the collection session, or would have them,") {
            () throws(ReachedLimit) in
            try state.bytes.take(secret.bytes.count, for: holder)
        }
    }

    private static func taking(_ things: String, _ take: () throws(ReachedLimit) -> Void) throws(StoreRefusal) {
        do throws(ReachedLimit) { try take() } catch {
            throw .tooMuch(error.words(things) + " Delete some, or use another collection.")
        }
    }
}

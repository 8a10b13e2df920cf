import DetachedThreads
import Glibc
import SecretItems
import Synchronization

/// Tells programs of changes: of those that they make through the service, at once, and of those that others make in the store, and of
/// locks, as the daemon tells them.
final class Announcer: Sendable {
    private struct State {
        /// Changes of this service that the daemon will tell, too; they were told already. The oldest is forgotten first.
        var own: [(id: SecretID, time: ContinuousClock.Instant)] = []
        /// Collections whose list of items is to be told.
        var listed: Set<CollectionName> = []
        /// Whether a thread tells lists, or waits until it may tell the next ones.
        var isListing = false
    }

    /// The seconds between two lists. A list of a thousand items takes the daemon as long as making fifty, and programs hear of each item
    /// by a signal of its own.
    static let listPause: UInt32 = 1
    /// The daemon tells a change within a second as a rule. It may also tell one before it is noted here, and what is noted then must not
    /// keep a later change by others from programs.
    static let ownChangeMemory = Duration.seconds(10)
    /// A list is read from messages of the daemon.
    private static let stackByteCount = 512 * 1024

    private let bus: BusLink
    private let source: any SecretSource
    private let memory: MemoryItems
    private let locks: LockStates
    /// Has something done later, on a thread that may block.
    private let later: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let pause: UInt32
    private let ownChangeMemory: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - pause: the seconds between two lists of a collection's items.
    ///   - ownChangeMemory: for how long a change of this service's own is expected from the daemon.
    init(
        _ bus: BusLink, _ source: any SecretSource, _ memory: MemoryItems, _ locks: LockStates,
        pause: UInt32 = Announcer.listPause, ownChangeMemory: Duration = Announcer.ownChangeMemory,
        later: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        (self.bus, self.source, self.memory, self.locks) = (bus, source, memory, locks)
        (self.pause, self.ownChangeMemory, self.later) = (pause, ownChangeMemory, later)
    }

    // MARK: changes that programs make here

    func itemChanged(_ id: SecretID, in name: CollectionName, _ change: SecretNews.Change) {
        note(id, in: name)
        tellItem(id, in: name, change)
    }

    func collectionChanged(_ name: CollectionName, _ change: SecretNews.Change) {
        if case .made(let id) = name { note(id, in: name) }
        tellCollection(name, change)
    }

    private func note(_ id: SecretID, in name: CollectionName) {
        guard name != .session else { return }
        state.withLock { state in
            if state.own.count == ServiceLimits.ownChangeCount { state.own.removeFirst() }
            state.own.append((id, .now))
        }
    }

    private func isOwn(_ id: SecretID) -> Bool {
        state.withLock { state in
            let now = ContinuousClock.now
            state.own.removeAll { $0.time.duration(to: now) >= ownChangeMemory }
            guard state.own.contains(where: { $0.id == id }) else { return false }
            state.own.removeAll { $0.id == id }
            return true
        }
    }

    /// A program locked or unlocked something here.
    func lockChanged(_ object: ServedPath, isLocked: Bool) {
        switch object {
        case .collection(let name): tellLock(of: name, isLocked: isLocked)
        case .item(let id, let name):
            bus.announce(SecretInterface.item, at: object.text, ["Locked": .flag(isLocked)])
            tellItem(id, in: name, .changed)
        default: break
        }
    }

    // MARK: what the daemon tells

    /// The store was opened, or a lock or changes of others were heard of.
    func tell(_ news: SecretNews, lockChanged: Bool) {
        if lockChanged || news.wasLocked { tellLocks() }
        var isPartial = news.looksAgain
        for (id, change) in news.changes where !isOwn(id) {
            if !tellForeign(id, change) { isPartial = true }
        }
        // Once for all: with a collection very many items may go.
        if isPartial { tellAllChanged() }
    }

    /// False for a change of which it is not known where it was.
    private func tellForeign(_ id: SecretID, _ change: SecretNews.Change) -> Bool {
        // What was removed does not say that.
        guard change != .removed, let contents = contents(of: id) else { return false }
        switch contents.kind {
        case .item:
            // The portal's items are in no collection.
            if let name = CollectionName(contents.collection) { tellItem(id, in: name, change) }
        case .collection:
            let isLogin = contents.collection == CollectionName.login.text
            tellCollection(isLogin ? .login : .made(id), isLogin ? .changed : change)
        }
        return true
    }

    private func contents(of id: SecretID) -> SecretContents? {
        // Programs that are not told look when they need it.
        do throws(StoreRefusal) { return try source.item(id)?.contents } catch { return nil }
    }

    private func tellLocks() {
        for name in collections() where name != .session { tellLock(of: name, isLocked: locks.isLocked(name)) }
    }

    private func tellAllChanged() {
        for name in collections() where name != .session { tellCollection(name, .changed) }
    }

    /// While the daemon does not answer, only those that are always there.
    private func collections() -> [CollectionName] {
        do throws(StoreRefusal) {
            let ofLogin = Set(
                try source.list(SecretQuery(.collection, collection: CollectionName.login.text)).map(\.id))
            let made = try source.list(SecretQuery(.collection)).filter { !ofLogin.contains($0.id) }
            return [.login, .session] + made.map { .made($0.id) }
        } catch { return [.login, .session] }
    }

    // MARK: signals

    private func tellItem(_ id: SecretID, in name: CollectionName, _ change: SecretNews.Change) {
        let member =
            switch change {
            case .added: "ItemCreated"
            case .changed: "ItemChanged"
            case .removed: "ItemDeleted"
            }
        bus.emit(
            member, of: SecretInterface.collection, at: ServedPath.collection(name).text,
            about: ServedPath.item(id, in: name).text)
        if change != .changed { tellItemsLater(of: name) }
    }

    private func tellCollection(_ name: CollectionName, _ change: SecretNews.Change) {
        let member =
            switch change {
            case .added: "CollectionCreated"
            case .changed: "CollectionChanged"
            case .removed: "CollectionDeleted"
            }
        bus.emit(
            member, of: SecretInterface.service, at: ServedPath.root, about: ServedPath.collection(name).text)
        guard change != .changed else { return }
        later { [self] in
            let paths = collections().map { ServedPath.collection($0).text }
            bus.announce(SecretInterface.service, at: ServedPath.root, ["Collections": .paths(paths)])
        }
    }

    private func tellLock(of name: CollectionName, isLocked: Bool) {
        bus.announce(
            SecretInterface.collection, at: ServedPath.collection(name).text, ["Locked": .flag(isLocked)])
        tellCollection(name, .changed)
    }

    // MARK: lists of items

    /// Programs keep the list of a collection's items, and look at it when it changes. A single change is told at once, and changes in
    /// quick succession together, on a thread of their own: neither programs nor their calls wait for that.
    private func tellItemsLater(of name: CollectionName) {
        let isFirst = state.withLock { state in
            state.listed.insert(name)
            defer { state.isListing = true }
            return !state.isListing
        }
        guard isFirst else { return }
        let isStarted = DetachedThread.start(stackByteCount: Self.stackByteCount) { [weak self, pause] in
            while self?.tellListed() == true { sleep(pause) }
        }
        // Without a thread nobody is told; programs look when they need it.
        if !isStarted { state.withLock { ($0.listed, $0.isListing) = ([], false) } }
    }

    /// - Returns: whether there was one to tell.
    private func tellListed() -> Bool {
        let names = state.withLock { state in
            defer { state.listed = [] }
            state.isListing = !state.listed.isEmpty
            return state.listed
        }
        for name in names { tellItems(of: name) }
        return !names.isEmpty
    }

    private func tellItems(of name: CollectionName) {
        let path = ServedPath.collection(name).text
        let items: [ListedSecret]
        do throws(StoreRefusal) {
            let count = ServiceLimits.announcedItemCount + 1
            items =
                name == .session ? memory.list() : try source.list(SecretQuery(collection: name.text), atMost: count)
        } catch { return }
        guard items.count <= ServiceLimits.announcedItemCount else {
            return bus.announce(SecretInterface.collection, at: path, [:], invalidated: ["Items"])
        }
        let paths = items.map { ServedPath.item($0.id, in: name).text }
        bus.announce(SecretInterface.collection, at: path, ["Items": .paths(paths)])
    }
}

import MessageBus
import SecretItems
import Synchronization

/// What programs locked here, beside the store's own lock.
///
/// A program can lock a collection or an item by the Secret Service. That does not lock the owner's store: any program of the session may
/// call it, and would make every other program ask for the passcode.
struct DoorLocks: Equatable, Sendable {
    private(set) var collections: Set<CollectionName> = []
    private(set) var items: Set<SecretID> = []
    /// To whose share each locked item counts.
    private var lockers: [SecretID: Holder] = [:]
    private var held = Holdings(ServiceLimits.lockedItems)

    var isEmpty: Bool { collections.isEmpty && items.isEmpty }

    /// False for the collection in memory: nothing could be asked for to open it again.
    mutating func lock(_ name: CollectionName) -> Bool {
        guard name != .session else { return false }
        collections.insert(name)
        return true
    }

    /// False for an item in memory, and when as many are locked already as can be, by this program or by all.
    mutating func lock(_ id: SecretID, in name: CollectionName, by program: CallerFile? = nil) -> Bool {
        guard name != .session else { return false }
        guard !items.contains(id) else { return true }
        let locker = Holder(ofProgram: program)
        do throws(ReachedLimit) { try held.take(for: locker) } catch { return false }
        items.insert(id)
        lockers[id] = locker
        return true
    }

    mutating func unlock(_ name: CollectionName) { collections.remove(name) }

    mutating func unlock(_ id: SecretID) {
        items.remove(id)
        if let locker = lockers.removeValue(forKey: id) { held.giveBack(of: locker) }
    }
}

/// The locks of the store and of this service.
struct LockStates: Sendable {
    private struct State {
        var isStoreOpen = false
        var door = DoorLocks()
    }

    private final class Kept: Sendable {
        let state = Mutex(State())
    }

    private let kept: Kept
    /// To whose share items count that are locked here.
    let program: CallerFile?

    init() { self.init(Kept(), nil) }

    private init(_ kept: Kept, _ program: CallerFile?) { (self.kept, self.program) = (kept, program) }

    /// The same locks, as a program changes them.
    func share(of program: CallerFile?) -> LockStates { LockStates(kept, program) }

    /// Whether the store is open, as far as it was heard of. A call that needs the store finds out by itself.
    var isStoreOpen: Bool { kept.state.withLock { $0.isStoreOpen } }

    /// Returns whether that is another state than before.
    @discardableResult
    func note(isStoreOpen: Bool) -> Bool {
        kept.state.withLock { state in
            defer { state.isStoreOpen = isStoreOpen }
            return state.isStoreOpen != isStoreOpen
        }
    }

    var door: DoorLocks { kept.state.withLock { $0.door } }

    func change<Result: Sendable>(_ body: (inout DoorLocks) -> Result) -> Result {
        kept.state.withLock { body(&$0.door) }
    }

    /// Whether the collection is locked. The one in memory never is.
    func isLocked(_ name: CollectionName) -> Bool {
        guard name != .session else { return false }
        return kept.state.withLock { !$0.isStoreOpen || $0.door.collections.contains(name) }
    }

    /// Whether the item counts as locked. One with a rule does not: it asks when its secret is read.
    func isLocked(_ item: ListedSecret, in name: CollectionName) -> Bool {
        guard name != .session else { return false }
        return item.lock == .storeLocked
            || kept.state.withLock { $0.door.collections.contains(name) || $0.door.items.contains(item.id) }
    }
}

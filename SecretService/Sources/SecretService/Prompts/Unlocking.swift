import MessageBus
import SecretItems
import Synchronization

/// An object that a program wants to have unlocked, or locked. It may wait for the person for long, with many others: so it is a name alone,
/// and nothing of what the object holds.
struct LockTarget: Sendable {
    /// As the program gave it: programs look for their own paths in the answer.
    let path: String
    let object: Object
    /// Whether the store showed nothing of the object: programs read empty labels and attributes then.
    let isHidden: Bool
    /// Whether it was locked when it was looked up.
    let isLocked: Bool

    enum Object: Sendable {
        case collection(CollectionName)
        case item(SecretID, in: CollectionName)
    }

    /// Where it is, without further names.
    var place: ServedPath {
        switch object {
        case .collection(let name): .collection(name)
        case .item(let id, let name): .item(id, in: name)
        }
    }

    var collection: CollectionName {
        switch object {
        case .collection(let name), .item(_, let name): name
        }
    }

    /// What it costs in memory.
    var byteCount: Int { path.utf8.count + 128 }
}

/// The look at the objects that a program names. Paths of nothing are passed over. Each costs requests to the daemon, so only some are looked
/// at in one turn.
struct TargetSearch: Sendable {
    private let view: Keyring
    private let isWhole: Bool
    private var paths: ArraySlice<String>
    private(set) var targets: [LockTarget] = []
    /// That of the first locked one, for the question.
    private(set) var label: String?

    /// - Parameter isWhole: whether the path of the service itself stands for all collections.
    init(_ paths: [String], _ view: Keyring, isWhole: Bool = false) {
        (self.paths, self.view, self.isWhole) = (paths[...], view, isWhole)
    }

    /// Looks at some of the objects; returns whether that were the last ones.
    mutating func advance(_ count: Int = ServiceLimits.requestsOfTurn) throws(StoreRefusal) -> Bool {
        for path in paths.prefix(count) {
            do throws(StoreRefusal) { try look(at: path) } catch { guard error == .notFound else { throw error } }
        }
        paths = paths.dropFirst(count)
        return paths.isEmpty
    }

    private mutating func look(at path: String) throws(StoreRefusal) {
        switch ServedPath(path) {
        case .service where isWhole:
            for collection in try view.collections() {
                add(collection, at: ServedPath.collection(collection.name).text)
            }
        case .collection(let name): add(try view.collection(name), at: path)
        case .alias(let alias):
            guard let name = try view.collection(called: alias) else { return }
            add(try view.collection(name), at: path)
        case .item(let id, let name):
            let placed = PlacedItem(item: try view.item(id, in: name), collection: name)
            add(
                LockTarget(
                    path: path, object: .item(id, in: name), isHidden: placed.item.contents == nil,
                    isLocked: view.isLocked(placed)), label: placed.item.contents?.label)
        default: return
        }
    }

    private mutating func add(_ collection: KeptCollection, at path: String) {
        add(
            LockTarget(
                path: path, object: .collection(collection.name),
                isHidden: collection.row.map { $0.contents == nil } ?? false,
                isLocked: view.locks.isLocked(collection.name)), label: collection.label)
    }

    private mutating func add(_ target: LockTarget, label: String?) {
        if target.isLocked, !targets.contains(where: \.isLocked) { self.label = label }
        targets.append(target)
    }
}

extension Keyring {
    func isLocked(_ target: LockTarget) -> Bool {
        switch target.object {
        case .collection(let name): locks.isLocked(name)
        case .item(let id, let name): locks.isLocked(name) || locks.door.items.contains(id)
        }
    }

    /// Has the person open these objects: with one proof for all.
    ///
    /// The passcode that opens the store proves the owner, too. For a single item with a rule its own proof is asked for, so that reading
    /// it asks no second time.
    func unlock(_ targets: [LockTarget], asking question: SecretQuestion) throws(StoreRefusal) {
        if !locks.isStoreOpen {
            try store.openStore(asking: question)
        } else if let item = try soleRuledItem(targets) {
            try store.proveRule(of: item, asking: question)
        } else if targets.contains(where: isLocked) {
            try proveOwner(asking: question)
        }
        for target in targets { unlock(target) }
    }

    private func soleRuledItem(_ targets: [LockTarget]) throws(StoreRefusal) -> ListedSecret? {
        guard targets.count == 1, case .item(let id, let name)? = targets.first?.object, !locks.isLocked(name) else {
            return nil
        }
        let item = try item(id, in: name)
        return item.lock == .ruled ? item : nil
    }

    /// An item of a locked collection is opened with the collection.
    private func unlock(_ target: LockTarget) {
        locks.change { door in
            door.unlock(target.collection)
            if case .item(let id, _) = target.object { door.unlock(id) }
        }
    }

    /// Locks an object here; false if it cannot be locked.
    func lock(_ target: LockTarget) -> Bool {
        locks.change { door in
            switch target.object {
            case .collection(let name): door.lock(name)
            case .item(let id, let name): door.lock(id, in: name, by: locks.program)
            }
        }
    }
}

extension SecretService {
    /// Looks the objects up, and does something with them then.
    private func find(
        _ search: TargetSearch, then work: @escaping @Sendable (TargetSearch) throws(BusFault) -> Void
    ) -> TurnStep {
        TurnStep { [self] () throws(BusFault) in
            var search = search
            let isDone = try BusFault.catching { () throws(StoreRefusal) in try search.advance() }
            guard isDone else { return find(search, then: work) }
            try work(search)
            return nil
        }
    }

    var unlock: ServedMethod {
        methodInTurns(
            "Unlock", "ao", returns: "aoo",
            reading: { (arguments) throws(BusFault) -> [String] in try arguments.readObjectPaths() },
            { [self] (call, client, paths) throws(BusFault) in
                // A lock may not have been heard of yet, and what it closed would count as open.
                noteStoreState()
                let view = keyring(client)
                return try find(TargetSearch(paths, view)) { [self] (found) throws(BusFault) in
                    let unlocked = found.targets.filter { !$0.isLocked }.map(\.path)
                    let locked = found.targets.filter(\.isLocked)
                    let prompt =
                        locked.isEmpty
                        ? ServedPath.noObject
                        : try makePrompt(unlocking(locked, found.label, view, for: call.caller.name), for: call)
                    call.answer { (values) throws(BusFault) in
                        try values.append(objectPaths: unlocked)
                        try values.append(objectPath: prompt)
                    }
                }.run()
            })
    }

    /// - Parameter label: that of the first object.
    private func unlocking(
        _ targets: [LockTarget], _ label: String?, _ view: Keyring, for peer: String
    ) -> PromptWork {
        PromptWork(
            byteCount: targets.reduce(label?.utf8.count ?? 0) { $0 + $1.byteCount },
            run: { [self] (cancellation) throws(StoreRefusal) in
                // Somebody else may have opened the store meanwhile. Then the owner still proves what was locked here.
                noteStoreState()
                let words = SecretWords.unlocking(label: label, count: targets.count)
                let closed = locks.door.collections.intersection(targets.map(\.collection))
                try view.unlock(targets, asking: SecretQuestion(words, cancellation: cancellation))
                noteOpen()
                for target in targets { announcer.lockChanged(target.place, isLocked: false) }
                // With an item its collection.
                for name in closed where !targets.contains(where: { $0.place == .collection(name) }) {
                    announcer.lockChanged(.collection(name), isLocked: false)
                }
                for target in targets where target.isHidden { tellContents(of: target, view, to: peer) }
                return .paths(targets.map(\.path))
            }, nothing: .paths([]))
    }

    /// Tells a program the properties that it read while the store was locked. libsecret reads those of items before it has them unlocked,
    /// and keeps them.
    private func tellContents(of target: LockTarget, _ view: Keyring, to peer: String) {
        do throws(BusFault) {
            switch target.object {
            case .collection(let name):
                let label = try BusFault.catching { () throws(StoreRefusal) in try view.collection(name).label }
                bus.announce(SecretInterface.collection, at: target.path, ["Label": .text(label)], to: peer)
            case .item(let id, let name):
                let place = ItemPlace(id: id, collection: name)
                bus.announce(SecretInterface.item, at: target.path, try properties(of: place, view), to: peer)
            }
        } catch {
            // It was deleted meanwhile, or the store was locked again.
            return
        }
    }

    /// Locks for all programs that use this service. What was proved for the objects is forgotten, of every program, and nothing else.
    var lock: ServedMethod {
        methodInTurns(
            "Lock", "ao", returns: "aoo",
            reading: { (arguments) throws(BusFault) -> [String] in try arguments.readObjectPaths() },
            { [self] (call, client, paths) throws(BusFault) in
                let view = keyring(client)
                return try find(TargetSearch(paths, view, isWhole: true)) { [self] (found) throws(BusFault) in
                    var (locked, seen): ([LockTarget], Set<ServedPath>) = ([], [])
                    for target in found.targets {
                        let wasLocked = view.isLocked(target)
                        guard view.lock(target) else { continue }
                        locked.append(target)
                        guard seen.insert(target.place).inserted else { continue }
                        forgetProofs(of: target)
                        if !wasLocked { announcer.lockChanged(target.place, isLocked: true) }
                    }
                    let paths = locked.map(\.path)
                    call.answer { (values) throws(BusFault) in
                        try values.append(objectPaths: paths)
                        try values.append(objectPath: ServedPath.noObject)
                    }
                }.run()
            })
    }

    private func forgetProofs(of target: LockTarget) {
        let scope: ProofScope =
            switch target.object {
            case .collection(let name): .collection(name.text)
            case .item(let id, let name): .item(id, in: name.text)
            }
        for client in clients.all { client.store.forgetProofs(of: scope) }
    }
}

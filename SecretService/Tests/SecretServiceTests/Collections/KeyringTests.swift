import Cancellations
import Glibc
import SecretItems
import Testing
import UnixSocket

@testable import SecretService

/// Collections and items as one client sees them, in front of a played store.
@Suite(.timeLimit(.minutes(10))) struct KeyringTests {
    private let store = PlayedStore()
    private let locks = LockStates()
    private let keyring: Keyring

    init() throws {
        let process = SharedDescriptor(Descriptor(owning: try Self.pidfd(of: getpid())))
        keyring = Keyring(store: try store.client(process), memory: MemoryItems(now: { 7 }), locks: locks)
        locks.note(isStoreOpen: true)
    }

    private static func pidfd(of process: Int32) throws -> CInt { try ProcessNumber.hold(process) }

    private func make(
        _ attributes: [String: String], replacing: Bool = false, in name: CollectionName = .login
    ) throws -> (id: SecretID, isNew: Bool) {
        try keyring.makeItem(
            Keyring.Wish(
                label: "label", attributes: attributes, contentType: "text/plain",
                secret: ServedSecrets.held("a secret"), replaces: replacing), in: name)
    }

    // MARK: collections

    @Test func `login and session are always there, without any row`() throws {
        #expect(try keyring.collections().map(\.name) == [.login, .session])
        #expect(try keyring.collection(.login).label == "Login")
        #expect(throws: StoreRefusal.notFound) { try keyring.collection(.made(.random())) }
        for name in [CollectionName.login, .session] {
            let refused = #expect(throws: StoreRefusal.self) { try keyring.deleteCollection(name) }
            #expect(refused == .notPermitted(refused?.description ?? ""))
        }
    }

    @Test func `the row of login is made once, when it gets a label`() throws {
        try keyring.setLabel("Mine", of: .login)
        try keyring.setLabel("Yours", of: .login)
        #expect(store.rows.count == 1 && store.rows[0].contents.collection == "login")
        #expect(try keyring.collections().map(\.label) == ["Yours", "Session"])
        #expect(throws: StoreRefusal.self) { try keyring.setLabel("x", of: .session) }
    }

    @Test func `collections that programs make are found by their ids, also in a locked store`() throws {
        let (name, isNew) = try keyring.makeCollection(label: "Work", alias: nil, asking: nil)
        try keyring.setLabel("Mine", of: .login)
        #expect(isNew)
        store.setOpen(false)
        #expect(try keyring.collections().map(\.name) == [.login, .session, name])
        #expect(try keyring.collection(name).label == "")
    }

    @Test func `a collection goes with its items, and others stay`() throws {
        let (name, _) = try keyring.makeCollection(label: "Work", alias: nil, asking: nil)
        let kept = try make(["a": "1"])
        _ = try make(["a": "1"], in: name)
        try keyring.deleteCollection(name)
        #expect(store.rows.map(\.id) == [kept.id])
        #expect(throws: StoreRefusal.notFound) { try keyring.deleteCollection(name) }
        let (empty, _) = try keyring.makeCollection(label: "Empty", alias: nil, asking: nil)
        try keyring.deleteCollection(empty)
        #expect(store.rows.map(\.id) == [kept.id])
    }

    @Test func `so many collections can be made`() throws {
        for _ in 0..<ServiceLimits.collectionCount {
            _ = try keyring.makeCollection(label: "x", alias: nil, asking: nil)
        }
        #expect(throws: StoreRefusal.self) { try keyring.makeCollection(label: "x", alias: nil, asking: nil) }
    }

    // MARK: further names

    @Test func `default leads to login until it is set, and never to nothing`() throws {
        #expect(try keyring.collection(called: .standard) == .login)
        let (name, _) = try keyring.makeCollection(label: "Work", alias: nil, asking: nil)
        try keyring.call(name, .standard)
        #expect(try keyring.collection(called: .standard) == name)
        store.setOpen(false)
        #expect(try keyring.collection(called: .standard) == name, "also in a locked store")
        store.setOpen(true)
        #expect(throws: StoreRefusal.self) { try keyring.call(nil, .standard) }
        #expect(try keyring.collection(called: .standard) == name)
        try keyring.call(.login, .standard)
        #expect(try keyring.collection(called: .standard) == .login)
        try keyring.call(name, .standard)
        try keyring.deleteCollection(name)
        #expect(try keyring.collection(called: .standard) == .login)
    }

    @Test func `a further name leads to one collection, and can be taken away`() throws {
        let alias = try #require(AliasName("work"))
        #expect(try keyring.collection(called: alias) == nil)
        let (one, isNew) = try keyring.makeCollection(label: "One", alias: alias, asking: nil)
        #expect(isNew)
        let again = try keyring.makeCollection(label: "Two", alias: alias, asking: nil)
        #expect(again.name == one && !again.isNew)
        let (other, _) = try keyring.makeCollection(label: "Other", alias: nil, asking: nil)
        try keyring.call(other, alias)
        #expect(try keyring.collection(called: alias) == other)
        #expect(store.rows.count { $0.contents.attributes["alias:work"] != nil } == 1)
        try keyring.call(nil, alias)
        #expect(try keyring.collection(called: alias) == nil)
    }

    @Test func `a collection has so many further names`() throws {
        let names = try (0...ServiceLimits.aliasCount).map { try #require(AliasName("name\($0)")) }
        for name in names.dropLast() { try keyring.call(.login, name) }
        let refused = #expect(throws: StoreRefusal.self) { try keyring.call(.login, names[ServiceLimits.aliasCount]) }
        #expect(refused == .tooMuch(refused?.description ?? ""))
        // One that it has is none more, and one that is taken away makes room.
        try keyring.call(.login, names[0])
        try keyring.call(nil, names[0])
        try keyring.call(.login, names[ServiceLimits.aliasCount])
    }

    @Test func `names that are fixed cannot be set, and the collection in memory gets none`() throws {
        for text in ["login", "session"] {
            let alias = try #require(AliasName(text))
            #expect(throws: StoreRefusal.self) { try keyring.call(.login, alias) }
            #expect(throws: StoreRefusal.self) { try keyring.call(nil, alias) }
        }
        let alias = try #require(AliasName("work"))
        #expect(throws: StoreRefusal.self) { try keyring.call(.session, alias) }
        #expect(store.rows.isEmpty)
    }

    // MARK: items

    @Test func `a replacement compares all attributes`() throws {
        let (part, whole) = (try make(["a": "1"]), try make(["a": "1", "b": "2"]))
        let replaced = try make(["a": "1"], replacing: true)
        #expect(replaced.id == part.id && !replaced.isNew && store.rows.map(\.id) == [part.id, whole.id])
        let added = try make(["b": "2"], replacing: true)
        #expect(added.isNew && store.rows.count == 3)
        #expect(try make(["a": "1"]).isNew, "without it there are two")
    }

    @Test func `a replacement stays within its collection`() throws {
        let (name, _) = try keyring.makeCollection(label: "Work", alias: nil, asking: nil)
        _ = try make(["a": "1"], in: name)
        #expect(try make(["a": "1"], replacing: true).isNew)
        _ = try make(["a": "1"], in: .session)
        #expect(try make(["a": "1"], replacing: true, in: .session).isNew == false)
    }

    @Test func `a search finds items of all collections, and none of the portal's`() throws {
        let (name, _) = try keyring.makeCollection(label: "Work", alias: nil, asking: nil)
        let ids = [try make(["a": "1"]).id, try make(["a": "1"], in: name).id, try make(["a": "1"], in: .session).id]
        _ = store.add(NewSecret(collection: "portal", label: "", attributes: ["a": "1"]))
        #expect(try keyring.items(["a": "1"]).map(\.item.id) == ids)
        store.setOpen(false)
        let locked = try keyring.items(["a": "1"])
        #expect(locked.map(\.item.id) == ids && locked.map(\.collection) == [.login, name, .session])
        #expect(locked.map { keyring.isLocked($0) } == [true, true, false])
    }

    @Test func `nothing is made in a locked store or collection`() throws {
        store.setOpen(false)
        locks.note(isStoreOpen: false)
        #expect(throws: StoreRefusal.locked) { try make(["a": "1"]) }
        store.setOpen(true)
        locks.note(isStoreOpen: true)
        _ = locks.change { $0.lock(.login) }
        #expect(throws: StoreRefusal.locked) { try make(["a": "1"]) }
        #expect(store.rows.isEmpty)
        #expect(try make(["a": "1"], in: .session).isNew)
    }

    /// A row that cannot be seen may have a rule for new items.
    @Test func `no item is made without the rule that its collection gives`() throws {
        let (name, _) = try keyring.makeCollection(label: "Work", alias: nil, asking: nil)
        guard case .made(let row) = name else { return }
        store.change(row) { $0.contents.attributes = ["rule": "passcode"] }
        let made = try make(["a": "1"], in: name)
        #expect(try store.row(made.id).isRuled)
        // The lock came after the service heard of the open store.
        store.setOpen(false)
        #expect(throws: StoreRefusal.locked) { try make(["b": "2"], in: name) }
        #expect(store.rows.count == 2)
    }

    // MARK: locks

    private func question() -> SecretQuestion { SecretQuestion("read", cancellation: Cancellation()) }

    @Test func `an item that was locked alone asks, and its neighbour does not`() throws {
        let (one, other) = (try make(["a": "1"]).id, try make(["a": "2"]).id)
        _ = locks.change { $0.lock(one, in: .login) }
        #expect(throws: StoreRefusal.needsQuestion) { try keyring.read(one, in: .login) }
        _ = try keyring.read(other, in: .login)
        #expect(throws: StoreRefusal.needsQuestion) { try keyring.read(one, in: .login) }
        store.setPasscode(false)
        _ = try keyring.read(one, in: .login, asking: question())
        #expect(locks.door.isEmpty, "who has nothing to prove is not asked")
    }

    @Test func `an item of a locked collection is not read, and nobody is asked`() throws {
        let id = try make(["a": "1"]).id
        _ = locks.change { $0.lock(.login) }
        #expect(throws: StoreRefusal.locked) { try keyring.read(id, in: .login) }
        #expect(throws: StoreRefusal.locked) { try keyring.read(id, in: .login, asking: question()) }
        #expect(throws: StoreRefusal.locked) { try keyring.requireUnlocked(id, in: .login) }
        #expect(store.questions.isEmpty)
    }

    @Test func `an item is read in its own collection alone`() throws {
        let (name, _) = try keyring.makeCollection(label: "Work", alias: nil, asking: nil)
        let id = try make(["a": "1"]).id
        #expect(throws: StoreRefusal.notFound) { try keyring.read(id, in: name) }
        #expect(throws: StoreRefusal.notFound) { try keyring.item(id, in: .session) }
        #expect(throws: StoreRefusal.notFound) { try keyring.deleteItem(id, in: name) }
    }
}

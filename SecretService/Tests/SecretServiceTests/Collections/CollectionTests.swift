import MessageBus
import SecretItems
import SecretMemory
import Testing

@testable import SecretService

@Suite struct DoorLocksTests {
    @Test func `collections and items are locked one by one, and the one in memory never`() {
        var locks = DoorLocks()
        let (id, other) = (SecretID.random(), SecretID.random())
        let first = locks.lock(.login)
        let item = locks.lock(id, in: .login)
        let inMemory = (locks.lock(.session), locks.lock(other, in: .session))
        #expect(first && item && inMemory == (false, false))
        #expect(locks.collections == [.login] && locks.items == [id])
        locks.unlock(.login)
        locks.unlock(other)
        #expect(locks.collections.isEmpty && locks.items == [id])
        locks.unlock(id)
        #expect(locks.isEmpty)
    }

    @Test func `so many items are locked one by one`() {
        var locks = DoorLocks()
        let programs = (1...5).map { CallerFile(device: 0, inode: $0) }
        let ids = (0..<1024).map { _ in SecretID.random() }
        let areLocked = ids.map { locks.lock($0, in: .login, by: programs[0]) }
        #expect(areLocked.allSatisfy { $0 })
        let isMoreLocked = locks.lock(.random(), in: .login, by: programs[0])
        let isLockedAgain = locks.lock(ids[0], in: .login, by: programs[0])
        #expect(!isMoreLocked && isLockedAgain)
        for program in programs[1...3] {
            let areLocked = (0..<1024).map { _ in locks.lock(.random(), in: .login, by: program) }
            #expect(areLocked.allSatisfy { $0 }, "others have shares of their own")
        }
        let isOfFifth = locks.lock(.random(), in: .login, by: programs[4])
        #expect(!isOfFifth)
        locks.unlock(ids[0])
        let isAfterUnlock = locks.lock(.random(), in: .login, by: programs[0])
        #expect(isAfterUnlock)
    }

    @Test func `what is locked depends on the store, the collection and the item`() {
        let locks = LockStates()
        let open = ListedSecret(id: .random(), contents: SecretContents(collection: "login"))
        let ruled = ListedSecret(id: .random(), lock: .ruled, contents: SecretContents(collection: "login"))
        let closed = ListedSecret(id: .random(), lock: .storeLocked, contents: nil)
        #expect(locks.isLocked(.login) && !locks.isLocked(.session), "nothing is known of the store yet")
        locks.note(isStoreOpen: true)
        #expect(!locks.isLocked(.login))
        #expect(!locks.isLocked(open, in: .login) && locks.isLocked(closed, in: .login))
        #expect(!locks.isLocked(ruled, in: .login), "it asks when it is read")
        _ = locks.change { $0.lock(open.id, in: .login) }
        #expect(locks.isLocked(open, in: .login) && !locks.isLocked(ruled, in: .login) && !locks.isLocked(.login))
        _ = locks.change { $0.lock(.login) }
        #expect(locks.isLocked(ruled, in: .login) && locks.isLocked(.login))
        #expect(!locks.isLocked(ruled, in: .made(.random())))
    }
}

@Suite struct MemoryItemsTests {
    private let items = MemoryItems(now: { 7 })

    private static func full(_ words: String) -> String {
        words + " items in the collection session already. Delete some, or use another collection."
    }

    private func add(
        _ attributes: [String: String] = [:], _ secret: String = "a secret", by program: UInt64? = nil
    ) throws(StoreRefusal) -> SecretID {
        try items.share(of: program.map { CallerFile(device: 0, inode: $0) }).add(
            label: "label", attributes: attributes, contentType: "text/plain", ServedSecrets.held(secret))
    }

    @Test func `items are found, read, changed and removed`() throws {
        let (one, other) = (try add(["a": "1"]), try add(["a": "1", "b": "2"]))
        #expect(items.list(["a": "1"]).map(\.id) == [one, other] && items.list(["b": "2"]).map(\.id) == [other])
        #expect(try items.read(one).secret.bytes.count == 8)
        try items.change(one, to: SecretChange(label: "new", attributes: [:], secret: ServedSecrets.held("")))
        let changed = try items.item(one)
        #expect(changed.contents?.label == "new" && changed.contents?.attributes == [:])
        #expect(changed.contents?.contentType == "text/plain" && changed.contents?.created == 7)
        #expect(try items.read(one).secret.bytes.count == 0)
        try items.remove(one)
        #expect(items.list().map(\.id) == [other])
        #expect(throws: StoreRefusal.notFound) { try items.remove(one) }
        #expect(throws: StoreRefusal.notFound) { try items.read(one) }
        #expect(throws: StoreRefusal.notFound) { try items.change(one, to: SecretChange()) }
    }

    @Test func `so many items fit`() throws {
        for program in 1...4 { for _ in 0..<256 { _ = try add(by: UInt64(program)) } }
        #expect(throws: StoreRefusal.tooMuch(Self.full("All programs together have 1024"))) { try add(by: 5) }
    }

    @Test func `one program does not fill it`() throws {
        let first = try add(by: 1)
        for _ in 1..<256 { _ = try add(by: 1) }
        #expect(throws: StoreRefusal.tooMuch(Self.full("The processes of this program have 256"))) { try add(by: 1) }
        _ = try add(by: 2)
        try items.share(of: CallerFile(device: 0, inode: 2)).remove(first)
        _ = try add(by: 1)
        #expect(throws: StoreRefusal.self) { try add(by: 1) }
    }

    @Test func `so many bytes of secrets fit, also when one is changed`() throws {
        let half = String(repeating: "x", count: 256 << 10)
        let (one, other) = (try add([:], half), try add([:], half))
        #expect(throws: StoreRefusal.self) { try add([:], "x") }
        #expect(throws: StoreRefusal.self) {
            try items.change(one, to: SecretChange(secret: ServedSecrets.held(half + "x")))
        }
        #expect(try items.read(one).secret.bytes.count == half.utf8.count, "the former secret stays")
        try items.change(other, to: SecretChange(secret: ServedSecrets.held("")))
        _ = try add([:], half)
        #expect(throws: StoreRefusal.self) { try add([:], "x") }
        _ = try add([:], half, by: 1)
        // What a program writes into another one's item counts to its own share.
        try items.share(of: CallerFile(device: 0, inode: 1)).change(
            one, to: SecretChange(secret: ServedSecrets.held(half)))
        #expect(throws: StoreRefusal.self) { try add([:], "x", by: 1) }
        _ = try add([:], half)
    }
}

import ExactNames
import Foundation
import GRDB
import StoreTestSupport
import Synchronization
import Testing

@testable import Vault

@Suite("Changes of several threads")
struct SharedCommitTests {
    let fixture: GatheringFixture

    init() throws { fixture = try GatheringFixture() }

    private func item(_ number: UInt64) -> ItemRecord { ItemFixture.item(number, owner: fixture.owner) }

    private func storedIDs(in vault: Vault? = nil) throws -> Set<VaultID> {
        try (vault ?? fixture.vault).read { Set(try $0.itemIDs(owner: fixture.owner)) }
    }

    /// Errors of the vault, nil for a change that was made.
    private func errors(_ results: [Result<Void, any Error>]) -> [VaultError?] {
        results.map { result in
            do {
                try result.get()
                return nil
            } catch { return error as? VaultError ?? .io(code: -1) }
        }
    }

    // MARK: sharing

    @Test func `what gathers while a commit runs is one commit`() throws {
        let generation = fixture.vault.storeGeneration
        let items = (0..<8).map { item(UInt64($0)) }
        let results = fixture.gather(8) { number in { try $0.insertItem(items[number]) } }
        #expect(errors(results) == Array(repeating: nil, count: 8))
        // The one that the others gathered behind, and theirs.
        #expect(fixture.vault.storeGeneration == generation + 2)
        #expect(try storedIDs() == Set(items.map(\.id)))
        #expect(try storedIDs(in: fixture.reopened()) == Set(items.map(\.id)))
    }

    @Test func `one writer alone commits each change by itself`() throws {
        let generation = fixture.vault.storeGeneration
        for number in 1...5 as ClosedRange<UInt64> {
            try fixture.vault.write("") { try $0.insertItem(item(number)) }
            #expect(fixture.vault.storeGeneration == generation + number)
        }
    }

    @Test func `each change sees those before it`() throws {
        let results = fixture.gather(8) { _ in { try $0.insertItem(item(1)) } }
        #expect(errors(results).count { $0 == nil } == 1)
        #expect(errors(results).count { $0 == .duplicate } == 7)
        #expect(try storedIDs().count == 1)
    }

    @Test func `nobody is answered before the commit of the change, or of the reason to refuse it`() throws {
        let threads = Threads<Void>()
        fixture.pause.hold("held")
        threads.start { try fixture.vault.write("first") { _ in } }
        fixture.pause.waitUntilHolding("first")
        for _ in 0..<4 { threads.start { try fixture.vault.write("held") { try $0.insertItem(item(1)) } } }
        fixture.waitForWriters(4)
        fixture.pause.release("first")
        fixture.pause.waitUntilHolding("held")
        // One of them made the change, and three know that its name is taken.
        usleep(50_000)
        #expect(threads.doneCount == 1)
        fixture.pause.release("held")
        #expect(errors(threads.wait()).count { $0 == .duplicate } == 3)
    }

    // MARK: a change that fails

    private struct Refused: Error {}

    @Test(arguments: 0..<3) func `a change that throws is undone alone`(thrower: Int) throws {
        let items = (0..<3).map { item(UInt64($0)) }
        let results = fixture.gather(3) { number in
            { writer in
                try writer.insertItem(items[number])
                if number == thrower { throw Refused() }
            }
        }
        for (number, result) in results.enumerated() {
            if number == thrower {
                #expect(throws: Refused.self) { try result.get() }
            } else {
                try result.get()
            }
        }
        let expected = Set(items.map(\.id)).subtracting([items[thrower].id])
        #expect(try storedIDs() == expected)
        #expect(try storedIDs(in: fixture.reopened()) == expected)
        // Its name is free.
        try fixture.vault.write("") { try $0.insertItem(items[thrower]) }
    }

    @Test func `every kind of change is undone with its savepoint`() throws {
        let (kept, removed, carol) = (item(1), item(2), UserRecord(uid: 7, name: "carol", created: 1))
        try fixture.vault.write("") { writer in
            for item in [kept, removed] { try writer.insertItem(item) }
            try writer.insertObject(VaultFixture.object(owner: fixture.owner, identifier: "kept"))
        }
        let others = (0..<2).map { item(UInt64($0 + 10)) }
        let results = fixture.gather(3) { number in
            { writer in
                guard number == 1 else { return try writer.insertItem(others[number / 2]) }
                var changed = kept
                changed.generation += 1
                try writer.updateItem(changed)
                try writer.removeItem(removed.id, owner: fixture.owner)
                try writer.insertItem(item(3))
                for object in try writer.objects(owner: fixture.owner, kind: .right).compactMap(\.record) {
                    try writer.removeObject(object.id, owner: fixture.owner)
                }
                try writer.setAttempts(VaultFixture.attempts(fixture.alice, failedCount: 5))
                try writer.addUser(carol)
                try writer.setKeyPair(VaultFixture.keyPair(carol, role: 1))
                try writer.removeUser(fixture.owner)
                throw Refused()
            }
        }
        #expect(throws: Refused.self) { try results[1].get() }
        for vault in [fixture.vault, try fixture.reopened()] {
            #expect(try storedIDs(in: vault) == Set([kept, removed].map(\.id) + others.map(\.id)))
            try vault.read { reader in
                #expect(try reader.item(kept.id, owner: fixture.owner) == kept)
                #expect(try reader.objects(owner: fixture.owner, kind: .right).compactMap(\.record).count == 1)
                #expect(try reader.attempts(owner: fixture.owner, subject: VaultFixture.subject) == nil)
                #expect(try reader.users().compactMap(\.record) == [fixture.alice])
                #expect(throws: VaultError.notFound) { try reader.keyPairs(owner: carol.id) }
                #expect(try reader.itemFaults(owner: fixture.owner).isEmpty)
                for table in VaultTable.ofUsers { try reader.verifyList(of: table, owner: fixture.owner) }
            }
        }
    }

    // MARK: a commit that fails

    @Test func `a commit that fails fails every change in it, and leaves no trace in memory`() throws {
        let items = (0..<4).map { item(UInt64($0)) }
        let generation = fixture.vault.storeGeneration
        let results = fixture.gather(4, failing: true) { number in { try $0.insertItem(items[number]) } }
        for result in results { #expect(throws: FailingProtector.Failure.self) { try result.get() } }
        #expect(fixture.vault.storeGeneration == generation + 1)
        #expect(try storedIDs() == [])
        try fixture.vault.write("") { writer in for item in items { try writer.insertItem(item) } }
        #expect(try storedIDs(in: fixture.reopened()) == Set(items.map(\.id)))
    }

    @Test func `who refused because of a change that was never committed reports the commit's failure`() throws {
        let results = fixture.gather(2, failing: true) { _ in { try $0.insertItem(item(1)) } }
        for result in results { #expect(throws: FailingProtector.Failure.self) { try result.get() } }
    }

    @Test(.enabled(if: SmallDisk.canBeMounted, "mounting a small file system takes root and CAP_SYS_ADMIN"))
    func `on a disk that is too small for one change the others of its commit pass`() throws {
        let disk = try SmallDisk(byteCount: 5 * 1024 * 1024)
        let fixture = try GatheringFixture(folder: disk.path)
        let items = (0..<5).map { number in
            ItemFixture.item(
                UInt64(number), owner: fixture.owner, payload: Data(count: number == 2 ? 4 * 1024 * 1024 : 10))
        }
        let results = fixture.gather(5) { number in { try $0.insertItem(items[number]) } }
        #expect(errors(results) == [nil, nil, .diskFull, nil, nil])
        #expect(try fixture.vault.read { try $0.itemIDs(owner: fixture.owner).count } == 4)
        let reopened = try Vault(folder: disk.path, ownedBy: geteuid(), create: false, protector: TestProtector())
        #expect(try reopened.read { try $0.itemIDs(owner: fixture.owner).count } == 4)
    }

    @Test(.enabled(if: SmallDisk.canBeMounted, "mounting a small file system takes root and CAP_SYS_ADMIN"))
    func `on a full disk all additions fail and all removals pass`() throws {
        let disk = try SmallDisk(byteCount: 6 * 1024 * 1024)
        let fixture = try GatheringFixture(folder: disk.path)
        let stored = (0..<4).map { ItemFixture.item($0, owner: fixture.owner, payload: Data(count: 50_000)) }
        try fixture.vault.write("") { writer in for item in stored { try writer.insertItem(item) } }
        try fixture.vault.compactAfterSecretsChanged()
        try disk.fill()
        let results = fixture.gather(8, usingReserve: { $0 >= 4 }) { number in
            { writer in
                guard number < 4 else { return try writer.removeItem(stored[number - 4].id, owner: fixture.owner) }
                try writer.insertItem(
                    ItemFixture.item(UInt64(number + 10), owner: fixture.owner, payload: Data(count: 3_000_000)))
            }
        }
        #expect(errors(results) == Array(repeating: .diskFull, count: 4) + Array(repeating: nil, count: 4))
        #expect(try fixture.vault.read { try $0.itemIDs(owner: fixture.owner) } == [])
    }

    // MARK: reading

    /// Stands in the queue between two writers, so that the transaction is open when it comes.
    @Test(arguments: [true, false]) func `nobody reads what is not on disk`(ofItemsAlone: Bool) throws {
        let threads = Threads<Void>()
        threads.start { try fixture.vault.write("first") { _ in } }
        fixture.pause.waitUntilHolding("first")
        threads.start { try fixture.vault.write("") { try $0.insertItem(item(1)) } }
        fixture.waitForWriters(1)
        let read = { @Sendable (reader: VaultReader) throws in
            // Another connection sees what is committed. The reader waits for no flush, so the item may not be there yet.
            let committed = try DatabaseQueue(path: fixture.folder + "/vault.sqlite").read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM items")
            }
            #expect(try reader.itemCount(owner: fixture.owner) == committed)
        }
        threads.start { try ofItemsAlone ? fixture.vault.readItems(read) : fixture.vault.read(read) }
        usleep(20_000)
        threads.start { try fixture.vault.write("") { try $0.insertItem(item(2)) } }
        fixture.waitForWriters(2)
        fixture.pause.release("first")
        for result in threads.wait() { try result.get() }
        #expect(try storedIDs().count == 2)
    }

    @Test func `threads that add, change and remove agree with the disk in the end`() throws {
        let results = concurrently(8) { thread in
            for round in 0..<25 {
                var item = item(UInt64(thread * 1000 + round))
                try fixture.vault.write("") { try $0.insertItem(item) }
                item.generation += 1
                item.payload = Data([UInt8(round)])
                try fixture.vault.write("") { [item] in try $0.updateItem(item) }
                guard round.isMultiple(of: 2) else { continue }
                try fixture.vault.write("") { try $0.removeItem(item.id, owner: fixture.owner) }
                try fixture.vault.compactAfterSecretsChanged()
            }
        }
        for result in results { try result.get() }
        let expected = try storedIDs()
        #expect(expected.count == 8 * 12)
        let reopened = try fixture.reopened()
        #expect(try storedIDs(in: reopened) == expected)
        #expect(try reopened.read { try $0.itemFaults(owner: fixture.owner) }.isEmpty)
    }
}

import ExactNames
import Foundation
import StoreTestSupport
import Synchronization
import Testing

@testable import Vault

/// A thread that reads waits for no flush, and sees only what is on disk.
@Suite("Reading beside a commit", .timeLimit(.minutes(10)))
struct ReadingBesideTests {
    let fixture: GatheringFixture
    private var vault: Vault { fixture.vault }
    private var owner: VaultID { fixture.owner }

    init() throws { fixture = try GatheringFixture() }

    private func item(_ number: UInt64, id: VaultID = VaultID()) -> ItemRecord {
        ItemFixture.item(number, owner: owner, terms: [number, 5], id: id)
    }

    /// What can be found of items and rights, by every way that leads to them.
    private struct View: Equatable {
        var items: [VaultID] = []
        var found: [VaultID] = []
        var payloads: [Data?] = []
        var names: [ExactName] = []
        var page: [VaultID] = []
        var users: [String] = []
    }

    private func view(_ vault: Vault) throws -> View {
        let (items, found, payloads) = try vault.readItems { reader in
            let items = try reader.itemIDs(owner: owner)
            return (
                items, try reader.items(matching: ItemQuery(anyOf: [5]), owner: owner).map(\.id),
                try items.map { try reader.item($0, owner: owner)?.payload }
            )
        }
        return try vault.read { reader in
            let objects = try reader.objects(owner: owner, kind: .right).compactMap(\.record)
            for name: ExactName in ["a", "b", "c", "d"] {
                let named = try reader.object(
                    identifier: name, group: "group-in-clear-text", kind: .right, owner: owner)
                #expect((named != nil) == objects.contains { $0.attributes.identifier == name })
            }
            var place: Int? = 0
            while let begin = place { place = try reader.verifyPart(ofList: .items, owner: owner, from: begin) }
            return View(
                items: items, found: found, payloads: payloads, names: objects.map(\.attributes.identifier).sorted(),
                page: try reader.objectPage(
                    owner: owner, kind: .right, group: "group-in-clear-text", after: nil, count: 10
                ).objects.compactMap(\.record?.id), users: try reader.users().compactMap(\.record?.name))
        }
    }

    /// Makes changes of every kind in one transaction.
    private func change(_ writer: VaultWriter, _ items: [ItemRecord], _ rights: [ObjectRecord]) throws {
        try writer.insertItem(item(10))
        try writer.removeItem(items[0].id, owner: owner)
        var changed = items[1]
        (changed.generation, changed.payload) = (2, Data([99]))
        changed.index = ItemIndex(uniqueness: ItemFixture.uniqueness(77), terms: [77])
        try writer.updateItem(changed)
        try writer.insertItem(item(11))
        try writer.insertObject(VaultFixture.object(owner: owner, identifier: "c"))
        try writer.removeObject(rights[0].id, owner: owner)
        try writer.setUser(UserRecord(id: fixture.alice.id, uid: 1000, name: "another", created: 10))
    }

    private func filled() throws -> (items: [ItemRecord], rights: [ObjectRecord]) {
        let items = (1...4).map { item($0) }
        let rights = (["a", "b"] as [ExactName]).map { VaultFixture.object(owner: owner, identifier: $0) }
        try vault.write("fill") { writer in
            for item in items { try writer.insertItem(item) }
            for right in rights { try writer.insertObject(right) }
        }
        return (items, rights)
    }

    @Test func `while a change is flushed, others see the store without it, and with it afterwards`() throws {
        let (items, rights) = try filled()
        let before = try view(vault)
        fixture.pause.hold("change")
        let threads = Threads<Void>()
        threads.start { try vault.write("change") { try change($0, items, rights) } }
        fixture.pause.waitUntilHolding("change")
        // On this thread: a reading that waited for the flush would never end.
        for _ in 0..<3 { #expect(try view(vault) == before) }
        fixture.pause.release("change")
        for result in threads.wait() { try result.get() }
        let after = try view(vault)
        #expect(after != before && after.names == ["b", "c"] && after.items.count == 5 && after.users == ["another"])
        #expect(try view(fixture.reopened()) == after)
        // The lists go on from there.
        try vault.write("") { try $0.insertItem(item(20)) }
        try vault.write("") { try $0.insertObject(VaultFixture.object(owner: owner, identifier: "d")) }
        #expect(try view(fixture.reopened()) == view(vault))
    }

    @Test func `a list that nobody has read is read beside a flush, too`() throws {
        _ = try filled()
        let before = try view(vault)
        let pause = PausingObserver()
        try vault.close()
        let vault = try Vault(
            folder: fixture.folder, ownedBy: geteuid(), create: false, protector: TestProtector(), observer: pause)
        pause.hold("user")
        let threads = Threads<Void>()
        threads.start {
            try vault.write("user") { try $0.setUser(UserRecord(id: owner, uid: 1000, name: "b", created: 10)) }
        }
        pause.waitUntilHolding("user")
        #expect(try view(vault) == before)
        pause.release("user")
        for result in threads.wait() { try result.get() }
        #expect(try view(vault).users == ["b"])
        try vault.close()
    }

    @Test func `a commit that fails leaves what others saw meanwhile`() throws {
        let (items, rights) = try filled()
        let before = try view(vault)
        let results = fixture.gather(1, failing: true) { _ in { try change($0, items, rights) } }
        #expect(results.allSatisfy { if case .failure = $0 { true } else { false } })
        #expect(try view(vault) == before)
        try vault.write("") { try change($0, items, rights) }
        #expect(try view(fixture.reopened()) == view(vault))
    }

    @Test func `another program's change is refused beside a flush as at any other time`() throws {
        _ = try filled()
        try VaultFixture.tamper(fixture.folder + "/vault.sqlite", "UPDATE roots SET generation = generation + 1")
        #expect(throws: VaultError.changedByOthers) { _ = try vault.read { try $0.users() } }
    }

    @Test func `a reader sees each of many changes whole`() throws {
        let (items, _) = try filled()
        let isOver = Atomic(false)
        let writers = Threads<Void>()
        // Each change keeps the number of items and moves one.
        for writer in 0..<2 as Range<UInt64> {
            writers.start {
                var last: ItemRecord?
                for number in 0..<150 as Range<UInt64> {
                    let next = item(1000 * (writer + 1) + number)
                    try vault.write("") { writer in
                        if let last { try writer.removeItem(last.id, owner: owner) }
                        try writer.insertItem(next)
                    }
                    last = next
                }
            }
        }
        let readers = Threads<Void>()
        for _ in 0..<2 {
            readers.start {
                while !isOver.load(ordering: .acquiring) {
                    let (count, found) = try vault.readItems { reader in
                        let ids = try reader.itemIDs(owner: owner)
                        for id in ids { _ = try reader.item(id, owner: owner) }
                        return (ids.count, try reader.items(matching: ItemQuery(anyOf: [5]), owner: owner).count)
                    }
                    #expect(count == found && (items.count...items.count + 2).contains(count))
                    let faults = try vault.read { try $0.itemFaults(owner: owner) }
                    #expect(faults.isEmpty)
                }
            }
        }
        for result in writers.wait() { try result.get() }
        isOver.store(true, ordering: .releasing)
        for result in readers.wait() { try result.get() }
        #expect(try view(fixture.reopened()) == view(vault))
    }
}

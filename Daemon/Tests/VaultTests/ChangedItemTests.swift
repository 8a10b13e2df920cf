import Foundation
import StoreTestSupport
import Synchronization
import Testing

@testable import Vault

/// A listener is told of the items that were committed, and of no others.
@Suite("Changed items")
struct ChangedItemTests {
    private final class Listener: ItemListener {
        private let state = Mutex((isListening: true, told: [ChangedItems]()))

        var isListening: Bool { state.withLock { $0.isListening } }
        func itemsHaveChanged(_ changes: ChangedItems) { state.withLock { $0.told.append(changes) } }

        func listen(_ listens: Bool) { state.withLock { $0.isListening = listens } }

        /// The changes that it was told since the last call.
        func take() -> [ChangedItems] {
            state.withLock { state in
                defer { state.told = [] }
                return state.told
            }
        }
    }

    private let fixture: ItemFixture
    private let listener = Listener()
    private static let everything = [ItemQuery(anyOf: [])]

    init() throws {
        fixture = try ItemFixture()
        fixture.vault.setItemListener(listener)
    }

    private func effects(_ queries: [ItemQuery] = ChangedItemTests.everything) -> [ChangedItem.Effect?] {
        listener.take().flatMap(\.items).map { $0.effect(on: queries) }
    }

    private func update(_ item: ItemRecord, terms: [UInt64]) throws -> ItemRecord {
        var item = item
        item.generation += 1
        item.index = ItemIndex(uniqueness: item.index.uniqueness, terms: terms)
        try fixture.vault.write("update") { try $0.updateItem(item) }
        return item
    }

    @Test func `are told once they are on disk, with what found them before and what finds them now`() throws {
        let item = try fixture.add([1], terms: [7])[0]
        let added = try #require(listener.take().first)
        #expect(added.items.map(\.id) == [item.id] && added.items[0].owner == fixture.owner)
        #expect(added.items[0].effect(on: [ItemQuery(anyOf: [7])]) == .added)
        #expect(added.items[0].effect(on: [ItemQuery(anyOf: [8])]) == nil)
        #expect(added.items[0].effect(on: [ItemQuery(itemClass: .certificate, anyOf: [7])]) == nil)
        #expect(added.items[0].effect(on: [ItemQuery(id: VaultID(), anyOf: [7])]) == nil)
        #expect(added.items[0].effect(on: []) == nil)
        let moved = try update(item, terms: [8])
        let told = try #require(listener.take().first?.items.first)
        #expect(told.effect(on: [ItemQuery(anyOf: [7])]) == .removed)
        #expect(told.effect(on: [ItemQuery(anyOf: [8])]) == .added)
        #expect(told.effect(on: [ItemQuery(anyOf: [7]), ItemQuery(anyOf: [8])]) == .changed)
        try fixture.vault.write("remove") { try $0.removeItem(moved.id, owner: fixture.owner) }
        #expect(effects() == [.removed])
    }

    @Test func `are each told once, as the transaction leaves them`() throws {
        let old = try fixture.add([1])[0]
        _ = listener.take()
        let new = ItemFixture.item(2, owner: fixture.owner)
        try fixture.vault.write("several") { writer in
            try writer.insertItem(new)
            var changed = new
            (changed.generation, changed.index) = (2, ItemIndex(uniqueness: new.index.uniqueness, terms: [5]))
            try writer.updateItem(changed)
            let gone = ItemFixture.item(3, owner: fixture.owner)
            try writer.insertItem(gone)
            try writer.removeItem(gone.id, owner: fixture.owner)
            try writer.removeItem(old.id, owner: fixture.owner)
        }
        let told = listener.take()
        #expect(told.count == 1 && Set(told[0].items.map(\.id)) == [new.id, old.id])
        #expect(told[0].items.first { $0.id == new.id }?.effect(on: [ItemQuery(anyOf: [5])]) == .added)
    }

    @Test func `are not told when the change is undone, nor when only their keys are others`() throws {
        let item = try fixture.add([1])[0]
        _ = listener.take()
        #expect(throws: VaultError.conflict) {
            try fixture.vault.write("undone") { writer in
                try writer.insertItem(ItemFixture.item(2, owner: fixture.owner))
                throw VaultError.conflict
            }
        }
        var rewrapped = item
        (rewrapped.generation, rewrapped.wrap) = (2, .classKey(Data([9])))
        try fixture.vault.write("rewrap") { try $0.updateItem(rewrapped) }
        #expect(listener.take().isEmpty)
    }

    @Test func `are not told to a listener that does not listen`() throws {
        listener.listen(false)
        try fixture.add([1])
        listener.listen(true)
        #expect(listener.take().isEmpty)
        try fixture.add([2])
        #expect(effects() == [.added])
    }

    @Test func `of an owner whose whole list goes are not told one by one`() throws {
        try fixture.vault.write("remove") { try $0.removeUser(fixture.bob.id) }
        let told = listener.take()
        #expect(told.map(\.relistedOwners) == [[fixture.bob.id]] && told.allSatisfy(\.items.isEmpty))
        #expect(told.flatMap(\.byOwner.keys) == [fixture.bob.id])
    }

    @Test func `of one transaction are told apart by their owners`() throws {
        let (own, another) = (fixture.owner, fixture.bob.id)
        let items = [own, another, own].enumerated().map { ItemFixture.item(UInt64($0), owner: $1) }
        try fixture.vault.write("both") { writer in for item in items { try writer.insertItem(item) } }
        let told = try #require(listener.take().first).byOwner
        #expect(Set(told.keys) == [own, another])
        for (owner, changes) in told {
            #expect(Set(changes.items.map(\.id)) == Set(items.filter { $0.owner == owner }.map(\.id)))
            #expect(changes.relistedOwners.isEmpty)
        }
    }
}

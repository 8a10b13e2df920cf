import Foundation
import GRDB
import SeededRandomness
import StoreTestSupport
import Testing
import Vault

@Suite("The catalogue of keychain items")
struct ItemCatalogueTests {
    let fixture: ItemFixture
    var vault: Vault { fixture.vault }
    var owner: VaultID { fixture.owner }

    init() throws { fixture = try ItemFixture() }

    // MARK: what is found

    @Test func `an item comes back as it was stored, from memory and from the files`() throws {
        let stored = try fixture.add([1, 2])
        for vault in [vault, try fixture.reopened()] {
            for item in stored { #expect(try fixture.item(item.id, in: vault) == item) }
            #expect(try vault.read { try $0.itemCount(owner: owner) } == 2)
        }
    }

    @Test func `an empty store has no items, authentically`() throws {
        #expect(try fixture.found(ItemQuery(anyOf: [])) == [])
        #expect(try fixture.item(VaultID()) == nil)
    }

    @Test func `all terms must match, and one of the alternatives`() throws {
        let items = [[1, 2, 9], [1, 3, 9], [1, 2, 8]].enumerated().map { number, terms in
            ItemFixture.item(UInt64(number), owner: owner, terms: terms)
        }
        try vault.write("add") { writer in for item in items { try writer.insertItem(item) } }
        let ids = items.map(\.id)
        for vault in [vault, try fixture.reopened()] {
            #expect(try fixture.found(ItemQuery(allOf: [1], anyOf: [8, 9]), in: vault) == ids)
            #expect(try fixture.found(ItemQuery(allOf: [1, 2], anyOf: [9]), in: vault) == [ids[0]])
            #expect(try fixture.found(ItemQuery(allOf: [2], anyOf: []), in: vault) == [ids[0], ids[2]])
            #expect(try fixture.found(ItemQuery(allOf: [2, 3], anyOf: [9]), in: vault) == [])
            #expect(try fixture.found(ItemQuery(allOf: [77], anyOf: [9]), in: vault) == [])
            #expect(try fixture.found(ItemQuery(allOf: [1], anyOf: [77]), in: vault) == [])
            #expect(try fixture.found(ItemQuery(itemClass: .key, allOf: [1], anyOf: [9]), in: vault) == [])
            #expect(try fixture.found(ItemQuery(id: ids[2], anyOf: [8]), in: vault) == [ids[2]])
            #expect(try fixture.found(ItemQuery(id: ids[2], anyOf: [9]), in: vault) == [])
        }
    }

    @Test func `items come in the order of creation, whatever changes and whichever way they are asked for`() throws {
        var ids = try fixture.add(0..<40, terms: [5]).map(\.id)
        var changed = try #require(try fixture.item(ids[3]))
        changed.generation = 2
        changed.index = ItemIndex(uniqueness: ItemFixture.uniqueness(700), terms: [5, 6])
        let update = changed
        try vault.write("change") { writer in
            try writer.updateItem(update)
            try writer.removeItem(ids[10], owner: owner)
            try writer.insertItem(ItemFixture.item(99, owner: owner, terms: [5], id: ids[10]))
        }
        ids.append(ids.remove(at: 10))
        for vault in [vault, try fixture.reopened()] {
            #expect(try fixture.found(ItemQuery(allOf: [5], anyOf: []), in: vault) == ids)
            #expect(try fixture.found(ItemQuery(anyOf: []), in: vault) == ids)
            #expect(try fixture.found(ItemQuery(allOf: [6], anyOf: []), in: vault) == [ids[3]])
            #expect(try fixture.found(ItemQuery(allOf: [1003], anyOf: []), in: vault) == [])
            #expect(try vault.read { try $0.itemIDs(owner: owner) } == ids)
        }
    }

    @Test(arguments: [[5], []] as [[UInt64]]) func `pages follow one another without a gap`(terms: [UInt64]) throws {
        let ids = try fixture.add(0..<50, terms: [5]).map(\.id)
        try vault.write("remove") { writer in
            for index in stride(from: 0, to: 50, by: 7) { try writer.removeItem(ids[index], owner: owner) }
        }
        let expected = ids.enumerated().filter { !$0.offset.isMultiple(of: 7) }.map(\.element)
        for vault in [vault, try fixture.reopened()] {
            var (found, begin): ([VaultID], UInt64) = ([], 0)
            while found.count < 100 {
                let page = try vault.readItems {
                    try $0.items(matching: ItemQuery(allOf: terms, anyOf: [], begin: begin, limit: 4), owner: owner)
                }
                if page.isEmpty { break }
                found += page.map(\.id)
                begin = page.last!.sequence + 1
            }
            #expect(found == expected)
        }
    }

    @Test func `another user's items are not among one's own`() throws {
        let mine = try fixture.add([1])[0]
        let theirs = ItemFixture.item(1, owner: fixture.bob.id)
        try vault.write("theirs") { try $0.insertItem(theirs) }
        #expect(try fixture.found(ItemQuery(allOf: [1001], anyOf: [])) == [mine.id])
        #expect(try fixture.item(theirs.id) == nil)
        #expect(throws: VaultError.notFound) { try vault.read { try $0.itemIDs(owner: VaultID()) } }
        try vault.write("remove") { try $0.removeUser(fixture.bob.id) }
        #expect(throws: VaultError.notFound) { try vault.read { try $0.itemIDs(owner: fixture.bob.id) } }
    }

    // MARK: uniqueness

    @Test func `two items are never the same by uniqueness or id`() throws {
        let (first, second) = (try fixture.add([1])[0], try fixture.add([2])[0])
        #expect(throws: VaultError.duplicate) { try fixture.add([1]) }
        #expect(throws: VaultError.duplicate) {
            try vault.write("") { try $0.insertItem(ItemFixture.item(3, owner: owner, id: first.id)) }
        }
        #expect(throws: VaultError.duplicate) { try fixture.add([5, 5]) }
        var moved = second
        moved.generation = 2
        moved.index = first.index
        let update = moved
        #expect(throws: VaultError.duplicate) { try vault.write("") { try $0.updateItem(update) } }
        try vault.write("") { try $0.removeItem(first.id, owner: owner) }
        try vault.write("") { try $0.updateItem(update) }
        #expect(try fixture.reopened().read { try $0.holdsItem(first.index.uniqueness, owner: owner) })
    }

    @Test(arguments: [0, 1, 3] as [UInt64]) func `a change on another generation is a conflict`(generation: UInt64)
        throws
    {
        var item = try fixture.add([1])[0]
        item.generation = generation
        let changed = item
        #expect(throws: VaultError.conflict) { try vault.write("") { try $0.updateItem(changed) } }
        #expect(throws: generation == 1 ? VaultError.duplicate : .conflict) {
            try vault.write("") { try $0.insertItem(changed) }
        }
    }

    @Test func `what is not there is neither changed nor removed`() throws {
        let item = ItemFixture.item(1, owner: owner)
        #expect(throws: VaultError.notFound) { try vault.write("") { try $0.updateItem(item) } }
        #expect(throws: VaultError.notFound) { try vault.write("") { try $0.removeItem(item.id, owner: owner) } }
    }

    // MARK: transactions

    private struct Abandoned: Error {}

    @Test func `an abandoned transaction leaves memory and files as they were`() throws {
        let items = try fixture.add(1...20, terms: [5])
        let others = try fixture.add(30...31)
        #expect(throws: Abandoned.self) {
            try vault.write("abandoned") { writer in
                for item in items.prefix(10) { try writer.removeItem(item.id, owner: owner) }
                for var item in items.dropFirst(10) {
                    item.generation = 2
                    item.index = ItemIndex(uniqueness: item.index.uniqueness, terms: [6])
                    try writer.updateItem(item)
                }
                for number in 1...5 as ClosedRange<UInt64> {
                    try writer.insertItem(ItemFixture.item(number, owner: owner))
                }
                #expect(try writer.items(matching: ItemQuery(allOf: [5], anyOf: []), owner: owner).isEmpty)
                throw Abandoned()
            }
        }
        for vault in [vault, try fixture.reopened()] {
            #expect(try fixture.found(ItemQuery(allOf: [5], anyOf: []), in: vault) == items.map(\.id))
            #expect(try fixture.found(ItemQuery(allOf: [6], anyOf: []), in: vault) == [])
            #expect(try fixture.found(ItemQuery(anyOf: []), in: vault) == (items + others).map(\.id))
            for item in items { #expect(try fixture.item(item.id, in: vault) == item) }
        }
        try fixture.add([1000])
        #expect(try fixture.found(ItemQuery(anyOf: []), in: fixture.reopened()).count == 23)
    }

    @Test func `a catalogue that a search read is not read again because a later change was refused`() throws {
        try fixture.add(1...3, terms: [5])
        let vault = try fixture.reopened()
        #expect(try fixture.found(ItemQuery(allOf: [5], anyOf: []), in: vault).count == 3)
        #expect(throws: VaultError.duplicate) { try fixture.add([2], to: vault) }
        // A reader of the list would be refused now.
        try fixture.tamper("UPDATE item_lists SET mac = zeroblob(32)")
        #expect(try fixture.found(ItemQuery(allOf: [5], anyOf: []), in: vault).count == 3)
    }

    @Test func `a user whose addition was abandoned has no items to list`() throws {
        let user = UserRecord(uid: 7, name: "carol", created: 0)
        #expect(throws: Abandoned.self) {
            try vault.write("abandoned") { writer in
                try writer.addUser(user)
                try writer.insertItem(ItemFixture.item(1, owner: user.id))
                throw Abandoned()
            }
        }
        #expect(throws: VaultError.notFound) { try vault.read { try $0.itemIDs(owner: user.id) } }
    }

    // With the second seed an item's name and its term have the same digest.
    @Test(arguments: [1, 6_262_418_166_868_217_062, UInt64.random(in: .min ... .max)])
    func `random changes agree with a plain list, in memory and in the files`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var model: [ItemRecord] = []
        for round in 0..<30 {
            var next = model
            let isAbandoned = Int.random(in: 0..<4, using: &generator) == 0
            try? vault.write("round") { writer in
                for step in 0..<Int.random(in: 1...80, using: &generator) {
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0 where !next.isEmpty:
                        let item = next.remove(at: Int.random(in: 0..<next.count, using: &generator))
                        try writer.removeItem(item.id, owner: owner)
                    case 1 where !next.isEmpty:
                        let index = Int.random(in: 0..<next.count, using: &generator)
                        next[index].generation += 1
                        next[index].index = ItemIndex(
                            uniqueness: next[index].index.uniqueness,
                            terms: [UInt64.random(in: 0...3, using: &generator)])
                        try writer.updateItem(next[index])
                    default:
                        let number = UInt64(round * 1000 + step)
                        let item = ItemFixture.item(number, owner: owner, terms: [number % 4])
                        next.append(item)
                        try writer.insertItem(item)
                    }
                }
                if isAbandoned { throw Abandoned() }
            }
            if !isAbandoned { model = next }
            let reopened = round.isMultiple(of: 10) ? try fixture.reopened() : vault
            for term in 0...3 as ClosedRange<UInt64> {
                let expected = model.filter { $0.index.terms.contains(term) }.map(\.id)
                #expect(try fixture.found(ItemQuery(allOf: [term], anyOf: []), in: reopened) == expected)
            }
        }
        #expect(try fixture.reopened().read { try $0.itemFaults(owner: owner) }.isEmpty)
    }

    @Test func `an addition writes the item, one bucket and the root, however many items there are`() throws {
        try fixture.add(0..<3000)
        let before = try fixture.rows("SELECT row_key, generation FROM item_lists").map {
            [$0[0], $0[1]] as [DatabaseValue]
        }
        try fixture.add([9999])
        let after = try fixture.rows("SELECT row_key, generation FROM item_lists").map {
            [$0[0], $0[1]] as [DatabaseValue]
        }
        #expect(Set(after).subtracting(before).count == 1)
        let longest = try fixture.rows("SELECT max(length(entries)) FROM item_lists")[0][0] as Int
        #expect(longest < 1500)
    }

    @Test func `removed items are erased`() throws {
        let marker = Data("marker of an item's data".utf8)
        let item = ItemFixture.item(1, owner: owner, payload: marker + Data(count: 9000) + marker)
        try vault.write("add") { try $0.insertItem(item) }
        try vault.compactAfterSecretsChanged()
        #expect(try fixture.folder.allBytes().range(of: marker) != nil)
        try vault.write("remove") { try $0.removeItem(item.id, owner: owner) }
        try vault.compactAfterSecretsChanged()
        #expect(try fixture.folder.allBytes().range(of: marker) == nil)
    }
}

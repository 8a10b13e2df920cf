import ExactNames
import Foundation
import StoreTestSupport
import Testing

@testable import Vault

/// How many bytes an owner's objects and items take.
@Suite("The bytes of one owner")
struct OwnerSizeTests {
    private struct Refused: Error {}

    private let fixture: ItemFixture

    init() throws { fixture = try ItemFixture() }

    private func size(of owner: VaultID? = nil, in vault: Vault? = nil) throws -> Int {
        try (vault ?? fixture.vault).write("size") { try $0.byteCount(owner: owner ?? fixture.owner) }
    }

    /// Whether the count that followed the changes is that of the rows as they lie in the database.
    private func expectCounted(_ expected: Int? = nil, _ location: SourceLocation = #_sourceLocation) throws {
        let counted = try size()
        let reopened = try fixture.reopened()
        defer { try? reopened.close() }
        #expect(try size(in: reopened) == counted, sourceLocation: location)
        if let expected { #expect(counted == expected, sourceLocation: location) }
    }

    private func item(_ number: UInt64, payload count: Int = 100) -> ItemRecord {
        ItemFixture.item(number, owner: fixture.owner, payload: Data(count: count))
    }

    /// What a stored item takes: attributes, access control, wrap and data.
    private func size(_ item: ItemRecord) -> Int {
        item.attributes.count + item.accessControl.count + 1 + (item.payload?.count ?? 0)
    }

    @Test func `are those of each column, and each change is counted`() throws {
        #expect(try size() == 0)
        let (first, second) = (item(1), item(2, payload: 70_000))
        try fixture.vault.write("add") { writer in for item in [first, second] { try writer.insertItem(item) } }
        try expectCounted(size(first) + size(second))
        var changed = first
        (changed.payload, changed.generation) = (nil, 2)
        try fixture.vault.write("change") { [changed] in try $0.updateItem(changed) }
        try expectCounted(size(first) - 100 + size(second))
        try fixture.vault.write("remove") { try $0.removeItem(second.id, owner: fixture.owner) }
        try expectCounted(size(changed))
        #expect(try size(of: fixture.bob.id) == 0)
    }

    @Test func `are those of rights and keys, too`() throws {
        #expect(try size() == 0)
        let right = VaultFixture.object(owner: fixture.owner, identifier: "right")
        try fixture.vault.write("add") { try $0.insertObject(right) }
        let one = try size()
        #expect(one > 5)
        try expectCounted()
        try fixture.vault.write("add") {
            try $0.insertObject(VaultFixture.object(owner: fixture.owner, identifier: "other"))
            try $0.removeObject(right.id, owner: fixture.owner)
        }
        try expectCounted(one)
    }

    @Test func `are known without adding up again after a change that was undone`() throws {
        let first = try fixture.add(1...3)[0].id
        let before = try size()
        #expect(throws: Refused.self) {
            try fixture.vault.write("refused") { writer in
                try writer.insertItem(item(4))
                try writer.removeItem(first, owner: fixture.owner)
                #expect(try writer.byteCount(owner: fixture.owner) != before)
                throw Refused()
            }
        }
        try expectCounted(before)
    }

    @Test func `are right when they are asked for in the midst of a change that is undone`() throws {
        try fixture.add(1...3)
        #expect(throws: Refused.self) {
            try fixture.vault.write("refused") { writer in
                try writer.insertItem(item(4))
                _ = try writer.byteCount(owner: fixture.owner)
                try writer.insertItem(item(5))
                throw Refused()
            }
        }
        try expectCounted()
    }

    @Test func `go with their owner`() throws {
        try fixture.add(1...3)
        #expect(try size() > 0)
        try fixture.vault.write("remove") { try $0.removeUser(fixture.owner) }
        #expect(throws: VaultError.notFound) { try size() }
        try fixture.vault.write("again") { try $0.addUser(fixture.alice) }
        try expectCounted(0)
    }
}

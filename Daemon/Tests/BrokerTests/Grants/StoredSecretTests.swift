import AccessControl
import Foundation
import OstiaryMessages
import Owners
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects

/// An authorization keeps no copy of the secret that is stored with its right.
@Suite("The secret of an authorized right", .timeLimit(.minutes(10)))
struct StoredSecretTests {
    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
    }

    private func authorized(_ name: String) throws -> (right: WireRight, id: VaultID, context: UInt64) {
        let right = try client.create(
            name, AccessControl(availability: .always, using: .unrestricted), secret: "secret of \(name)")
        let context = try client.openContext()
        try client.authorize(rightID: right.rightID, in: context)
        return (right, try #require(VaultID(bytes: right.rightID)), context)
    }

    /// The code and the cause that the secret is refused with; nil when it is given.
    private func refusedSecret(of right: WireRight, in context: UInt64) throws -> String? {
        do {
            _ = try client.secret(of: right, in: context)
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "") \(refused.cause)" }
    }

    private func payload(of id: VaultID) throws -> Data? {
        let stored = try fixture.broker.vault.read { try $0.object(id, owner: fixture.account.id) }
        return try #require(stored).payload
    }

    /// Stores the right with this encrypted secret, in a row that verifies.
    private func store(_ payload: Data?, for id: VaultID) throws {
        try fixture.broker.vault.write("test") { writer in
            let stored = try writer.object(id, owner: fixture.account.id)
            var record = try #require(stored)
            record.payload = payload
            record.generation += 1
            try writer.updateObject(record)
        }
    }

    @Test func `is read from the store at each use, so that a right that was removed gives none`() throws {
        let (right, id, context) = try authorized("right")
        #expect(try client.secret(of: right, in: context) == "secret of right")
        // The moment between a removal and the end of the grants on the right.
        try fixture.account.rights.remove(id)
        #expect(try refusedSecret(of: right, in: context) == "notFound right.not-found")
        #expect(try client.log().count { $0.event == "read" && $0.result == "granted" } == 1)
    }

    @Test func `is that of its own right, whatever payload the row holds`() throws {
        let (right, id, context) = try authorized("one")
        let (other, otherID, otherContext) = try authorized("other")
        let own = try payload(of: id)
        try store(payload(of: otherID), for: id)
        #expect(try refusedSecret(of: right, in: context) == "itemUnreadable item.unreadable")
        try store(nil, for: id)
        #expect(try refusedSecret(of: right, in: context) == "noSecret right.no-secret")
        try store(own, for: id)
        #expect(try client.secret(of: right, in: context) == "secret of one")
        #expect(try client.secret(of: other, in: otherContext) == "secret of other")
    }
}

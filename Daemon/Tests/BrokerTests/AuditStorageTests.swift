import AccessControl
import AuditLog
import BrokerTestSupport
import Foundation
import OstiaryMessages
import StoreTestSupport
import Testing
import Vault

@testable import Auditing
@testable import Broker

@Suite("The audit log's anchor in the store")
struct AuditStorageTests {
    private static let head = Data(0..<32)
    private static let place = Anchor.Place(position: 0x0102_0304_0506_0708, storeGeneration: 0x1112_1314_1516_1718)
    private static let documented = Data([2]) + head + Data(1...8) + Data(0x11...0x18)

    @Test func `the anchored end has the documented bytes, in both versions`() throws {
        let end = AnchoredEnd(head: Self.head, place: Self.place)
        #expect(end.bytes == Self.documented)
        #expect(try AnchoredEnd(bytes: Self.documented) == end)
        let former = AnchoredEnd(head: Self.head, place: nil)
        #expect(former.bytes == Self.head)
        #expect(try AnchoredEnd(bytes: Self.head) == former)
    }

    @Test func `no truncation, no trailing byte and no other version is an anchored end`() {
        for count in 0..<Self.documented.count where count != 32 {
            #expect(throws: AuditLogError.anchorUnreadable) { try AnchoredEnd(bytes: Self.documented.prefix(count)) }
        }
        #expect(throws: AuditLogError.anchorUnreadable) { try AnchoredEnd(bytes: Self.documented + [0]) }
        for version in [0, 1, 3, 255] as [UInt8] {
            #expect(throws: AuditLogError.anchorUnreadable) {
                try AnchoredEnd(bytes: Data([version]) + Self.documented.dropFirst())
            }
        }
    }

    @Test func `a store whose anchor is of version 1 opens, and its next anchor says where the records end`() throws {
        let fixture = try BrokerFixture()
        try fixture.create("free", .unrestricted, .always)
        #expect(try fixture.opens("free"))
        fixture.close()
        let copy = try BrokerFixture.copyOfState(fixture.stateDirectory)
        let reopened = try BrokerFixture(in: copy)
        let vault = reopened.broker.vault
        let anchor = try #require(try vault.read { try $0.logAnchor() })
        #expect(anchor.head.count == 49)
        try vault.write("test") {
            try $0.setLogAnchor(
                LogAnchorRecord(
                    count: anchor.count, head: anchor.head.dropFirst().prefix(32), epoch: anchor.epoch,
                    sealedKey: anchor.sealedKey))
        }
        try reopened.restart()
        #expect(try reopened.client().verifyLog(interactive: false).intact)
        #expect(try reopened.opens("free"))
        #expect(try reopened.broker.vault.read { try $0.logAnchor() }?.head.count == 49)
    }
}

import AuditLog
import Foundation
import Testing

@testable import Auditing

@Suite("The audit log's anchor in the store")
struct AuditStorageTests {
    private static let head = Data(0..<32)
    private static let place = Anchor.Place(position: 0x0102_0304_0506_0708, storeGeneration: 0x1112_1314_1516_1718)
    private static let documented = Data([2]) + head + Data(1...8) + Data(0x11...0x18)

    @Test func `the anchored end has the documented bytes`() throws {
        let end = AnchoredEnd(head: Self.head, place: Self.place)
        #expect(end.bytes == Self.documented)
        #expect(try AnchoredEnd(bytes: Self.documented) == end)
    }

    @Test func `no truncation, no trailing byte and no other version is an anchored end`() {
        for count in 0..<Self.documented.count {
            #expect(throws: AuditLogError.anchorUnreadable) { try AnchoredEnd(bytes: Self.documented.prefix(count)) }
        }
        #expect(throws: AuditLogError.anchorUnreadable) { try AnchoredEnd(bytes: Self.documented + [0]) }
        for version in [0, 1, 3, 255] as [UInt8] {
            #expect(throws: AuditLogError.anchorUnreadable) {
                try AnchoredEnd(bytes: Data([version]) + Self.documented.dropFirst())
            }
        }
    }
}

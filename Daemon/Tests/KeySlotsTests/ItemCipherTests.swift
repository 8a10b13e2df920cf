import AccessControl
import Foundation
import SecretMemory
import Testing

@testable import KeySlots

@Suite("What items are encrypted with")
struct ItemCipherTests {
    private let half: PrivateHalf
    private let header = Self.header()
    private let record = Data("attributes".utf8)

    init() throws { half = try PrivateHalf(generating: .classKey(.whenUnlocked), epoch: 3) }

    private static func header(object: UInt8 = 3, rules: Data = Data([1])) -> SlotHeader {
        SlotHeader(
            storeID: Data([1]), ownerID: Data([2]), objectID: Data([object]), availability: .whenUnlocked,
            accessControl: rules, accessGroup: "")
    }

    @Test func `both parts open with the half that sealed them, and say which one that is`() throws {
        let secret = AccessSecret.random()
        let sealed = try ItemCipher.sealAttributes(record, under: half, header: header)
        let wrapped = try ItemCipher.wrap(secret, under: half, header: header)
        #expect(try ItemCipher.openAttributes(sealed, with: half, header: header) == record)
        #expect(try ItemCipher.unwrap(wrapped, with: half, header: header).isEqual(to: secret))
        #expect(sealed.prefix(6) == Data([1, 0x13, 0, 0, 0, 3]) && sealed.count == 6 + 12 + record.count + 16)
        #expect(wrapped.prefix(6) == sealed.prefix(6) && wrapped.count == 66)
        for bytes in [sealed, wrapped] {
            let key = try ItemCipher.key(of: bytes)
            #expect(key.role == .classKey(.whenUnlocked) && key.epoch == 3)
        }
        #expect(try ItemCipher.sealAttributes(record, under: half, header: header) != sealed)
    }

    @Test func `another header, half or use refuses`() throws {
        let sealed = try ItemCipher.sealAttributes(AccessSecretBytes.record, under: half, header: header)
        for other in [Self.header(object: 4), Self.header(rules: Data([2]))] {
            #expect(throws: SlotError.refused) { try ItemCipher.openAttributes(sealed, with: half, header: other) }
        }
        let sameName = try PrivateHalf(generating: .classKey(.whenUnlocked), epoch: 3)
        #expect(throws: SlotError.refused) { try ItemCipher.openAttributes(sealed, with: sameName, header: header) }
        // Attributes of 32 bytes are as long as an access secret, and still none.
        do {
            _ = try ItemCipher.unwrap(sealed, with: half, header: header)
            Issue.record("attributes were opened as an access secret")
        } catch { #expect(error == .refused) }
        for missing in [
            try PrivateHalf(generating: .classKey(.always), epoch: 3),
            try PrivateHalf(generating: .classKey(.whenUnlocked), epoch: 4),
        ] {
            #expect(throws: SlotError.missingKey(.classKey(.whenUnlocked), epoch: 3)) {
                try ItemCipher.openAttributes(sealed, with: missing, header: header)
            }
        }
    }

    private enum AccessSecretBytes { static let record = Data(repeating: 7, count: 32) }

    @Test func `only a class seals, and only an access secret is wrapped`() throws {
        let passcode = try PrivateHalf(generating: .passcode, epoch: 1)
        #expect(throws: SlotError.missingKey(.passcode, epoch: 1)) {
            try ItemCipher.sealAttributes(record, under: passcode, header: header)
        }
        #expect(throws: SlotError.invalidAccessSecret) {
            try ItemCipher.wrap(SecretBytes(random: 31), under: half, header: header)
        }
    }

    @Test func `no changed byte and no truncation opens`() throws {
        let sealed = try ItemCipher.sealAttributes(record, under: half, header: header)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SlotError.self) { try ItemCipher.openAttributes(changed, with: half, header: header) }
            #expect(throws: SlotError.self) {
                try ItemCipher.openAttributes(sealed.prefix(index), with: half, header: header)
            }
        }
        #expect(throws: SlotError.refused) { try ItemCipher.openAttributes(sealed + [0], with: half, header: header) }
    }
}

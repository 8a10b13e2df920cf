import ExactNames
public import Foundation
public import Vault

/// What the program writes that the crash tests kill: number N is one transaction of rows that belong together.
public enum CrashTestData {
    public static let subject = Data("passcode".utf8)

    /// The only user of the store, added at the first start.
    public static func owner(in vault: VaultWriter) throws -> VaultID {
        if let known = try vault.users().first?.record { return known.id }
        let user = UserRecord(uid: 1000, name: "user", created: 0)
        try vault.addUser(user)
        return user.id
    }

    /// The user with this number, added when first asked for.
    public static func owner(number: UInt32, in vault: VaultWriter) throws -> VaultID {
        if let known = try vault.users().compactMap(\.record).first(where: { $0.uid == number }) { return known.id }
        let user = UserRecord(uid: number, name: "user \(number)", created: 0)
        try vault.addUser(user)
        return user.id
    }

    /// An item as most are: some hundred bytes, found by a few terms.
    public static func smallItem(_ number: UInt64, owner: VaultID) -> ItemRecord {
        let id = VaultID()
        return ItemRecord(
            id: id, owner: owner, itemClass: .genericPassword, suite: 1, attributes: Data(count: 300),
            accessControl: Data(count: 8), wrap: .classKey(Data(count: 76)), payload: Data(count: 60),
            index: ItemIndex(
                uniqueness: ItemDigest(prefixOf: id.bytes)!, terms: (0..<6).map { number &* 31 &+ $0 }))
    }

    public static func write(_ number: UInt32, owner: VaultID, to vault: VaultWriter) throws {
        try vault.setAttempts(
            AttemptRecord(owner: owner, subject: subject, failedCount: number, delayState: Data()))
        try vault.setKeyPair(
            KeyPairRecord(
                owner: owner, role: 1, epoch: number, publicHalf: filler(number), wrappedPrivateHalf: nil))
        try vault.insertObject(object(number, owner: owner))
        try vault.insertItem(item(number, owner: owner))
        if number > 8 {
            try vault.removeObject(id(number - 8), owner: owner)
            try vault.removeItem(id(number - 8), owner: owner)
        }
        if number > 1 {
            guard var former = try vault.item(id(number - 1), owner: owner) else { throw Inconsistency() }
            former.generation += 1
            former.payload = filler(number)
            try vault.updateItem(former)
        }
    }

    /// The highest number that was written; fails if the rows do not belong to the same one.
    public static func consistentNumber(in vault: VaultReader, owner: VaultID) throws -> UInt32 {
        let number = try vault.attempts(owner: owner, subject: subject)?.failedCount ?? 0
        guard try vault.keyPair(owner: owner, role: 1)?.epoch ?? 0 == number else { throw Inconsistency() }
        let objects = try vault.objects(owner: owner, kind: .right)
        let expected = number == 0 ? [] : (max(number, 8) - 7...number).map { id($0).bytes }
        let found = objects.compactMap { $0.record?.id.bytes }
        guard Set(found) == Set(expected), found.count == objects.count else { throw Inconsistency() }
        guard try vault.itemIDs(owner: owner).map(\.bytes) == expected, try vault.itemFaults(owner: owner).isEmpty
        else { throw Inconsistency() }
        return number
    }

    public struct Inconsistency: Error {}

    private static func id(_ number: UInt32) -> VaultID {
        VaultID(bytes: withUnsafeBytes(of: number.bigEndian) { Data($0) } + Data(count: 12))!
    }

    private static func filler(_ number: UInt32) -> Data {
        Data(repeating: UInt8(truncatingIfNeeded: number), count: 3000)
    }

    private static func item(_ number: UInt32, owner: VaultID) -> ItemRecord {
        ItemRecord(
            id: id(number), owner: owner, itemClass: .genericPassword, suite: 1, attributes: filler(number),
            accessControl: Data([1]), wrap: .classKey(Data([2])), payload: filler(number),
            index: ItemIndex(uniqueness: ItemDigest(prefixOf: id(number).bytes)!, terms: [UInt64(number), 7]))
    }

    private static func object(_ number: UInt32, owner: VaultID) -> ObjectRecord {
        ObjectRecord(
            id: id(number), owner: owner, kind: .right, suite: 1,
            attributes: ObjectAttributes(group: "group", identifier: "right \(number)", created: 0),
            accessControl: Data([1]), enclaveKind: 1, publicKey: Data([2]), keyBlob: Data([3]), payload: filler(number),
            slots: Data([4]))
    }
}

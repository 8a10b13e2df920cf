import ExactNames
import Foundation
import GRDB
import StoreTestSupport
import Vault

/// A store with a row in every table, and a way to write into its database behind its back.
struct VaultFixture {
    let folder: TestFolder
    let vault: Vault
    let alice = UserRecord(uid: 1000, name: "alice", created: 10)
    let bob = UserRecord(uid: 1001, name: "bob", created: 11)
    let right: ObjectRecord
    let otherRight: ObjectRecord
    let passcode: PasscodeRecord

    static let subject = Data("passcode".utf8)
    static let marker = "identifier-in-clear-text"

    init() throws {
        folder = try TestFolder()
        vault = try Vault(folder: folder.path, ownedBy: geteuid(), create: true, protector: TestProtector())
        right = Self.object(owner: alice.id, identifier: ExactName(Self.marker))
        otherRight = Self.object(owner: alice.id, identifier: "other")
        passcode = PasscodeRecord(
            owner: alice.id, stretch: Data([1]), salt: Data([2]), sealedPrivateHalf: Data([3]), epoch: 1,
            state: .current,
            created: 5)
        try vault.write("fixture") { try fill($0) }
    }

    private func fill(_ writer: VaultWriter) throws {
        try writer.addUser(alice)
        try writer.addUser(bob)
        for user in [alice, bob] {
            for role in 1...2 as ClosedRange<UInt8> { try writer.setKeyPair(Self.keyPair(user, role: role)) }
            try writer.setAttempts(Self.attempts(user, failedCount: 3))
        }
        try writer.setPasscodeRecord(passcode)
        try writer.insertObject(right)
        try writer.insertObject(otherRight)
        try writer.setLogAnchor(
            LogAnchorRecord(count: 7, head: Data(repeating: 9, count: 32), epoch: 1, sealedKey: Data([8])))
        try writer.setLogEpoch(
            LogEpochRecord(
                number: 1, firstIndex: 0, owner: alice.id,
                wrappedSeed: WrappedSecret(kind: .passcode, bytes: Data([7]))))
    }

    static func keyPair(_ user: UserRecord, role: UInt8, epoch: UInt32 = 1) -> KeyPairRecord {
        KeyPairRecord(
            owner: user.id, role: role, epoch: epoch, publicHalf: Data([role, 1]),
            wrappedPrivateHalf: WrappedSecret(kind: .enclave, bytes: Data([role, 2])))
    }

    static func attempts(_ user: UserRecord, failedCount: UInt32) -> AttemptRecord {
        AttemptRecord(owner: user.id, subject: subject, failedCount: failedCount, delayState: Data([5]))
    }

    static func object(owner: VaultID, identifier: ExactName, group: ExactName = "group-in-clear-text") -> ObjectRecord
    {
        ObjectRecord(
            owner: owner, kind: .right, suite: 1,
            attributes: ObjectAttributes(
                group: group, identifier: identifier, applicationLabel: Data([4]), created: 12, flags: 3),
            accessControl: Data([10]), enclaveKind: 2, publicKey: Data([11]), keyBlob: Data([12]), payload: Data([13]),
            slots: Data([14]))
    }

    /// Runs SQL as somebody who can write the database file, with the store closed to nobody.
    @discardableResult
    func tamper(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        try Self.tamper(folder.path("vault.sqlite"), sql, arguments)
    }

    @discardableResult
    static func tamper(_ path: String, _ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.write { database in
            try database.execute(sql: sql, arguments: arguments)
            return database.changesCount
        }
    }
}

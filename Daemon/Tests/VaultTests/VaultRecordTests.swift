import ExactNames
import Foundation
import StoreTestSupport
import Testing
import Vault

@Suite("Records of a vault")
struct VaultRecordTests {
    let fixture: VaultFixture
    var vault: Vault { fixture.vault }
    var owner: VaultID { fixture.alice.id }

    init() throws { fixture = try VaultFixture() }

    @Test func `every record is read back as it was written, also after opening again`() throws {
        let reopened = try Vault(
            folder: fixture.folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
        for vault in [vault, reopened] {
            try vault.read { reader throws in
                #expect(try reader.user(owner) == fixture.alice)
                #expect(Set(try reader.users().compactMap(\.record?.name)) == ["alice", "bob"])
                #expect(try reader.keyPair(owner: owner, role: 2) == VaultFixture.keyPair(fixture.alice, role: 2))
                #expect(try reader.keyPairs(owner: owner).count == 2)
                #expect(try reader.passcodeRecords(owner: owner) == [.readable(fixture.passcode)])
                #expect(
                    try reader.attempts(owner: owner, subject: VaultFixture.subject)
                        == VaultFixture.attempts(fixture.alice, failedCount: 3))
                #expect(try reader.object(fixture.right.id, owner: owner) == fixture.right)
                #expect(try reader.logAnchor()?.count == 7)
                #expect(try reader.logEpoch(1)?.wrappedSeed.kind == .passcode)
                #expect(try reader.logEpoch(1)?.owner == fixture.alice.id)
                #expect(try reader.logEpochs().count == 1)
            }
        }
    }

    @Test func `an owner has the bytes of the user's row`() {
        #expect(owner.ownerID.bytes == Array(owner.bytes))
        #expect(owner.ownerID != fixture.bob.id.ownerID)
    }

    @Test func `what is not there is nil, not an error`() throws {
        try vault.read { reader throws in
            #expect(try reader.user(VaultID()) == nil)
            #expect(try reader.keyPair(owner: owner, role: 9) == nil)
            #expect(try reader.attempts(owner: owner, subject: Data([1])) == nil)
            #expect(try reader.object(VaultID(), owner: owner) == nil)
            #expect(try reader.passcodeRecords(owner: fixture.bob.id).isEmpty)
            #expect(try reader.logEpoch(2) == nil)
        }
    }

    @Test func `an object is found by its whole name only`() throws {
        try vault.read { reader throws in
            func find(_ identifier: ExactName, _ group: ExactName, _ owner: VaultID) throws -> VaultID? {
                try reader.object(identifier: identifier, group: group, kind: .right, owner: owner)?.id
            }
            #expect(try find(ExactName(VaultFixture.marker), "group-in-clear-text", owner) == fixture.right.id)
            #expect(try find(ExactName(VaultFixture.marker), "group", owner) == nil)
            #expect(try find(ExactName(VaultFixture.marker + "x"), "group-in-clear-text", owner) == nil)
            #expect(try find(ExactName(VaultFixture.marker), "group-in-clear-text", fixture.bob.id) == nil)
        }
    }

    @Test func `another owner's object is not there`() throws {
        #expect(try vault.read { try $0.object(fixture.right.id, owner: fixture.bob.id) } == nil)
    }

    @Test func `an update counts the generation up by one and replaces all`() throws {
        var changed = fixture.right
        changed.generation = 2
        changed.payload = nil
        changed.slots = Data([99])
        try vault.write("update") { try $0.updateObject(changed) }
        #expect(try vault.read { try $0.object(changed.id, owner: owner) } == changed)
    }

    @Test(arguments: [0, 1, 3, UInt64.max]) func `an update from another generation conflicts`(generation: UInt64)
        throws
    {
        var changed = fixture.right
        changed.generation = generation
        #expect(throws: VaultError.conflict) { try vault.write("update") { try $0.updateObject(changed) } }
        #expect(try vault.read { try $0.object(changed.id, owner: owner) } == fixture.right)
    }

    @Test func `a name or an id that is in use is a duplicate`() throws {
        let namesake = VaultFixture.object(owner: owner, identifier: ExactName(VaultFixture.marker))
        #expect(throws: VaultError.duplicate) { try vault.write("insert") { try $0.insertObject(namesake) } }
        #expect(throws: VaultError.duplicate) { try vault.write("insert") { try $0.insertObject(fixture.right) } }
        #expect(throws: VaultError.duplicate) { try vault.write("user") { try $0.addUser(fixture.alice) } }
        let renamed = ObjectRecord(
            id: fixture.otherRight.id, owner: owner, kind: .right, suite: 1, generation: 2,
            attributes: fixture.right.attributes, accessControl: Data(), enclaveKind: 1, publicKey: Data(),
            keyBlob: Data(), payload: nil, slots: Data())
        #expect(throws: VaultError.duplicate) { try vault.write("update") { try $0.updateObject(renamed) } }
    }

    @Test func `the same name is free for another owner, and again after removal`() throws {
        let others = VaultFixture.object(owner: fixture.bob.id, identifier: ExactName(VaultFixture.marker))
        try vault.write("insert") { try $0.insertObject(others) }
        let next = VaultFixture.object(owner: owner, identifier: ExactName(VaultFixture.marker))
        try vault.write("replace") { writer in
            try writer.removeObject(fixture.right.id, owner: owner)
            try writer.insertObject(next)
        }
        #expect(try vault.read { try $0.object(next.id, owner: owner) } == next)
        #expect(try vault.read { try $0.object(others.id, owner: fixture.bob.id) } == others)
    }

    @Test func `rows of a user who does not exist are refused`() throws {
        let nobody = UserRecord(uid: 5, name: "nobody", created: 0)
        let stranger = VaultFixture.object(owner: nobody.id, identifier: "x")
        #expect(throws: VaultError.notFound) { try vault.write("") { try $0.insertObject(stranger) } }
        #expect(throws: VaultError.notFound) {
            try vault.write("") { try $0.setKeyPair(VaultFixture.keyPair(nobody, role: 1)) }
        }
        #expect(throws: VaultError.notFound) { try vault.write("") { try $0.updateObject(stranger) } }
        #expect(throws: VaultError.notFound) { try vault.write("") { try $0.removeUser(nobody.id) } }
    }

    @Test func `removing what is not there says so`() throws {
        #expect(throws: VaultError.notFound) { try vault.write("") { try $0.removeObject(VaultID(), owner: owner) } }
        #expect(throws: VaultError.notFound) { try vault.write("") { try $0.removeKeyPair(owner: owner, role: 9) } }
        #expect(throws: VaultError.notFound) {
            try vault.write("") { try $0.removeAttempts(owner: owner, subject: Data([1])) }
        }
    }

    @Test func `removed rows are gone and are not missing`() throws {
        try vault.write("remove") { writer in
            try writer.removeObject(fixture.right.id, owner: owner)
            try writer.removeKeyPair(owner: owner, role: 1)
            try writer.removePasscodeRecord(fixture.passcode.id, owner: owner)
            try writer.removeAttempts(owner: owner, subject: VaultFixture.subject)
        }
        try vault.read { reader throws in
            #expect(try reader.objects(owner: owner, kind: .right) == [.readable(fixture.otherRight)])
            #expect(try reader.missingObjects(owner: owner).isEmpty)
            #expect(try reader.keyPair(owner: owner, role: 1) == nil)
            #expect(try reader.passcodeRecords(owner: owner).isEmpty)
            #expect(try reader.attempts(owner: owner, subject: VaultFixture.subject) == nil)
        }
    }

    @Test func `removing a user removes everything of theirs and nothing else`() throws {
        try vault.write("remove") { try $0.removeUser(owner) }
        try vault.read { reader throws in
            #expect(try reader.users() == [.readable(fixture.bob)])
            #expect(try reader.keyPairs(owner: fixture.bob.id).count == 2)
        }
        #expect(throws: VaultError.notFound) {
            try vault.write("") { try $0.setKeyPair(VaultFixture.keyPair(fixture.alice, role: 1)) }
        }
    }

    @Test(arguments: [(true, WrapKind.passcode), (false, .enclave)])
    func `a seed under a passcode has an owner, and one under the enclave has none`(
        hasOwner: Bool, kind: WrapKind
    ) throws {
        func epoch(_ number: UInt32, owned: Bool) -> LogEpochRecord {
            LogEpochRecord(
                number: number, firstIndex: 1, owner: owned ? fixture.bob.id : nil,
                wrappedSeed: WrappedSecret(kind: kind, bytes: Data([1])))
        }
        try vault.write("epochs") { writer in
            try writer.setLogEpoch(epoch(2, owned: hasOwner))
            try writer.setLogEpoch(epoch(3, owned: !hasOwner))
        }
        #expect(try vault.read { try $0.logEpoch(2) } == epoch(2, owned: hasOwner))
        let fault = #expect(throws: VaultError.self) { try vault.read { _ = try $0.logEpoch(3) } }
        guard case .corrupt(let reference, .malformed)? = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect(reference.table == .logEpochs)
    }

    @Test func `a transaction that throws leaves no trace`() throws {
        struct Stop: Error {}
        let generation = vault.storeGeneration
        #expect(throws: Stop.self) {
            try vault.write("remove") { writer in
                try writer.removeObject(fixture.right.id, owner: owner)
                throw Stop()
            }
        }
        #expect(try vault.read { try $0.object(fixture.right.id, owner: owner) } == fixture.right)
        #expect(vault.storeGeneration == generation)
    }

    @Test func `the store's generation grows with each change, and with nothing else`() throws {
        let anchor = try #require(try vault.read { try $0.logAnchor() })
        var last = vault.storeGeneration
        func expectGrowth(_ body: () throws -> Void) rethrows {
            try body()
            #expect(vault.storeGeneration == last + 1)
            last = vault.storeGeneration
        }
        for _ in 0..<3 {
            let object = VaultFixture.object(owner: owner, identifier: "again")
            try expectGrowth { try vault.write("insert") { try $0.insertObject(object) } }
            try expectGrowth { try vault.write("remove") { try $0.removeObject(object.id, owner: owner) } }
            try expectGrowth { try vault.write("same") { try $0.setUser(fixture.alice) } }
            try expectGrowth { try vault.write("anchor") { try $0.setLogAnchor(anchor) } }
        }
        _ = try vault.read { try $0.objects(owner: owner, kind: .right) }
        try vault.write("nothing") { _ = try $0.object(fixture.right.id, owner: owner) }
        #expect(vault.storeGeneration == last)
        try vault.close()
        #expect(
            try Vault(folder: fixture.folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
                .storeGeneration == last)
    }

    @Test func `two passcode records live side by side during a change`() throws {
        let incoming = PasscodeRecord(
            owner: owner, stretch: Data([1]), salt: Data([8]), sealedPrivateHalf: Data([9]), epoch: 2, state: .incoming,
            created: 6)
        try vault.write("begin") { try $0.setPasscodeRecord(incoming) }
        #expect(try vault.read { try $0.passcodeRecords(owner: owner).count } == 2)
        var current = incoming
        current.state = .current
        try vault.write("finish") { writer in
            try writer.removePasscodeRecord(fixture.passcode.id, owner: owner)
            try writer.setPasscodeRecord(current)
        }
        #expect(try vault.read { try $0.passcodeRecords(owner: owner) } == [.readable(current)])
    }
}

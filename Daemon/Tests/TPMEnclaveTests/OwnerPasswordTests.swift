import CTSS2
import Enclave
import Foundation
import SecretMemory
import TPMTestSupport
import Testing

@testable import TPMEnclave

/// A chip whose owner hierarchy has a password.
@Suite(.timeLimit(.minutes(10))) struct OwnerPasswordTests {
    private let tpm: SoftwareTPM
    private let owner = Material.binding.owner

    init() throws { tpm = try SoftwareTPM() }

    private func password(_ text: String = SoftwareTPM.ownerPassword) -> OwnerPassword {
        OwnerPassword(SecretBytes(Data(text.utf8)))
    }

    private func enclave(_ pinned: StorageKeyName? = nil, as chipOwner: OwnerPassword? = nil) throws -> TPMEnclave {
        try TPMEnclave(at: tpm.shared, storageKey: pinned, as: chipOwner)
    }

    private func makePasscode(in enclave: TPMEnclave, as chipOwner: OwnerPassword? = nil) throws -> Data {
        let passcode = try enclave.makePasscode(
            Material.secret(1), sealing: Material.secret(9), of: owner, as: chipOwner)
        try enclave.use(passcode, of: owner)
        return passcode
    }

    private func open(_ passcode: Data, in enclave: TPMEnclave, _ value: UInt8 = 1) throws -> OpenedPasscode {
        try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(value))
    }

    /// All that a store does from day to day.
    private func expectDailyWork(
        in enclave: TPMEnclave, passcode: Data, counter: Data, _ location: SourceLocation = #_sourceLocation
    ) throws {
        try enclave.open(try enclave.makeKey()).expectSignature(location)
        let before = try enclave.wrongTries(at: passcode).count
        expect(.refused, nil, location) { _ = try open(passcode, in: enclave, 2) }
        #expect(
            try enclave.wrongTries(at: passcode) == WrongTries(count: before + 1, limit: 10), sourceLocation: location)
        let key = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        let session = try open(passcode, in: enclave).session
        try enclave.openKey(key, authorization: Material.secret(4), binding: Material.passcodeBinding, session: session)
            .expectSignature(location)
        #expect(try enclave.wrongTries(at: passcode).count == 0, sourceLocation: location)
        try enclave.changePasscode(passcode, from: Material.secret(1), to: Material.secret(5))
        try enclave.changePasscode(passcode, from: Material.secret(5), to: Material.secret(1))
        guard case .value(let number) = try enclave.read(counter, authorization: Material.secret(8)) else {
            Issue.record("no counter", sourceLocation: location)
            return
        }
        let next = try enclave.advance(counter, to: number + 1, authorization: Material.secret(8))
        #expect(next == .value(number + 1), sourceLocation: location)
        #expect(try tpm.handles() == [0, 0, 0], sourceLocation: location)
    }

    // MARK: a store on such a chip

    @Test(arguments: [false, true])
    func `a store is made with the password, and needs it no more`(hasStorageKey: Bool) throws {
        if hasStorageKey { try tpm.keepStorageKey() }
        try tpm.setOwnerPassword()
        let enclave = try self.enclave(as: password())
        let passcode = try makePasscode(in: enclave, as: password())
        let counter = try enclave.makeCounter(Material.secret(8), of: Data("store".utf8), as: password()).counter
        let persistent = try tpm.lastingHandles().filter { $0.hasPrefix("0x81") }
        #expect(persistent == ["0x81000001"])
        try expectDailyWork(in: enclave, passcode: passcode, counter: counter)
        try tpm.restart()
        let later = try self.enclave(enclave.storageKey)
        try later.use(passcode, of: owner)
        try expectDailyWork(in: later, passcode: passcode, counter: counter)
        #expect(try later.ownerHasPassword())
    }

    @Test func `the key that is made persistent is the one of the machine`() throws {
        try tpm.setOwnerPassword()
        let made = try enclave(as: password())
        try tpm.tool("tpm2_readpublic", "-c", "0x81000001", "-n", "name")
        #expect(try Data(contentsOf: URL(fileURLWithPath: tpm.path("name"))) == made.storageKey.bytes)
        try tpm.tool("tpm2_evictcontrol", "-C", "o", "-P", SoftwareTPM.ownerPassword, "-c", "0x81000001")
        try tpm.tool("tpm2_changeauth", "-c", "owner", "-p", SoftwareTPM.ownerPassword)
        #expect(try enclave().storageKey == made.storageKey, "as without a password")
        #expect(try !enclave().ownerHasPassword())
    }

    @Test func `beside another key of the machine the storage key is found again`() throws {
        try tpm.keepForeignSigningKey()
        try tpm.setOwnerPassword()
        let made = try enclave(as: password())
        #expect(try tpm.lastingHandles() == ["0x81000001", "0x81000002"])
        // Another store takes the same one.
        #expect(try enclave(as: password()).storageKey == made.storageKey)
        #expect(try tpm.lastingHandles() == ["0x81000001", "0x81000002"])
        let key = try made.makeKey()
        try enclave(made.storageKey).open(key).expectSignature()
        #expect(try tpm.handles() == [0, 0, 0])
    }

    // MARK: refusals

    @Test func `without the password, or with a wrong one, nothing is made`() throws {
        try tpm.setOwnerPassword()
        expect(.ownerPassword) { _ = try enclave() }
        for wrong in ["wrong", "", String(repeating: "x", count: 64), String(repeating: "x", count: 65)] {
            expect(.wrongOwnerPassword, "\(wrong)") { _ = try enclave(as: password(wrong)) }
        }
        #expect(try tpm.lastingHandles().isEmpty)
        let made = try enclave(as: password())
        let before = try tpm.lastingHandles()
        expect(.ownerPassword) { _ = try makePasscode(in: made) }
        expect(.ownerPassword) { _ = try made.makeCounter(Material.secret(8), of: owner) }
        let wrong = password("wrong")
        expect(.wrongOwnerPassword) { _ = try makePasscode(in: made, as: wrong) }
        expect(.wrongOwnerPassword) { _ = try made.makeCounter(Material.secret(8), of: owner, as: wrong) }
        #expect(try tpm.lastingHandles() == before)
        #expect(try tpm.handles() == [0, 0, 0])
    }

    @Test func `the password counts for the one request alone`() throws {
        try tpm.setOwnerPassword()
        let made = try enclave(as: password())
        let passcode = try makePasscode(in: made, as: password())
        expect(.ownerPassword) { try made.removePasscode(of: owner) }
        expect(.wrongOwnerPassword) { try made.removePasscode(of: owner, as: password("wrong")) }
        _ = try open(passcode, in: made)
        try made.removePasscode(of: owner, as: password())
        expect(.unreadable) { _ = try open(passcode, in: made) }
    }

    @Test func `no try at the password brings the chip nearer to its lockout`() throws {
        try tpm.setOwnerPassword()
        for _ in 1...40 { expect(.wrongOwnerPassword) { _ = try enclave(as: password("wrong")) } }
        for _ in 1...3 { expect(.ownerPassword) { _ = try enclave() } }
        #expect(try tpm.lockoutCount() == "TPM2_PT_LOCKOUT_COUNTER: 0x0")
        _ = try enclave(as: password())
    }

    @Test(arguments: [1, 31, 32, 33, 48, 63])
    func `a password is as long as its owner made it`(count: Int) throws {
        let right = String(repeating: "p", count: count)
        try tpm.setOwnerPassword(right)
        expect(.wrongOwnerPassword) { _ = try enclave(as: password(String(right.dropLast()) + "q")) }
        _ = try makePasscode(in: enclave(as: password(right)), as: password(right))
    }

    @Test func `another chip is refused with the right password too, and keeps nothing`() throws {
        let other = try SoftwareTPM()
        let pinned = try TPMEnclave(at: other.shared, storageKey: nil).storageKey
        try tpm.setOwnerPassword()
        expect(.deviceLost) { _ = try enclave(pinned, as: password()) }
        #expect(try tpm.lastingHandles().isEmpty)
        #expect(try tpm.handles() == [0, 0, 0])
    }

    // MARK: a password that comes later

    @Test func `a password that is set later changes nothing until the storage key must be computed again`() throws {
        let made = try enclave()
        let passcode = try makePasscode(in: made)
        let counter = try made.makeCounter(Material.secret(8), of: Data("store".utf8)).counter
        try tpm.setOwnerPassword()
        try expectDailyWork(in: made, passcode: passcode, counter: counter)
        expect(.ownerPassword) { _ = try enclave(made.storageKey) }
        let later = try enclave(made.storageKey, as: password())
        #expect(later.storageKey == made.storageKey)
        for enclave in [later, try enclave(made.storageKey)] {
            try enclave.use(passcode, of: owner)
            try expectDailyWork(in: enclave, passcode: passcode, counter: counter)
        }
    }

    @Test func `the chip still ends the tries at the passcode`() throws {
        try tpm.setOwnerPassword()
        let made = try enclave(as: password())
        let passcode = try makePasscode(in: made, as: password())
        for _ in 1...9 { expect(.refused) { _ = try open(passcode, in: made, 2) } }
        expect(.passcodeBlocked) { _ = try open(passcode, in: made, 2) }
        expect(.passcodeBlocked) { _ = try open(passcode, in: made) }
        #expect(try made.wrongTries(at: passcode).isBlocked)
    }

    // MARK: secrecy

    @Test func `recorded traffic does not hold the password`() throws {
        try tpm.setOwnerPassword()
        let traffic = try tpm.recorded("owner.pcap") { location in
            let made = try TPMEnclave(at: location, storageKey: nil, as: password())
            _ = try made.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner, as: password())
            _ = try made.makeCounter(Material.secret(8), of: owner, as: password())
            try made.removePasscode(of: owner, as: password())
        }
        #expect(traffic.count > 2000)
        #expect(traffic.range(of: Data(SoftwareTPM.ownerPassword.utf8)) == nil)
        // As a plain value a password has its size in front of it; a part would be enough to see it.
        #expect(traffic.range(of: Data(SoftwareTPM.ownerPassword.utf8.prefix(6))) == nil)
        #expect(traffic.range(of: Data(repeating: 1, count: 32)) == nil)
        #expect(try tpm.handles() == [0, 0, 0])
    }
}

/// The count of wrong passcodes, which anybody may read.
@Suite(.timeLimit(.minutes(10))) struct OpenIndexTests {
    private let tpm: SoftwareTPM
    private let enclave: TPMEnclave
    private let owner = Material.binding.owner

    init() throws {
        tpm = try SoftwareTPM()
        enclave = try TPMEnclave(at: tpm.shared, storageKey: nil)
    }

    @Test func `reading gives no try back and costs none`() throws {
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        for _ in 1...2 {
            expect(.refused) {
                _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2))
            }
        }
        for _ in 1...12 { #expect(try enclave.wrongTries(at: passcode).count == 2) }
    }

    /// Each branch that anybody can take permits its one command, and no other.
    @Test(arguments: [TPM2_CC_NV_Read, TPM2_CC_NV_Certify])
    func `a program that may read the index may do nothing else with it`(command: TPM2_CC) throws {
        let passcode = try enclave.makePasscode(Material.secret(1), sealing: Material.secret(9), of: owner)
        let index = try ChipPasscode(blob: passcode).index
        let uses: [(String, (ChipConnection, ESYS_TR, ESYS_TR) throws(ChipFault) -> Void)] = [
            (
                "write",
                { (connection, handle, session) throws(ChipFault) in
                    var data = TPM2B_MAX_NV_BUFFER()
                    data.size = 8
                    try connection.context.run {
                        Esys_NV_Write($0, handle, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, &data, 0)
                    }
                }
            ),
            (
                "change the value",
                { (connection, handle, session) throws(ChipFault) in
                    var value = TPM2B_AUTH()
                    try connection.context.run {
                        Esys_NV_ChangeAuth($0, handle, session, ESYS_TR_NONE, ESYS_TR_NONE, &value)
                    }
                }
            ),
            (
                "satisfy a policy",
                { (connection, handle, session) throws(ChipFault) in
                    try connection.withPolicySession { (other) throws(ChipFault) in
                        try connection.context.run {
                            Esys_PolicySecret(
                                $0, handle, other, session, ESYS_TR_NONE, ESYS_TR_NONE, nil, nil, nil, 0, nil, nil)
                        }
                    }
                }
            ),
            (
                "lock reading",
                { (connection, handle, session) throws(ChipFault) in
                    try connection.context.run {
                        Esys_NV_ReadLock($0, handle, handle, session, ESYS_TR_NONE, ESYS_TR_NONE)
                    }
                }
            ),
        ]
        for (name, use) in uses {
            let connection = try ChipConnection(tpm.shared, pinned: enclave.storageKey)
            #expect(throws: ChipFault.self, "\(name)") {
                try connection.withReading(of: index, by: command) { (handle, _, session) throws(ChipFault) in
                    try use(connection, handle, session)
                }
            }
            connection.rest()
            connection.close()
        }
        #expect(try enclave.wrongTries(at: passcode) == WrongTries(count: 0, limit: 10))
        _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1))
    }

    // MARK: indexes of earlier versions

    /// A passcode whose count only the chip's owner reads.
    private func formerPasscode() throws -> Data {
        let owner = self.owner
        return try enclave.chip.perform(for: nil) { (connection) throws(ChipFault) in
            let key = SecretBytes(random: 32)
            let writer = try connection.create(
                PublicArea.secret(policy: ObjectPolicy.digest(context: Data("writer".utf8))), authorization: key,
                sealing: SecretBytes(random: 32))
            let writing = Policy.empty.secret(of: writer.name).command(TPM2_CC_NV_Write)
            let handle = PasscodeIndex.handles(of: owner)[0]
            let nameless = PasscodeIndex(handle: handle, writing: writing, name: Data())
            guard let area = nameless.writtenArea else { throw .malformedAnswer }
            let index = PasscodeIndex(handle: handle, writing: writing, name: ChipObject.name(ofArea: area))
            let defined = try connection.define(index.publicArea, authorization: Material.secret(1))
            connection.clearAuthorization(of: defined)
            try connection.withLoadedOnce(writer) { (writer) throws(ChipFault) in
                try connection.withPolicySession { (session) throws(ChipFault) in
                    try connection.prove(writer, key, to: session)
                    try connection.restrict(session, to: TPM2_CC_NV_Write)
                    try connection.choose(index.policies, in: session)
                    try connection.writeCount(to: defined, in: session)
                }
            }
            connection.close(defined)
            return ChipPasscode(
                index: index,
                sealed: try connection.create(
                    PublicArea.passcodeSecret(of: index), authorization: SecretBytes(zeroed: 0),
                    sealing: Material.secret(9)),
                parent: try connection.create(
                    PublicArea.parent(of: index), authorization: SecretBytes(zeroed: 0),
                    sealing: SecretBytes(zeroed: 0))
            ).blob
        }
    }

    private func expectVerdicts(on passcode: Data) throws {
        func open(_ value: UInt8) throws {
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(value))
        }
        for _ in 1...8 { expect(.refused) { try open(2) } }
        try open(1)
        expect(.refused) { try enclave.changePasscode(passcode, from: Material.secret(2), to: Material.secret(5)) }
        try enclave.changePasscode(passcode, from: Material.secret(1), to: Material.secret(5))
        try open(5)
        for _ in 1...9 { expect(.refused) { try open(2) } }
    }

    @Test func `an index of an earlier version works as before`() throws {
        let passcode = try formerPasscode()
        #expect(try !ChipPasscode(blob: passcode).index.isOpenToReaders)
        try expectVerdicts(on: passcode)
        #expect(try enclave.wrongTries(at: passcode).count == 9)
        expect(.passcodeBlocked) {
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(2))
        }
    }

    @Test func `with a password of the owner its count is unknown, and its verdicts are as before`() throws {
        let passcode = try formerPasscode()
        try tpm.setOwnerPassword()
        expect(.ownerPassword) { _ = try enclave.wrongTries(at: passcode) }
        try expectVerdicts(on: passcode)
        // Nobody reads the count after the tenth; the chip's next answer tells.
        for value: UInt8 in [2, 2, 5] {
            #expect(throws: EnclaveError.self) {
                _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(value))
            }
        }
        expect(.passcodeBlocked) {
            _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(5))
        }
    }

    @Test func `with a password of the owner a key below it cannot be attested, and the refusal says why`() throws {
        let passcode = try formerPasscode()
        try enclave.use(passcode, of: owner)
        let made = try enclave.makeKey(authorization: Material.secret(4), binding: Material.passcodeBinding)
        let session = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(1)).session
        let key = try enclave.openKey(
            made, authorization: Material.secret(4), binding: Material.passcodeBinding, session: session)
        let signer = try enclave.makeAttestationKey(authorization: Material.secret(5))
        func attest() throws {
            _ = try enclave.attest(
                key, binding: Material.passcodeBinding, challenge: Material.digest, attestationKey: signer,
                authorization: Material.secret(5))
        }
        try attest()
        try tpm.setOwnerPassword()
        expect(.ownerPassword) { try attest() }
    }

    @Test func `the next passcode replaces it`() throws {
        _ = try formerPasscode()
        let passcode = try enclave.makePasscode(Material.secret(3), sealing: Material.secret(9), of: owner)
        #expect(try ChipPasscode(blob: passcode).index.isOpenToReaders)
        #expect(try tpm.lastingHandles().count == 1)
        _ = try enclave.openPasscode(passcode, of: owner, authorization: Material.secret(3))
    }
}

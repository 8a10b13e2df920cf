import Crypto
import Enclave
import Foundation
import Glibc
import KeySlots
import Logging
import PasscodeKeeperContract
import Passcodes
import SecretMemory
import StoreTestSupport
import Synchronization
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys
@testable import Refusals

/// That a chip which counts by itself fits behind the keeper's protocol.
@Suite("A keeper whose chip counts")
struct CountingChipTests {
    @Test(arguments: PasscodeKeeperContract.checks)
    func `keeps the contract of a keeper`(check: PasscodeKeeperContract.Check) throws {
        try check(on: KeeperStage { FakeChipKeeper(in: $0) })
    }
}

/// A fake chip, in a file: it holds one value, says whether another equals it, counts those that do not, and after ten of them
/// compares no more. Its value changes only for somebody who brings the present one.
private struct FakeChip {
    private struct State: Codable {
        var value: Data?
        var count: UInt32 = 0
    }

    static let limit: UInt32 = 10
    let path: String
    /// Runs when a value was counted and is not compared yet.
    let duringComparison: () -> Void

    private func load() throws -> State {
        guard let bytes = FileManager.default.contents(atPath: path) else { return State() }
        return try JSONDecoder().decode(State.self, from: bytes)
    }

    private func save(_ state: State) throws { try JSONEncoder().encode(state).write(to: URL(fileURLWithPath: path)) }

    var count: UInt32 { get throws { try load().count } }

    func define(_ value: Data) throws { try save(State(value: value)) }
    func undefine() throws { try save(State()) }

    /// Nil when it does not compare any more.
    func accepts(_ value: Data) throws -> Bool? {
        var state = try load()
        guard state.count < Self.limit else { return nil }
        state.count += 1
        try save(state)
        duringComparison()
        guard value == state.value else { return false }
        state.count = 0
        try save(state)
        return true
    }

    func change(_ former: Data, to value: Data) throws {
        guard try accepts(former) == true else { throw EnclaveError.refused }
        try define(value)
    }
}

/// A keeper over the fake chip, with what a chip's keeper has to do and nothing more.
private final class FakeChipKeeper: PasscodeKeeper {
    let exclusively = ExclusiveAccess()
    private let place: KeeperStage.Place
    private var vault: Vault { place.vault }
    private var owner: VaultID { place.owner }
    private var chip: FakeChip { FakeChip(path: place.folder + "/chip", duringComparison: place.meeting.runInterlude) }

    init(in place: KeeperStage.Place) { self.place = place }

    func attempts() throws -> AttemptStatus {
        let count = try records().isEmpty ? 0 : chip.count
        return AttemptStatus(
            failedCount: count, freeTriesLeft: Int(FakeChip.limit - count),
            remaining: count < FakeChip.limit ? .zero : Self.forGood)
    }

    private static let forGood = Duration.seconds(1000 * 24 * 3600)

    private func records() throws -> [PasscodeRecord] {
        try vault.read { try $0.passcodeRecords(owner: owner) }.compactMap(\.record)
            .sorted { $0.state.rawValue > $1.state.rawValue }
    }

    func requireRecords() throws { guard try !records().isEmpty else { throw Refusal.passcodeNotSet } }

    func prove(
        _ passcode: borrowing SecretBytes, holding held: borrowing ExclusiveAccess.WithTurn
    ) throws -> ProvedPasscode {
        try requireRecords()
        let records = try records()
        for record in records {
            let stretched = try Self.stretch(passcode, StretchSalt(Array(record.salt))!)
            guard let isRight = try chip.accepts(Self.value(stretched)) else {
                throw Refusal.lockedOut(Self.forGood)
            }
            guard isRight else { continue }
            try settle(on: record, among: records)
            let key = PasscodeKey(
                half: try half(in: record, stretched), session: SoftwarePasscodeSession(owner: owner.bytes))
            return ProvedPasscode(key: key, stretched: stretched, record: record)
        }
        throw WrongSecret(freeTriesLeft: try attempts().freeTriesLeft)
    }

    // MARK: set, change, remove

    private struct Transition: PasscodeTransition {
        let storing: (VaultWriter) throws -> Void
        let finishing: () throws -> Void
        func store(in writer: VaultWriter) throws { try storing(writer) }
        func finish() throws { try finishing() }
    }

    func set(
        _ passcode: borrowing SecretBytes, opening half: PrivateHalf, in turn: borrowing StretchTurn,
        as chipOwner: OwnerPassword?
    ) throws -> any PasscodeTransition {
        let (record, value) = try record(of: half, passcode, .current)
        try chip.define(value)
        return Transition(storing: { try $0.setPasscodeRecord(record) }, finishing: {})
    }

    func change(
        _ proved: ProvedPasscode, to passcode: borrowing SecretBytes, opening half: PrivateHalf,
        in turn: borrowing StretchTurn
    ) throws -> any PasscodeTransition {
        let (incoming, value) = try record(of: half, passcode, .incoming)
        let kept = PasscodeRecord(
            id: proved.record.id, owner: owner, stretch: proved.record.stretch, salt: proved.record.salt,
            sealedPrivateHalf: try Self.sealed(half, proved.stretched), epoch: half.epoch, state: .current, created: 0)
        let (records, former) = ([kept, incoming], Self.value(proved.stretched))
        return Transition(
            storing: { writer in for record in records { try writer.setPasscodeRecord(record) } },
            finishing: { [self] in
                try chip.change(former, to: value)
                try settle(on: incoming, among: records)
            })
    }

    func remove(_ proved: ProvedPasscode) throws -> any PasscodeTransition {
        Transition(
            storing: { [owner] writer in
                for record in try writer.passcodeRecords(owner: owner).compactMap(\.record) {
                    try writer.removePasscodeRecord(record.id, owner: owner)
                }
            }, finishing: chip.undefine)
    }

    private func settle(on record: PasscodeRecord, among records: [PasscodeRecord]) throws {
        guard records.count > 1 else { return }
        try vault.write("settle") { writer in
            for other in records where other.id != record.id { try writer.removePasscodeRecord(other.id, owner: owner) }
            var settled = record
            settled.state = .current
            try writer.setPasscodeRecord(settled)
        }
    }

    // MARK: records

    private func record(
        of half: PrivateHalf, _ passcode: borrowing SecretBytes, _ state: PasscodeRecord.State
    ) throws -> (PasscodeRecord, value: Data) {
        let salt = StretchSalt.random()
        let stretched = try Self.stretch(passcode, salt)
        let record = PasscodeRecord(
            owner: owner, stretch: Data(StretchParameters.recommended.canonicalBytes), salt: Data(salt.bytes),
            sealedPrivateHalf: try Self.sealed(half, stretched), epoch: half.epoch, state: state, created: 0)
        return (record, Self.value(stretched))
    }

    private func half(in record: PasscodeRecord, _ stretched: borrowing SecretBytes) throws -> PrivateHalf {
        let pair = try #require(try vault.read { try $0.keyPair(owner: owner, role: KeyRole.passcode.code) })
        var seed = try AES.GCM.open(
            AES.GCM.SealedBox(combined: record.sealedPrivateHalf), using: SymmetricKey(stretched))
        return try PrivateHalf(seed: SecretBytes(taking: &seed), publicHalf: PublicHalf(encoded: pair.publicHalf))
    }

    private static func stretch(_ passcode: borrowing SecretBytes, _ salt: StretchSalt) throws -> SecretBytes {
        try PasscodeStretching.quick.stretch(passcode, salt: salt, parameters: .recommended, as: .daemon)
    }

    private static func sealed(_ half: PrivateHalf, _ stretched: borrowing SecretBytes) throws -> Data {
        let key = SymmetricKey(stretched)
        return try half.withSeed { try AES.GCM.seal(Data(exposing: $0), using: key).combined! }
    }

    /// What the chip compares.
    private static func value(_ stretched: borrowing SecretBytes) -> Data {
        stretched.derivedKey(label: "chip").withUnsafeBytes { Data($0) }
    }
}

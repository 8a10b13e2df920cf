package import Enclave
import Foundation
package import KeySlots
import OstiaryMessages
import Passcodes
import Refusals
package import SecretMemory
package import Vault

/// The passcode's keeper of machines whose enclave does not count: a counter in the store, and in each passcode record the
/// private half of the passcode key, sealed by the enclave under the stretched passcode.
///
/// Not for a chip: what is sealed there under a passcode could be guessed without limit by anybody who reaches the chip.
package final class SoftwarePasscodeKeeper: PasscodeKeeper {
    package let exclusively: ExclusiveAccess
    private let enclave: any Enclave
    private let storage: KeyPairStorage
    private let counters: AttemptCounters
    private let stretching: PasscodeStretching
    private let records: PasscodeRecords

    /// - Parameter exclusively: the same as of `counters`.
    package init(
        vault: Vault, enclave: any Enclave, storage: KeyPairStorage, counters: AttemptCounters,
        exclusively: ExclusiveAccess, stretching: PasscodeStretching, eraser: JournalEraser
    ) {
        self.enclave = enclave
        self.storage = storage
        self.counters = counters
        self.exclusively = exclusively
        self.stretching = stretching
        records = PasscodeRecords(
            vault: vault, storage: storage, counters: counters, stretching: stretching, eraser: eraser)
    }

    // MARK: checking

    package func attempts() throws -> AttemptStatus { try counters.attempts(at: AttemptCounters.passcode) }

    package func requireRecords() throws { _ = try records.required() }

    package func prove(
        _ passcode: borrowing SecretBytes, holding held: borrowing ExclusiveAccess.WithTurn
    ) throws -> ProvedPasscode {
        let entered = SecretBytes(copying: passcode)
        let known = try records.required()
        let proved = try counters.attempt(at: AttemptCounters.passcode, holding: held) {
            for record in known {
                if let proved = try open(record, with: entered, in: held.turn) { return proved }
            }
            return nil as ProvedPasscode?
        }
        try records.settle(on: proved.record, among: known)
        return proved
    }

    private func open(
        _ record: PasscodeRecord, with passcode: borrowing SecretBytes, in turn: borrowing StretchTurn
    ) throws -> ProvedPasscode? {
        let stretched = try records.stretched(passcode, by: record, in: turn)
        let publicHalf = try records.publicHalf()
        do {
            let seed = try enclave.unseal(
                record.sealedPrivateHalf, authorization: stretched, context: storage.context(of: publicHalf))
            let key = PasscodeKey(
                half: try PrivateHalf(seed: seed, publicHalf: publicHalf),
                session: SoftwarePasscodeSession(owner: storage.owner.bytes))
            return ProvedPasscode(key: key, stretched: stretched, record: record)
        } catch EnclaveError.refused {
            return nil
        }
    }

    // MARK: set, change, remove

    package func set(
        _ passcode: borrowing SecretBytes, opening half: PrivateHalf, in turn: borrowing StretchTurn,
        as chipOwner: OwnerPassword?
    ) throws -> any PasscodeTransition {
        Setting(keeper: self, record: try record(sealing: half, under: passcode, state: .current, in: turn))
    }

    package func change(
        _ proved: ProvedPasscode, to passcode: borrowing SecretBytes, opening half: PrivateHalf,
        in turn: borrowing StretchTurn
    ) throws -> any PasscodeTransition {
        Change(
            keeper: self, kept: try record(resealing: half, under: proved),
            incoming: try record(sealing: half, under: passcode, state: .incoming, in: turn))
    }

    package func remove(_ proved: ProvedPasscode) -> any PasscodeTransition { Removal(keeper: self) }

    private struct Setting: PasscodeTransition {
        let keeper: SoftwarePasscodeKeeper
        let record: PasscodeRecord

        func store(in writer: VaultWriter) throws {
            try keeper.records.set(record, in: writer)
        }

        func finish() {}
    }

    private struct Change: PasscodeTransition {
        let keeper: SoftwarePasscodeKeeper
        let kept: PasscodeRecord
        let incoming: PasscodeRecord

        func store(in writer: VaultWriter) throws {
            try writer.setPasscodeRecord(kept)
            try writer.setPasscodeRecord(incoming)
        }

        func finish() throws { try keeper.records.settle(on: incoming, among: [kept, incoming]) }
    }

    private struct Removal: PasscodeTransition {
        let keeper: SoftwarePasscodeKeeper

        func store(in writer: VaultWriter) throws {
            try keeper.records.removeAll(in: writer)
        }

        func finish() {}
    }

    // MARK: records

    /// A new record that opens `half` with `passcode`. Stretching takes a noticeable fraction of a second.
    private func record(
        sealing half: PrivateHalf, under passcode: borrowing SecretBytes, state: PasscodeRecord.State,
        in turn: borrowing StretchTurn
    ) throws -> PasscodeRecord {
        let parameters = StretchParameters.recommended
        let salt = StretchSalt.random()
        let stretched = try stretching.stretch(passcode, salt: salt, parameters: parameters, in: turn)
        return PasscodeRecord(
            owner: storage.owner, stretch: Data(parameters.canonicalBytes), salt: Data(salt.bytes),
            sealedPrivateHalf: try sealed(half, under: stretched), epoch: half.epoch, state: state,
            created: UInt64(Date().timeIntervalSince1970))
    }

    /// The record of a proved passcode, opening another key pair's private half.
    private func record(resealing half: PrivateHalf, under proved: ProvedPasscode) throws -> PasscodeRecord {
        PasscodeRecord(
            id: proved.record.id, owner: storage.owner, stretch: proved.record.stretch, salt: proved.record.salt,
            sealedPrivateHalf: try sealed(half, under: proved.stretched), epoch: half.epoch, state: .current,
            created: proved.record.created)
    }

    private func sealed(_ half: PrivateHalf, under stretched: borrowing SecretBytes) throws -> Data {
        try half.withSeed {
            try enclave.seal($0, authorization: stretched, context: storage.context(of: half.publicHalf))
        }
    }
}

import Foundation
import KeySlots
import OstiaryMessages
import Passcodes
import Refusals
import SecretMemory
import Vault

/// A user's passcode records in the store, which both keepers read and change in the same way.
struct PasscodeRecords {
    let vault: Vault
    let storage: KeyPairStorage
    let counters: AttemptCounters
    let stretching: PasscodeStretching
    let eraser: JournalEraser

    /// All records, an incoming one first.
    ///
    /// - Throws: `storeUnreadable` if one of them does not verify.
    func stored() throws -> [PasscodeRecord] {
        let stored = try vault.read { try $0.passcodeRecords(owner: storage.owner) }
        let records = stored.compactMap(\.record)
        guard records.count == stored.count else {
            throw Refusal(.storeUnreadable, "A passcode record does not verify; run `ostiary doctor`.")
        }
        return records.sorted { $0.state.rawValue > $1.state.rawValue }
    }

    /// As ``stored()``, and the refusal `passcodeNotSet` when there is none.
    func required() throws -> [PasscodeRecord] {
        let records = try stored()
        guard !records.isEmpty else { throw Refusal.passcodeNotSet }
        return records
    }

    /// The public half of the passcode key, which a right passcode opens.
    func publicHalf() throws -> PublicHalf {
        guard let pair = try vault.read({ try $0.keyPair(owner: storage.owner, role: KeyRole.passcode.code) }) else {
            throw Refusal(.storeUnreadable, "The passcode key is missing. Run `ostiary doctor`.")
        }
        return try storage.publicHalf(of: pair)
    }

    /// The passcode, stretched as the record says. Takes a noticeable fraction of a second.
    func stretched(
        _ passcode: borrowing SecretBytes, by record: PasscodeRecord, in turn: borrowing StretchTurn
    ) throws -> SecretBytes {
        guard let salt = StretchSalt(Array(record.salt)) else {
            throw Refusal(.storeUnreadable, "A passcode record cannot be read. Run `ostiary doctor`.")
        }
        return try stretching.stretch(
            passcode, salt: salt, parameters: StretchParameters(canonicalBytes: Array(record.stretch)), in: turn)
    }

    // MARK: changes

    /// Stores the first record; tries at a former passcode no longer count.
    func set(_ record: PasscodeRecord, in writer: VaultWriter) throws {
        try writer.setPasscodeRecord(record)
        try forgetAttempts(in: writer)
    }

    func removeAll(in writer: VaultWriter) throws {
        for record in try writer.passcodeRecords(owner: storage.owner).compactMap(\.record) {
            try writer.removePasscodeRecord(record.id, owner: storage.owner)
        }
        try forgetAttempts(in: writer)
    }

    /// Ends an unfinished change: keeps the record that fits, and removes the other one.
    func settle(on record: PasscodeRecord, among records: [PasscodeRecord]) throws {
        guard records.count > 1 || record.state != .current else { return }
        try vault.write("passcode.settle", irrevocable: .atOnce) { writer in
            for other in records where other.id != record.id {
                try writer.removePasscodeRecord(other.id, owner: storage.owner)
            }
            var settled = record
            settled.state = .current
            try writer.setPasscodeRecord(settled)
        }
        eraser.erase()
    }

    private func forgetAttempts(in writer: VaultWriter) throws {
        try counters.forget(AttemptCounters.passcode, in: writer)
    }
}

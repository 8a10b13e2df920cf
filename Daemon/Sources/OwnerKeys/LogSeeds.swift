import Crypto
package import Enclave
import Foundation
package import KeySlots
import OstiaryMessages
import Refusals
package import SecretMemory
package import Vault

/// The seeds that the audit log's epochs started from, as one owner of the store reaches them. With a seed, that epoch's
/// records can be forged. So with a passcode set the running daemon cannot read the seeds: they are encrypted under the
/// passcode key.
///
/// A seed belongs to the owner whose passcode opens it, or lies under the enclave alone. The first owner who proves or sets a
/// passcode takes the ones under the enclave. The seeds of other owners are left as they are.
package struct LogSeeds {
    package let vault: Vault
    package let enclave: any Enclave
    /// Nil for the daemon itself, which has no passcode.
    package let owner: VaultID?

    package init(vault: Vault, enclave: any Enclave, owner: VaultID?) {
        self.vault = vault
        self.enclave = enclave
        self.owner = owner
    }

    private static let label = "ostiary.log-seed.v1"

    /// A record of a new epoch's seed: under the passcode key, or while there is none, sealed to this enclave.
    package func record(
        number: UInt32, firstIndex: UInt64, seed: borrowing SecretBytes, passcode: PrivateHalf?
    ) throws -> LogEpochRecord {
        guard let passcode else {
            return LogEpochRecord(
                number: number, firstIndex: firstIndex, owner: nil, wrappedSeed: try sealedToEnclave(seed, number))
        }
        guard let owner else { preconditionFailure("a passcode is an owner's") }
        return LogEpochRecord(
            number: number, firstIndex: firstIndex, owner: owner,
            wrappedSeed: WrappedSecret(kind: .passcode, bytes: try encrypted(seed, number, under: passcode)))
    }

    /// The owner's seeds and those under the enclave, wrapped under `passcode`.
    ///
    /// - Parameter former: the passcode key that opens them now, nil when there was none.
    package func wrapped(under passcode: PrivateHalf, openedWith former: PrivateHalf?) throws -> [LogEpochRecord] {
        try rewrapped(openedWith: former, under: passcode)
    }

    /// The same seeds, sealed to the enclave alone: the passcode is being removed.
    func sealedToEnclave(openedWith former: PrivateHalf) throws -> [LogEpochRecord] {
        try rewrapped(openedWith: former, under: nil)
    }

    private func rewrapped(openedWith former: PrivateHalf?, under passcode: PrivateHalf?) throws -> [LogEpochRecord] {
        try own().map { old in
            let seed = try open(old, passcode: former)
            return try record(number: old.number, firstIndex: old.firstIndex, seed: seed, passcode: passcode)
        }
    }

    /// Stores seeds that were wrapped before the change of the store. A seed that another owner has taken meanwhile stays theirs, and
    /// where its epoch begins stays as it is stored.
    package func store(_ records: [LogEpochRecord], in writer: VaultWriter) throws {
        let present = try Self.verified(writer.logEpochs())
        for record in records {
            guard let stored = present.first(where: { $0.number == record.number }), isReachable(stored) else {
                continue
            }
            try writer.setLogEpoch(
                LogEpochRecord(
                    number: record.number, firstIndex: stored.firstIndex, owner: record.owner,
                    wrappedSeed: record.wrappedSeed))
        }
    }

    /// Stores where an epoch begins. Its seed stays with the owner who has it now.
    package func setFirstIndex(_ firstIndex: UInt64, ofEpoch number: UInt32, in writer: VaultWriter) throws {
        guard let stored = try Self.verified(writer.logEpochs()).first(where: { $0.number == number }) else {
            throw VaultError.notFound
        }
        try writer.setLogEpoch(
            LogEpochRecord(
                number: number, firstIndex: firstIndex, owner: stored.owner, wrappedSeed: stored.wrappedSeed))
    }

    /// Whether opening the seeds takes the owner's passcode.
    package func needPasscode() throws -> Bool { try own().contains { $0.owner != nil } }

    /// The epochs whose seeds the owner can open.
    package func own() throws -> [LogEpochRecord] { try records().filter(isReachable) }

    /// Whether the seed is nobody's or the owner's.
    private func isReachable(_ record: LogEpochRecord) -> Bool { record.owner == nil || record.owner == owner }

    /// Every epoch, of all owners. One that does not verify may be anybody's, so it is an error for everybody.
    package func records() throws -> [LogEpochRecord] {
        try Self.verified(vault.read { try $0.logEpochs() })
    }

    private static func verified(_ stored: [Stored<LogEpochRecord>]) throws(Refusal) -> [LogEpochRecord] {
        let records = stored.compactMap(\.record)
        guard records.count == stored.count else {
            throw Refusal(.storeUnreadable, "An epoch record of the audit log does not verify; run `ostiary doctor`.")
        }
        return records.sorted { $0.number < $1.number }
    }

    /// One seed.
    package func open(_ record: LogEpochRecord, passcode: PrivateHalf?) throws -> SecretBytes {
        switch record.wrappedSeed.kind {
        case .enclave:
            return try enclave.unseal(
                record.wrappedSeed.bytes, authorization: SecretBytes(zeroed: 0), context: context(record.number))
        case .passcode:
            guard let passcode else { throw Refusal.passcodeNeeded }
            var seed = try AES.GCM.open(
                AES.GCM.SealedBox(combined: record.wrappedSeed.bytes), using: key(from: passcode),
                authenticating: context(record.number))
            return SecretBytes(taking: &seed)
        }
    }

    private func sealedToEnclave(_ seed: borrowing SecretBytes, _ number: UInt32) throws -> WrappedSecret {
        WrappedSecret(
            kind: .enclave,
            bytes: try enclave.seal(seed, authorization: SecretBytes(zeroed: 0), context: context(number)))
    }

    private func encrypted(
        _ seed: borrowing SecretBytes, _ number: UInt32, under passcode: PrivateHalf
    ) throws -> Data {
        let box = try unsafe seed.withUnsafeBytes {
            try unsafe AES.GCM.seal($0, using: key(from: passcode), authenticating: context(number))
        }
        return box.nonce + box.ciphertext + box.tag
    }

    private func key(from passcode: PrivateHalf) -> SymmetricKey {
        passcode.withSeed { $0.derivedKey(label: Self.label) }
    }

    private func context(_ number: UInt32) -> Data {
        Data("\(Self.label).\(number)".utf8) + vault.storeID.bytes
    }
}

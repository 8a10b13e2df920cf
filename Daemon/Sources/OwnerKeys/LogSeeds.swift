import Crypto
package import Enclave
import Foundation
package import KeySlots
import OstiaryMessages
import Refusals
package import SecretMemory
package import Vault

/// The seeds that the audit log's epochs started from. With a seed, that epoch's records can be forged. So with a
/// passcode set the running daemon cannot read the seeds: they are encrypted under the passcode key.
package struct LogSeeds {
    package let vault: Vault
    package let enclave: any Enclave

    package init(vault: Vault, enclave: any Enclave) {
        self.vault = vault
        self.enclave = enclave
    }

    private static let label = "ostiary.log-seed.v1"

    /// A record of a new epoch's seed: under the passcode key, or while there is none, sealed to this enclave.
    package func record(
        number: UInt32, firstIndex: UInt64, seed: borrowing SecretBytes, passcode: PrivateHalf?
    ) throws -> LogEpochRecord {
        let wrapped =
            if let passcode {
                WrappedSecret(kind: .passcode, bytes: try encrypted(seed, number, under: passcode))
            } else { try sealedToEnclave(seed, number) }
        return LogEpochRecord(number: number, firstIndex: firstIndex, wrappedSeed: wrapped)
    }

    /// All seeds, wrapped under `passcode`.
    ///
    /// - Parameter former: the passcode key that opens them now, nil when there was none.
    package func wrapped(under passcode: PrivateHalf, openedWith former: PrivateHalf?) throws -> [LogEpochRecord] {
        try rewrapped(openedWith: former, under: passcode)
    }

    /// All seeds, sealed to the enclave alone: the passcode is being removed.
    func sealedToEnclave(openedWith former: PrivateHalf) throws -> [LogEpochRecord] {
        try rewrapped(openedWith: former, under: nil)
    }

    private func rewrapped(openedWith former: PrivateHalf?, under passcode: PrivateHalf?) throws -> [LogEpochRecord] {
        try records().map { old in
            let seed = try open(old, passcode: former)
            return try record(number: old.number, firstIndex: old.firstIndex, seed: seed, passcode: passcode)
        }
    }

    package func store(_ records: [LogEpochRecord], in writer: VaultWriter) throws {
        for record in records { try writer.setLogEpoch(record) }
    }

    /// Whether opening the seeds takes the passcode.
    package func needPasscode() throws -> Bool { try records().contains { $0.wrappedSeed.kind == .passcode } }

    /// Every readable epoch.
    package func records() throws -> [LogEpochRecord] {
        let stored = try vault.read { try $0.logEpochs() }
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

package import Enclave
package import Foundation
package import Logging
import OstiaryMessages
import Passcodes
import Refusals
import SecretMemory
package import StoreKeys
package import Vault

/// The counter in the chip that tells the newest copy of a store from every older one.
package struct StoreRollback: Sendable {
    private let enclave: any CountingEnclave
    private let keys: StoreKeys
    private let vault: Vault
    private let log: Logger

    /// Nil for a store whose enclave has no counters.
    package init?(_ enclave: any Enclave, keys: StoreKeys, vault: Vault, log: Logger) {
        guard let enclave = enclave as? any CountingEnclave else { return nil }
        self.enclave = enclave
        self.keys = keys
        self.vault = vault
        self.log = log
    }

    /// The counter of a store that is about to be made.
    package static func newMark(
        in enclave: any CountingEnclave, keys: StoreKeys, storeID: Data, as chipOwner: OwnerPassword?
    ) throws -> RollbackMark {
        let made = try enclave.makeCounter(authorization(keys, storeID: storeID), of: storeID, as: chipOwner)
        return RollbackMark(counter: made.counter, value: made.value)
    }

    /// Whether the chip has the counter of a store whose database is not there.
    package static func hasCounter(
        in enclave: any CountingEnclave, keys: StoreKeys, storeID: Data
    ) throws(EnclaveError) -> Bool {
        try enclave.hasCounter(of: storeID, authorization: authorization(keys, storeID: storeID))
    }

    /// The authorization to move the counter: the store's keys give it.
    private static func authorization(_ keys: StoreKeys, storeID: Data) -> SecretBytes {
        var secret = keys.digest(storeID, label: "ostiary.rollback-counter.v1")
        return KeyAuthorization.derived(fromCounterSecret: SecretBytes(taking: &secret))
    }

    // MARK: at the start

    /// The counter's evidence against the store; nil when it is the newest copy. Its counter then follows it.
    package func begin() throws(EnclaveError) -> RollbackDoubt? {
        guard let mark = vault.rollbackMark else { return .uncounted }
        // The daemon may have been killed between a commit and the step.
        let reading = try advance(to: mark)
        guard reading == .value(mark.value) else { return doubt(reading, mark) }
        follow()
        return nil
    }

    private func doubt(_ reading: CounterReading, _ mark: RollbackMark) -> RollbackDoubt {
        switch reading {
        case .missing: .counterMissing
        case .replaced: .counterReplaced
        case .value(let value) where value > mark.value: .older(by: value - mark.value)
        case .value(let value): .counterBehind(by: mark.value - value)
        }
    }

    private func advance(to mark: RollbackMark) throws(EnclaveError) -> CounterReading {
        let authorization = Self.authorization(keys, storeID: vault.storeID.bytes)
        return try enclave.advance(mark.counter, to: mark.value, authorization: authorization)
    }

    private func follow() { vault.follow(self) }

    /// Removes the counter: the store is given up.
    package func removeCounter(as chipOwner: OwnerPassword?) throws(EnclaveError) {
        guard let mark = vault.rollbackMark else { return }
        try enclave.removeCounter(mark.counter, as: chipOwner)
    }

    /// Takes the store for the newest copy from now on.
    package func accept(_ doubt: RollbackDoubt, as chipOwner: OwnerPassword?) throws {
        let mark = try acceptedMark(doubt, as: chipOwner)
        try vault.write("rollback.accept") { $0.setRollbackMark(mark) }
        try advance(to: mark.value)
        follow()
    }

    private func acceptedMark(_ doubt: RollbackDoubt, as chipOwner: OwnerPassword?) throws -> RollbackMark {
        let authorization = Self.authorization(keys, storeID: vault.storeID.bytes)
        if doubt.isOfCopy, let mark = vault.rollbackMark,
            case .value(let value) = try enclave.read(mark.counter, authorization: authorization)
        {
            return RollbackMark(counter: mark.counter, value: value + 1)
        }
        return try Self.newMark(in: enclave, keys: keys, storeID: vault.storeID.bytes, as: chipOwner)
    }

    /// The line with which root accepts this copy (``AcceptanceFile``). It goes with the copy, with where the counter stands, and with this
    /// boot, and only the store's keys make it. So somebody who puts back files while the machine is off cannot write it beside them.
    func acceptanceLine(for doubt: RollbackDoubt, in boot: BootIdentifier) -> String {
        let place = "\(doubt) \(vault.rollbackMark?.value ?? 0) \(vault.storeGeneration)"
        let subject = vault.storeID.bytes + Data(boot.bytes) + Data(place.utf8)
        return keys.digest(subject, label: "ostiary.accepted-copy.v1").prefix(18).base64EncodedString()
    }

    // MARK: for the doctor

    /// The counter's evidence now; nil when it stands where the store says.
    package func state() throws(EnclaveError) -> State {
        guard let mark = vault.rollbackMark else { return .doubted(.uncounted) }
        let authorization = Self.authorization(keys, storeID: vault.storeID.bytes)
        let reading = try enclave.read(mark.counter, authorization: authorization)
        return switch reading {
        case .value(mark.value): .inStep(at: mark.value)
        case .value(let value) where value + 1 == mark.value: .owed
        default: .doubted(doubt(reading, mark))
        }
    }

    package enum State: Equatable {
        case inStep(at: UInt64)
        /// A change is on disk, and the counter did not follow yet.
        case owed
        case doubted(RollbackDoubt)
    }
}

extension StoreRollback: RollbackCounter {
    package func advance(to value: UInt64) throws {
        guard let mark = vault.rollbackMark else { throw Refusal.counterElsewhere }
        let reading = try advance(to: RollbackMark(counter: mark.counter, value: value))
        guard reading == .value(value) else { throw Refusal.counterElsewhere }
    }

    package func noteOwedStep(because error: any Error) {
        log.error("the store's counter in the TPM did not follow a change", metadata: ["cause": "\(error)"])
    }
}

extension Refusal {
    fileprivate static let counterElsewhere = Refusal(
        .internal,
        "The TPM's counter of the store does not stand where the store says, so nothing was changed. `ostiary doctor` says "
            + "more.", cause: "enclave.counter")
}

/// Why a store may not be the newest copy.
package enum RollbackDoubt: Equatable, Sendable {
    /// This many steps were counted since this copy was made.
    case older(by: UInt64)
    /// The counter stands below every number that it can have, as if the chip itself had been put back.
    case counterBehind(by: UInt64)
    case counterMissing
    case counterReplaced
    /// The store says nothing of a counter.
    case uncounted

    /// Whether the counter itself is in order.
    package var isOfCopy: Bool {
        switch self {
        case .older, .counterBehind: true
        case .counterMissing, .counterReplaced, .uncounted: false
        }
    }

    /// The doubt as a sentence about the store in `path`.
    package func words(_ path: String) -> String {
        switch self {
        case .older(let count):
            "The store in \(path) is not the newest copy: the TPM counted \(count) more \(count == 1 ? "step" : "steps") than "
                + "it knows of. Somebody put back an older copy of the folder, or two copies were in use."
        case .counterBehind(let count):
            "The TPM's counter of the store in \(path) stands \(count) below the number that the store knows. No crash explains "
                + "that: the TPM's memory was put back, or the TPM is faulty."
        case .counterMissing:
            "The counter of the store in \(path) is not in the TPM any more: somebody removed it. So nobody can tell whether "
                + "this is the newest copy of the store."
        case .counterReplaced:
            "In the TPM another counter lies in the place of that of the store in \(path): somebody removed it and made a "
                + "new one. So nobody can tell whether this is the newest copy of the store."
        case .uncounted:
            "The store in \(path) is in a TPM and names no counter there, so nobody can tell whether it is the newest copy."
        }
    }

    /// The advice of a user's daemon, for all cases.
    package static let advice =
        "Put the newest copy in its place. If there is none, end the daemon and run `ostiaryd --accept-older-store` once by hand, "
        + "with its two folders: it asks for the passcode of this copy. Later changes are lost."
}

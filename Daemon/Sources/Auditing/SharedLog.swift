package import AuditLog
package import ExactNames
import Foundation
import KeySlots
package import Logging
import OstiaryMessages
import OwnerKeys
import Refusals
import SecretMemory
import Threading
package import Vault

/// The audit log of one store, which all of its owners write. Each owner's decisions have their order in the owner's
/// ``AuditTrail``; decisions of two owners need none.
package final class SharedLog: Sendable {
    package let audit: AuditLog
    /// What programs may write into the daemon's log. All parts of the daemon write here: a user has one share of lines.
    package let callerLines: CallerLines
    private let vault: Vault
    private let log: Logger
    private let foldThread = WorkThread(name: "ostiary-trail")
    /// Held while an epoch begins: two must not take the same number.
    private let epochs = NSLock()
    private let rate: RecordRate

    /// - Parameters:
    ///   - isOfSeveral: whether several owners share the log.
    ///   - space: the free space on the disk of the log; nil when it is unknown.
    ///   - now: the time since boot, by which a program's share of the last space grows again, and a user's share of lines.
    package init(
        audit: AuditLog, vault: Vault, log: Logger, isOfSeveral: Bool, space: @escaping @Sendable () -> DiskSpace?,
        now: @escaping @Sendable () -> Duration
    ) {
        rate = RecordRate(isOfSeveral: isOfSeveral, space: space, now: now)
        self.audit = audit
        self.vault = vault
        self.log = log
        callerLines = CallerLines(log, now: now)
    }

    /// Anchors the log: the daemon ends. The owners' trails must have written their entries before.
    package func close() {
        do { try audit.close() } catch { log.error("the audit log was not anchored", metadata: ["cause": "\(error)"]) }
    }

    // MARK: records

    /// Counts a record of `program` against its share of the last space.
    func admit(_ program: ProgramOfOwner, _ entry: AuditEntry) throws(Refusal) {
        try rate.admit(program, byteCount: entry.byteCount)
    }

    /// - Parameter userID: the user whose program causes the record.
    func write(_ entry: AuditEntry, _ durability: AuditLog.Durability, for userID: UInt32) throws(Refusal) {
        do { try audit.append(entry, durability: durability) } catch { throw unwritable(error, for: userID) }
    }

    /// - Parameter userID: the user whose program causes the record; nil for the daemon itself.
    func writeOrWarn(_ entry: AuditEntry, for userID: UInt32?) {
        do { try audit.append(entry, durability: .soon) } catch {
            callerLines.write(
                .warning, "a record was not written", of: userID, ["event": "\(entry.event)", "cause": "\(error)"])
        }
    }

    /// Records an event that has happened and that releases nothing: one record of the daemon's, and one of each of these owners, since
    /// nobody reads the daemon's own but the administrator.
    package func note(_ event: AuditTrail.Event, of owners: [OwnerID]) {
        for owner in [nil] + owners.map(Optional.some) { writeOrWarn(event.entry(of: owner, "done"), for: nil) }
    }

    func anchor(for userID: UInt32) throws(Refusal) {
        do { try audit.anchor() } catch { throw unwritable(error, for: userID) }
    }

    private func unwritable(_ error: any Error, for userID: UInt32) -> Refusal {
        callerLines.write(.error, "the audit log cannot be written", of: userID, ["cause": "\(error)"])
        if case AuditLogError.diskFull = error {
            return Refusal(
                .logUnwritable, "The disk is full, so no record can be written and nothing is released; free space.",
                cause: "log.disk-full")
        }
        return Refusal(
            .logUnwritable, "The audit log cannot be written, so nothing is released; `ostiary doctor` says more.",
            cause: "log.unwritable")
    }

    /// Runs `work` when the window of folded entries has ended.
    func afterWindow(_ work: @escaping @Sendable () -> Void) {
        foldThread.run(after: EntryAggregator.window, work)
    }

    // MARK: epochs

    /// Begins a new epoch of the log's keys, whose seed opens with `passcode`, or lies under the enclave where it is nil.
    func beginEpoch(_ seeds: LogSeeds, under passcode: PrivateHalf?, for userID: UInt32) throws {
        epochs.lock()
        defer { epochs.unlock() }
        guard let current = audit.epoch else { throw unwritable(AuditLogError.damaged, for: userID) }
        let seed = SecretBytes(random: 32)
        let number = current + 1
        let provisional = try seeds.record(
            number: number, firstIndex: audit.recordCount + 1, seed: seed, passcode: passcode)
        try vault.write("log.epoch") { try $0.setLogEpoch(provisional) }
        let first = try audit.startEpoch(number, seed: seed, time: AuditTrail.milliseconds())
        // A seed that lies under the enclave may be another owner's by now.
        try vault.write("log.epoch") { try seeds.setFirstIndex(first, ofEpoch: number, in: $0) }
    }

    /// Begins a new epoch if a passcode is set but a seed is sealed by the enclave alone. That is so, for example,
    /// after a damaged log was replaced without the passcode, or another owner's passcode was removed. No seed is under the
    /// enclave alone afterwards.
    ///
    /// A failure leaves everything as it is, to be tried again with the next proof.
    func coverSeeds(_ seeds: LogSeeds, under passcode: PrivateHalf, for userID: UInt32) {
        do {
            guard try seeds.own().contains(where: { $0.owner == nil }) else { return }
            try beginEpoch(seeds, under: passcode, for: userID)
            let covered = try seeds.wrapped(under: passcode, openedWith: passcode)
            try vault.write("log.epoch") { try seeds.store(covered, in: $0) }
        } catch {
            callerLines.write(
                .error, "the audit log's seeds are not under the passcode", of: userID, ["cause": "\(error)"])
        }
    }
}

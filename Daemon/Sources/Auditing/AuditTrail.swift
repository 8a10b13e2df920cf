package import AuditLog
package import Callers
package import ExactNames
import Foundation
import Glibc
package import KeySlots
import OstiaryMessages
package import OwnerKeys
package import Refusals

/// Writes the record of each decision of one owner. If a record cannot be written, nothing is granted or released. Refusing,
/// locking, deauthorizing and the removal of a program's own objects go on.
package final class AuditTrail: Sendable {
    /// Who did what to which object.
    package struct Event: Sendable {
        package let name: String
        package let program: CallerProgram
        package var object = ""
        package var operation = ""
        /// The lease under which it happens, or that refuses; nil for none.
        package var leaseID: UInt64?
        /// The other facts that the person was shown. The record of a refusal has the cause in their place.
        package var details = ""

        package init(
            name: String, program: CallerProgram, object: String = "", operation: String = "", leaseID: UInt64? = nil
        ) {
            self.name = name
            self.program = program
            self.object = object
            self.operation = operation
            self.leaseID = leaseID
        }

        /// The same event, of this object.
        package func about(_ object: String) -> Event {
            var event = self
            event.object = object
            return event
        }

        /// - Parameter owner: the owner of the record; nil for the daemon itself.
        func entry(
            of owner: OwnerID?, _ result: String, factors: [String] = [], strength: String = "", reason: String = ""
        ) -> AuditEntry {
            AuditEntry(
                time: AuditTrail.milliseconds(), owner: owner, event: name, result: result,
                program: program.recordedName, processID: UInt32(clamping: program.processID), object: object,
                operation: operation, factors: factors, strength: strength,
                reason: reason.isEmpty ? details : reason, leaseID: leaseID)
        }
    }

    private let shared: SharedLog
    private let owner: OwnerID
    private let userID: UInt32
    private let seeds: LogSeeds
    private let refusals = FoldedEntries()
    /// Ends of grants. They are written before the owner's next record of another kind, so the log keeps its order.
    private let ends = FoldedEntries()
    /// Held for one decision and its record.
    private let deciding = NSLock()

    /// - Parameters:
    ///   - shared: the store's log.
    ///   - owner: the owner of the records, even if the daemon itself acts, as at a session's lock.
    ///   - userID: the owner's number, under which the daemon's own log counts its lines about failed records.
    ///   - seeds: those that a new passcode of the owner wraps again.
    package init(_ shared: SharedLog, of owner: OwnerID, userID: UInt32, seeds: LogSeeds) {
        self.shared = shared
        self.owner = owner
        self.userID = userID
        self.seeds = seeds
    }

    // MARK: order

    /// Runs `body` while no other decision of the owner runs. `body` checks a grant and records its use, or ends grants. So the log
    /// has decisions in their order, and no use stands after the end of its grant.
    ///
    /// `body` waits for nothing but the log and the store.
    package func decide<Result: ~Copyable>(_ body: () throws -> Result) rethrows -> Result {
        deciding.lock()
        defer { deciding.unlock() }
        return try body()
    }

    /// Ends grants at once. Then, together with the record, ends those that were given meanwhile.
    ///
    /// - Parameter folds: whether equal records of ten seconds become one. Use it for events that a program can repeat
    ///   and that destroy nothing. Each object that is destroyed has its record.
    package func end(_ event: Event, folds: Bool = false, _ grants: () -> Void) {
        grants()
        decide {
            grants()
            if folds { fold(entry(event, "done"), into: ends) } else { note(event) }
        }
    }

    // MARK: what releases

    /// Records an authorization; it is on disk and anchored when this returns, and does not count before.
    ///
    /// - Parameter isProved: whether something was proved for it. If not, a program can repeat it in a loop, so it counts
    ///   against ``RecordRate``. A person's proof is never refused for the program's other records.
    package func grant(_ event: Event, factors: [String], strength: String, isProved: Bool) throws(Refusal) {
        let entry = self.entry(event, "granted", factors: factors, strength: strength)
        if !isProved { try shared.admit(event.program.ofOwner, entry) }
        try write(entry, .beforeUse)
        try shared.anchor(for: userID)
    }

    /// Records that the passcode opened the store for a request to which nothing was granted; it is on disk and anchored when this
    /// returns.
    package func noteOpening(_ event: Event, factors: [String], strength: String) throws(Refusal) {
        try write(entry(event, "opened", factors: factors, strength: strength), .beforeUse)
        try shared.anchor(for: userID)
    }

    /// Records a use under an authorization that is recorded already; on disk within a second. A program in a loop
    /// cannot fill the disk with these: see ``RecordRate``.
    package func use(_ event: Event, factors: [String], strength: String) throws(Refusal) {
        let entry = self.entry(event, "granted", factors: factors, strength: strength)
        try shared.admit(event.program.ofOwner, entry)
        try write(entry, .soon)
    }

    /// Records a change of what is stored, before it is made.
    ///
    /// - Parameter durability: `soon` where the change alone already costs as much as a disk flush may.
    package func change(
        _ event: Event, result: String = "begun", durability: AuditLog.Durability = .beforeUse
    ) throws(Refusal) {
        let entry = self.entry(event, result)
        try shared.admit(event.program.ofOwner, entry)
        try write(entry, durability)
    }

    // MARK: what only takes away

    /// Records a refusal; equal ones in a short time are folded into one record.
    package func refuse(_ event: Event, because refusal: Refusal) {
        let reason = refusal.cause.isEmpty ? "\(refusal.code)" : refusal.cause
        fold(entry(event, "refused", reason: reason), into: refusals)
    }

    /// Writes the entry, or counts it where its like was written a short time ago.
    private func fold(_ entry: AuditEntry, into entries: FoldedEntries) {
        if entries.add(entry, writing: writeOrWarn) { scheduleFolded(entries) }
    }

    /// Writes folded entries when their window has ended, in case no other entry comes. Nothing wakes while none is held.
    private func scheduleFolded(_ entries: FoldedEntries) {
        guard entries.takesTurn() else { return }
        shared.afterWindow { [weak self] in
            guard let self else { return }
            if entries.endTurn(writing: writeOrWarn) { scheduleFolded(entries) }
        }
    }

    /// Records that a connection was refused or closed because of the program at its other end.
    package func refuseConnection(of program: CallerProgram, because cause: String) {
        refuse(Event(name: "connect", program: program), because: Refusal(.callerChanged, "", cause: cause))
    }

    /// Records an event that has happened and that releases nothing.
    package func note(_ event: Event, result: String = "done", reason: String = "") {
        ends.writeAll(writing: writeOrWarn)
        writeOrWarn(entry(event, result, reason: reason))
    }

    /// Writes the entries that are held back: the owner's account ends.
    package func writeFolded() {
        refusals.writeAll(writing: writeOrWarn)
        ends.writeAll(writing: writeOrWarn)
    }

    // MARK: epochs

    /// Begins a new epoch of the log's keys after the passcode changed, whose seed opens with the new passcode key.
    package func beginEpoch(under passcode: PrivateHalf?) throws {
        try shared.beginEpoch(seeds, under: passcode, for: userID)
    }

    /// Begins a new epoch if a passcode is set but a seed is sealed by the enclave alone; see ``SharedLog``.
    package func coverSeeds(under passcode: PrivateHalf) { shared.coverSeeds(seeds, under: passcode, for: userID) }

    // MARK: entries

    private func entry(
        _ event: Event, _ result: String, factors: [String] = [], strength: String = "", reason: String = ""
    ) -> AuditEntry {
        event.entry(of: owner, result, factors: factors, strength: strength, reason: reason)
    }

    private func write(_ entry: AuditEntry, _ durability: AuditLog.Durability) throws(Refusal) {
        ends.writeAll(writing: writeOrWarn)
        try shared.write(entry, durability, for: userID)
    }

    private func writeOrWarn(_ entry: AuditEntry) { shared.writeOrWarn(entry, for: userID) }

    package static func milliseconds() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(clamping: time.tv_sec) * 1000 + UInt64(clamping: time.tv_nsec / 1_000_000)
    }
}

package import Foundation
package import Passcodes
import Refusals
import Synchronization
package import Vault

/// One thing at a time for an owner's passcode, application passwords and keys.
///
/// Taken after `OwnerAccount.changing` where both are held. Calls may be nested.
package final class ExclusiveAccess: Sendable {
    private let lock = NSRecursiveLock()
    private let turns: StretchTurns?

    /// - Parameter turns: bounds the stretching inside; nil where nothing does.
    package init(turns: StretchTurns? = nil) { self.turns = turns }

    /// Says that its holder has a turn at stretching and the access. It is lent to the calls that need both, and cannot be kept.
    package struct WithTurn: ~Copyable {
        fileprivate let access: ExclusiveAccess
        let turn = StretchTurn()

        fileprivate init(of access: ExclusiveAccess) { self.access = access }
    }

    /// Waits for a turn at stretching and then for the access, and lends both to `body`. In the other order, one that waits for a
    /// turn would hold what another one waits for during its turn.
    package func withStretchTurnAndAccess<Result>(
        as requester: StretchRequester, _ body: (borrowing WithTurn) throws -> Result
    ) throws -> Result {
        try withStretchTurn(as: requester) { _ in try callAsFunction { try body(WithTurn(of: self)) } }
    }

    /// Waits for a turn at stretching, and lends it to `body`. Code that stretches while it holds the access or
    /// `OwnerAccount.changing` takes its turn here, before it takes either.
    package func withStretchTurn<Result: ~Copyable>(
        as requester: StretchRequester, _ body: (borrowing StretchTurn) throws -> Result
    ) throws -> Result {
        guard let turns else { return try body(StretchTurn()) }
        return try turns.withTurn(as: requester) { try body(StretchTurn()) }
    }

    package func callAsFunction<Result: ~Copyable>(_ body: () throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body()
    }
}

/// What wrong tries have brought so far.
package struct AttemptStatus: Equatable, Sendable {
    /// Wrong tries in a row; one that was begun and never finished counts.
    package let failedCount: UInt32
    /// Further wrong tries that cost no delay.
    package let freeTriesLeft: Int
    /// The rest of the delay; zero when a try may be made now, ``forGood`` when a chip looks at no passcode any more.
    package let remaining: Duration
    /// The outcome of the next wrong tries; nil when there was none since the last right one.
    package let outlook: MissOutlook?

    /// Longer than anybody waits.
    package static let forGood = Duration.seconds(1000 * 24 * 3600)

    package init(
        failedCount: UInt32, freeTriesLeft: Int, remaining: Duration, nextDelay: Duration = AttemptLimiter.firstDelay,
        triesBeforeLoss: Int? = nil
    ) {
        self.failedCount = failedCount
        self.freeTriesLeft = freeTriesLeft
        self.remaining = remaining
        outlook =
            failedCount == 0
            ? nil
            : MissOutlook(freeTriesLeft: freeTriesLeft, nextDelay: nextDelay, triesBeforeLoss: triesBeforeLoss)
    }
}

/// The outcome of further wrong tries.
package struct MissOutlook: Equatable, Sendable {
    /// Those that cost no delay.
    package let freeTriesLeft: Int
    /// The wait that the first one behind the free ones brings.
    package let nextDelay: Duration
    /// The further wrong tries after which a chip refuses the right secret too, for good; nil if nothing is lost before a
    /// delay comes.
    package let triesBeforeLoss: Int?
}

/// Counts wrong tries in the store, for secrets that nothing else counts: each application password has a counter, under the
/// id of its object, and the passcode one where no chip counts.
///
/// Each try is counted on disk before it is checked, so that a killed daemon gives no free try; after the fourth failure in
/// a row each costs a growing delay too.
package final class AttemptCounters: Sendable {
    /// What the passcode's counter is stored under.
    package static let passcode = Data("passcode".utf8)

    private let vault: Vault
    private let owner: VaultID
    private let clock: any BootClock
    private let exclusively: ExclusiveAccess
    /// The counters before the tries that are being checked. It guards the counters while they are read and written, and
    /// never a check: a chip may take long for one.
    private let beforeChecks = Mutex<[Data: AttemptState]>([:])

    /// - Parameter exclusively: the try that one check counts must be seen by the next.
    package init(vault: Vault, owner: VaultID, clock: any BootClock, exclusively: ExclusiveAccess) {
        self.vault = vault
        self.owner = owner
        self.clock = clock
        self.exclusively = exclusively
    }

    /// What wrong tries have brought, without counting one. The first look after a reboot begins the delay again and stores
    /// that. A try that is being checked does not count yet, and nobody waits for it.
    package func attempts(at subject: Data) throws -> AttemptStatus {
        try beforeChecks.withLock { beforeChecks in
            let now = clock.now()
            let settled = try beforeChecks[subject] ?? settledState(of: subject, at: now)
            let wait: Duration =
                if case .lockedOut(let remaining, _) = AttemptLimiter.beginAttempt(settled, at: now) { remaining } else
                { .zero }
            return AttemptStatus(
                failedCount: settled.failedCount, freeTriesLeft: AttemptLimiter.freeFailures(after: settled),
                remaining: wait, nextDelay: AttemptLimiter.nextDelay(after: settled))
        }
    }

    private func settledState(of subject: Data, at now: BootMoment) throws -> AttemptState {
        let state = try state(of: subject)
        let settled = AttemptLimiter.settled(state, at: now)
        if AttemptLimiter.mustStore(settled, insteadOf: state) { try save(settled, of: subject) }
        return settled
    }

    /// Counts an attempt, runs `check`, and forgives the attempts when it succeeds. Waits for a turn at stretching and for the
    /// access.
    ///
    /// - Parameter check: nil for a wrong secret. ``UncheckedSecret`` takes the attempt back; after any other error it stays
    ///   counted.
    /// - Throws: ``WrongSecret``, or the refusal `lockedOut` without a check while a delay runs.
    package func attempt<Proof>(
        at subject: Data, as requester: StretchRequester, _ check: (borrowing StretchTurn) throws -> Proof?
    ) throws -> Proof {
        try exclusively.withStretchTurnAndAccess(as: requester) { held in
            try attempt(at: subject, holding: held) { try check(held.turn) }
        }
    }

    /// The same for callers that hold both.
    func attempt<Proof>(
        at subject: Data, holding held: borrowing ExclusiveAccess.WithTurn, _ check: () throws -> Proof?
    ) throws -> Proof {
        precondition(held.access === exclusively, "the access of another owner guards other counters")
        let (former, counted) = try begin(at: subject)
        defer { beforeChecks.withLock { $0[subject] = nil } }
        let proof: Proof?
        do { proof = try check() } catch let unchecked as UncheckedSecret {
            try end(at: subject, with: former)
            throw unchecked.reason
        }
        guard let proof else {
            throw WrongSecret(
                freeTriesLeft: AttemptLimiter.freeFailures(after: counted),
                nextDelay: AttemptLimiter.nextDelay(after: counted))
        }
        try end(at: subject, with: AttemptLimiter.succeeded())
        return proof
    }

    /// Counts a try that is about to be checked.
    private func begin(at subject: Data) throws -> (former: AttemptState, counted: AttemptState) {
        try beforeChecks.withLock { beforeChecks in
            let state = try state(of: subject)
            switch AttemptLimiter.beginAttempt(state, at: clock.now()) {
            case .lockedOut(let remaining, let next):
                try save(next, of: subject)
                throw Refusal.lockedOut(remaining)
            case .allowed(let counted):
                try save(counted, of: subject)
                beforeChecks[subject] = state
                return (state, counted)
            }
        }
    }

    /// Stores the counter's state after a checked try, unless the try stays counted.
    private func end(at subject: Data, with state: AttemptState) throws {
        try beforeChecks.withLock { beforeChecks in
            try save(state, of: subject)
            beforeChecks[subject] = nil
        }
    }

    /// Throws the refusal that an attempt would get because of a delay: nobody is asked for what could not be checked.
    package func requireNoDelay(at subject: Data) throws {
        let remaining = try attempts(at: subject).remaining
        if remaining > .zero { throw Refusal.lockedOut(remaining) }
    }

    /// Removes a counter; without one nothing is done.
    func forget(_ subject: Data, in writer: VaultWriter) throws {
        guard try writer.attempts(owner: owner, subject: subject) != nil else { return }
        try writer.removeAttempts(owner: owner, subject: subject)
    }

    private func state(of subject: Data) throws -> AttemptState {
        guard let record = try vault.read({ try $0.attempts(owner: owner, subject: subject) }) else { return .initial }
        return try AttemptState(canonicalBytes: Array(record.delayState))
    }

    private func save(_ state: AttemptState, of subject: Data) throws {
        try vault.write("attempt") { writer in
            // What was removed while it was asked for took its counter along; another one would stay for ever.
            guard try isThere(subject, in: writer) else { throw Refusal.removedMeanwhile }
            try writer.setAttempts(
                AttemptRecord(
                    owner: owner, subject: subject, failedCount: state.failedCount,
                    delayState: Data(state.canonicalBytes)))
        }
    }

    /// Whether what is guessed at is stored: the passcode, or the right, key or item that has the application password.
    private func isThere(_ subject: Data, in reader: VaultReader) throws -> Bool {
        guard subject != Self.passcode else { return true }
        guard let id = VaultID(bytes: subject) else { return false }
        if try reader.object(id, owner: owner) != nil { return true }
        return try reader.item(id, owner: owner) != nil
    }
}

/// A secret that the store need not count: nobody has tried it at anything, or a chip alone has, which counts by itself.
struct UncheckedSecret: Error {
    /// The error for the caller.
    let reason: any Error
}

/// A passcode or application password that does not fit.
package struct WrongSecret: Error, Equatable {
    package let outlook: MissOutlook

    package var freeTriesLeft: Int { outlook.freeTriesLeft }
    package var triesBeforeLoss: Int? { outlook.triesBeforeLoss }

    package init(
        freeTriesLeft: Int, nextDelay: Duration = AttemptLimiter.firstDelay, triesBeforeLoss: Int? = nil
    ) {
        outlook = MissOutlook(freeTriesLeft: freeTriesLeft, nextDelay: nextDelay, triesBeforeLoss: triesBeforeLoss)
    }
}

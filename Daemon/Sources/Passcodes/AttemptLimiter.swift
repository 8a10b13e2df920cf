/// Delays that make guessing slow: pure steps from state to state, which read no clock and store nothing themselves.
///
/// Four failures in a row are free; then each brings a wait: 1, 5, 15 minutes, 1, 3 and from then on 8 hours. A wait counts
/// on CLOCK_BOOTTIME, and a reboot starts a wait that was not over from its full length. The wall clock is never read.
public enum AttemptLimiter {
    /// The wait after this many failures in a row.
    public static func delay(afterFailures count: UInt32) -> Duration {
        switch count {
        case 0...4: .zero
        case 5: .seconds(60)
        case 6: .seconds(5 * 60)
        case 7: .seconds(15 * 60)
        case 8: .seconds(60 * 60)
        case 9: .seconds(3 * 60 * 60)
        default: .seconds(8 * 60 * 60)
        }
    }

    /// Failures in a row that bring no wait.
    private static let freeCount: UInt32 = 4

    /// The wait that the first wrong entry behind the free ones brings.
    public static let firstDelay = delay(afterFailures: freeCount + 1)

    /// The wait that the next failure brings that is not free.
    public static func nextDelay(after state: AttemptState) -> Duration {
        delay(afterFailures: min(max(state.failedCount, freeCount), .max - 1) + 1)
    }

    /// Whether an attempt may be made now. In both cases store the returned state first. If the attempt is allowed,
    /// store it *before* the check, because it counts the attempt as failed already.
    public static func beginAttempt(_ state: AttemptState, at now: BootMoment) -> AttemptDecision {
        let settled = settled(state, at: now)
        if let wait = settled.wait, wait.remaining > .zero {
            return .lockedOut(remaining: wait.remaining, settled)
        }
        let (count, overflow) = state.failedCount.addingReportingOverflow(1)
        return .allowed(failed(overflow ? .max : count, at: now))
    }

    /// The state after a check that succeeded.
    public static func succeeded() -> AttemptState { .initial }

    /// The same state with its wait measured at `now`. Store it when ``mustStore(_:insteadOf:)`` says so.
    public static func settled(_ state: AttemptState, at now: BootMoment) -> AttemptState {
        guard let wait = state.wait, wait.remaining > .zero else { return state }
        guard wait.bootIdentifier == now.bootIdentifier else { return failed(state.failedCount, at: now) }
        // A clock that went back within one boot (a restored snapshot) finds more due than was stored, up to the whole
        // delay, never less.
        let due = max(.zero, wait.deadline - now.time)
        guard due <= state.delay else { return failed(state.failedCount, at: now) }
        return AttemptState(
            failedCount: state.failedCount,
            wait: .init(deadline: wait.deadline, remaining: due, bootIdentifier: wait.bootIdentifier))
    }

    /// Whether a settled state has to be stored: its wait began again, which would otherwise begin again each time that it is
    /// looked at; or it is over, which a later reboot would not know. While a wait runs, the stored state says enough.
    public static func mustStore(_ settled: AttemptState, insteadOf stored: AttemptState) -> Bool {
        guard let wait = settled.wait, let former = stored.wait else { return settled != stored }
        return wait.bootIdentifier != former.bootIdentifier || wait.deadline != former.deadline
            || (wait.remaining == .zero) != (former.remaining == .zero)
    }

    /// How many more failures are free before one brings a wait.
    public static func freeFailures(after state: AttemptState) -> Int {
        max(0, Int(freeCount) - Int(state.failedCount))
    }

    private static func failed(_ count: UInt32, at now: BootMoment) -> AttemptState {
        let delay = delay(afterFailures: count)
        guard delay > .zero else { return AttemptState(failedCount: count, wait: nil) }
        return AttemptState(
            failedCount: count,
            wait: .init(deadline: now.time + delay, remaining: delay, bootIdentifier: now.bootIdentifier))
    }
}

/// Whether an attempt may be made, with the state to store.
public enum AttemptDecision: Equatable, Sendable {
    /// Store the state, then check. After a success store ``AttemptLimiter/succeeded()``.
    case allowed(AttemptState)
    /// Refuse without checking; `remaining` is how long from now.
    case lockedOut(remaining: Duration, AttemptState)
}

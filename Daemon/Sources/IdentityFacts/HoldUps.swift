/// Users for whom the helper worked too long. A process can make the helper wait on purpose, and all other users wait meanwhile. So the
/// helper does nothing for such a user for a while.
struct HoldUps: Sendable {
    /// For a user whose process kept the helper from answering.
    private struct Pause: Sendable {
        var length: Duration
        var end: ContinuousClock.Instant
    }

    /// The time that slow answers took.
    private struct Debt: Sendable {
        let duration: Duration
        let time: ContinuousClock.Instant

        /// The part that time has not paid back.
        func rest(at now: ContinuousClock.Instant) -> Duration { duration - (now - time) / HoldUps.payback }
    }

    /// The first pause. Each further one is twice as long.
    static let first: Duration = .seconds(1)
    static let longest: Duration = .seconds(60)
    /// A user who did not do it for so long is forgiven.
    static let memory: Duration = .seconds(600)

    /// An answer takes less than a millisecond, and a busy machine may need this long. Only the time beyond it is counted.
    static let usual: Duration = .milliseconds(50)
    /// As long as one answer may take at most. So one slow answer alone refuses nothing.
    static let allowance: Duration = .seconds(2)
    /// A user gets back a tenth of the time that passes. So slow answers for one user take no more than that of the helper's time.
    static let payback = 10

    private var pauses: [UInt32: Pause] = [:]
    private var debts: [UInt32: Debt] = [:]

    /// Whether the helper does nothing for the user now.
    func isPaused(_ userID: UInt32, at now: ContinuousClock.Instant) -> Bool {
        if let pause = pauses[userID], now < pause.end { return true }
        guard let debt = debts[userID] else { return false }
        return debt.rest(at: now) > Self.allowance
    }

    /// To be called after a process of the user kept the helper from answering.
    mutating func note(_ userID: UInt32, at now: ContinuousClock.Instant) {
        pauses = pauses.filter { now < $0.value.end + Self.memory }
        let length = pauses[userID].map { min($0.length * 2, Self.longest) } ?? Self.first
        pauses[userID] = Pause(length: length, end: now + length)
    }

    /// To be called after an answer for the user, with the time that it took.
    mutating func charge(_ userID: UInt32, _ duration: Duration, at now: ContinuousClock.Instant) {
        guard duration > Self.usual else { return }
        debts = debts.filter { $0.value.rest(at: now) > .zero }
        let rest = debts[userID]?.rest(at: now) ?? .zero
        debts[userID] = Debt(duration: rest + duration - Self.usual, time: now)
    }
}

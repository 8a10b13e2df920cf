/// Users for whom the helper worked too long. A process can make the helper wait on purpose, and all other users wait meanwhile. So the
/// helper does nothing of the kind for such a user for a while.
///
/// Looks and searches count apart. A slow look is the doing of the process that is looked at, whose user pays all of it. A search goes
/// through the processes of everybody, so another user who has many makes it slow, too. Who searches pays a part of its time at most, and
/// with searches alone.
struct HoldUps: Sendable {
    /// What the helper does for a user.
    enum Work: Sendable {
        /// A look at one process.
        case look
        /// A search through all processes for a terminal's namesake, before each question on a terminal.
        case search
    }

    /// What counts together.
    private struct Account: Hashable, Sendable {
        let work: Work
        let userID: UInt32
    }

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
    /// A user gets back a tenth of the time that passes. So slow looks for one user take no more than that of the helper's time.
    static let payback = 10
    /// The most that is counted of one search. So the searches of a user who asks ten questions at once, and one every two seconds then,
    /// are never refused for their time, whatever other users start. Whoever asks more often pays for it.
    static let searchPrice = allowance / 10

    private var pauses: [Account: Pause] = [:]
    private var debts: [Account: Debt] = [:]

    /// Whether the helper does none of this work for the user now.
    func isPaused(_ work: Work, of userID: UInt32, at now: ContinuousClock.Instant) -> Bool {
        let account = Account(work: work, userID: userID)
        if let pause = pauses[account], now < pause.end { return true }
        guard let debt = debts[account] else { return false }
        return debt.rest(at: now) > Self.allowance
    }

    /// To be called after work for the user kept the helper from answering.
    mutating func note(_ work: Work, of userID: UInt32, at now: ContinuousClock.Instant) {
        pauses = pauses.filter { now < $0.value.end + Self.memory }
        let account = Account(work: work, userID: userID)
        let length = pauses[account].map { min($0.length * 2, Self.longest) } ?? Self.first
        pauses[account] = Pause(length: length, end: now + length)
    }

    /// To be called after an answer for the user, with the time that it took.
    mutating func charge(_ work: Work, of userID: UInt32, _ duration: Duration, at now: ContinuousClock.Instant) {
        guard duration > Self.usual else { return }
        debts = debts.filter { $0.value.rest(at: now) > .zero }
        let account = Account(work: work, userID: userID)
        let rest = debts[account]?.rest(at: now) ?? .zero
        debts[account] = Debt(duration: rest + Self.price(of: work, duration), time: now)
    }

    private static func price(of work: Work, _ duration: Duration) -> Duration {
        let excess = duration - usual
        return switch work {
        case .look: excess
        case .search: min(excess, searchPrice)
        }
    }
}

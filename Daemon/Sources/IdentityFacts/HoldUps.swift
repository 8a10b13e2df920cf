/// Users whose processes kept the helper from answering. A process can do so on purpose, and all other users wait meanwhile. So the
/// processes of such a user are not looked at for a while, and for longer each time.
struct HoldUps: Sendable {
    private struct Pause: Sendable {
        var length: Duration
        var end: ContinuousClock.Instant
    }

    static let first: Duration = .seconds(1)
    static let longest: Duration = .seconds(60)
    /// A user who did not do it for so long is forgiven.
    static let memory: Duration = .seconds(600)

    private var pauses: [UInt32: Pause] = [:]

    /// Whether the user's processes are not looked at now.
    func isPaused(_ userID: UInt32, at now: ContinuousClock.Instant) -> Bool {
        pauses[userID].map { now < $0.end } ?? false
    }

    /// To be called after a process of the user kept the helper from answering.
    mutating func note(_ userID: UInt32, at now: ContinuousClock.Instant) {
        pauses = pauses.filter { now < $0.value.end + Self.memory }
        let length = pauses[userID].map { min($0.length * 2, Self.longest) } ?? Self.first
        pauses[userID] = Pause(length: length, end: now + length)
    }
}

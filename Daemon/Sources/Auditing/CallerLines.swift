package import Logging
import Synchronization

/// Lines of the daemon's log that programs cause: refused connections, broken messages, and the errors of requests while the store is
/// damaged or the disk full. A program in a loop would fill the journal with them, and the service manager would then drop the daemon's
/// other lines. So each user has a share of lines, and so have all users together.
///
/// A line that is written says how many lines of its user were not.
package final class CallerLines: Sendable {
    /// Lines of one user at once, and each second from then on.
    static let burst = 20.0
    static let perSecond = 0.1
    /// The same for all users: one person may have 65,536 numbers (subuid(5)).
    static let burstOfAll = 200.0
    static let perSecondOfAll = 1.0
    /// Users that are told apart.
    static let userLimit = 1000

    private struct Share {
        var bucket: TokenBucket
        var withheldCount = 0
    }

    private struct State {
        var all: TokenBucket?
        /// By the user's number; nil for lines of which nobody knows the user.
        var users: [UInt32?: Share] = [:]
    }

    private let log: Logger
    private let now: @Sendable () -> Duration
    private let state = Mutex(State())

    /// - Parameter now: the time since boot.
    init(_ log: Logger, now: @escaping @Sendable () -> Duration) {
        self.log = log
        self.now = now
    }

    /// Writes the line, or counts it.
    ///
    /// - Parameter userID: the user whose program causes it; nil when nobody knows.
    package func write(
        _ level: Logger.Level, _ message: Logger.Message, of userID: UInt32?, _ metadata: Logger.Metadata = [:]
    ) {
        guard let withheldCount = admit(userID) else { return }
        var metadata = metadata
        if withheldCount > 0 { metadata["lines withheld before"] = "\(withheldCount)" }
        log.log(level: level, message, metadata: metadata)
    }

    /// - Returns: how many lines of the user were withheld since the last one; nil when this one is withheld, too.
    private func admit(_ userID: UInt32?) -> Int? {
        let time = now()
        return state.withLock { state in
            var all = state.all ?? TokenBucket(Self.burstOfAll, perSecond: Self.perSecondOfAll, at: time)
            var share = Self.share(of: userID, in: &state, at: time)
            defer {
                state.all = all
                state.users[userID] = share
            }
            all.fill(until: time)
            share.bucket.fill(until: time)
            guard share.bucket.has(1), all.has(1) else {
                share.withheldCount += 1
                return nil
            }
            all.take(1)
            share.bucket.take(1)
            defer { share.withheldCount = 0 }
            return share.withheldCount
        }
    }

    /// A new user takes the entry of the one who was counted least recently, where there are too many.
    private static func share(of userID: UInt32?, in state: inout State, at time: Duration) -> Share {
        if let known = state.users[userID] { return known }
        if state.users.count >= userLimit,
            let oldest = state.users.min(by: { $0.value.bucket.time < $1.value.bucket.time })
        {
            state.users.removeValue(forKey: oldest.key)
        }
        return Share(bucket: TokenBucket(burst, perSecond: perSecond, at: time))
    }
}

import Foundation
import Glibc
import Synchronization
import TemplateAnswers

/// The fingerprint templates of a user, from `ostiary-templates`.
///
/// A user's processes cannot read the templates. The helper can, and sends a digest of them. So the daemon notices a
/// finger that was replaced under the same name, which fprintd's list of names does not show.
public final class EnrolledTemplates: Sendable {
    private let socketPath: String
    private let key: [UInt8]
    private let userID: UInt32
    private let serverUserID: UInt32
    private let isFollowed: @Sendable () -> Bool

    /// - Parameters:
    ///   - socketPath: the helper's socket.
    ///   - key: 32 bytes that belong to the store. Another key gives other digests.
    ///   - userID: the owner of the templates. The helper tells a process about the process's own user, and the machine's daemon about
    ///     each user.
    ///   - serverUserID: the user who must have made the socket; root, except in tests.
    ///   - isFollowed: whether changes are to be followed now. Each connection that follows takes a watch of root's, of which there are
    ///     128, so a daemon for many users follows those who are there. It is asked before each connection, and may block.
    public init(
        socketPath: String, key: [UInt8], of userID: UInt32, serverUserID: UInt32 = 0,
        isFollowed: @escaping @Sendable () -> Bool = { true }
    ) {
        precondition(key.count == TemplateRequest.keyByteCount, "the key has a fixed size")
        (self.socketPath, self.key, self.userID, self.serverUserID) = (socketPath, key, userID, serverUserID)
        self.isFollowed = isFollowed
    }

    /// Asks once. Blocks until the answer, at most for `duration`.
    public func current(within duration: Duration = TemplatesLimits.answer) -> EnrolledSet {
        do throws(TemplatesConnection.Failure) {
            guard let answer = try connect().next(until: .now.advanced(by: duration)) else { return .silent }
            return EnrolledSet(answer)
        } catch { return error.enrolledSet }
    }

    /// Begins to report changes, on a thread of its own; returns at once.
    ///
    /// - Parameter tell: called with the present set, and then with each changed one, until the result is released or
    ///   stopped. A helper that is missing or ends is reported too, as ``EnrolledSet/absent`` and the like. It is then
    ///   tried again, and so is one that refuses, with growing delays of at most a minute. While changes are not to be followed,
    ///   nothing is reported and nothing is connected.
    public func follow(_ tell: @escaping @Sendable (EnrolledSet) -> Void) -> TemplatesFollower {
        follow(lookingEvery: TemplatesLimits.look, tell)
    }

    /// - Parameter pause: the time between two questions whether changes are to be followed.
    func follow(
        lookingEvery pause: Duration, _ tell: @escaping @Sendable (EnrolledSet) -> Void
    ) -> TemplatesFollower {
        TemplatesFollower(
            connect: { [self] () throws(TemplatesConnection.Failure) in try isFollowed() ? connect() : nil },
            lookingEvery: pause, tell)
    }

    private func connect() throws(TemplatesConnection.Failure) -> TemplatesConnection {
        try TemplatesConnection.open(
            socketPath, request: TemplateRequest.bytes(key: key, userID: userID), serverUserID: serverUserID)
    }
}

/// Reports changes of the templates until it is stopped or released.
public final class TemplatesFollower: Sendable {
    /// Nil while changes are not to be followed.
    typealias Connect = @Sendable () throws(TemplatesConnection.Failure) -> TemplatesConnection?

    private let loop: FollowingLoop

    fileprivate init(
        connect: @escaping Connect, lookingEvery pause: Duration, _ tell: @escaping @Sendable (EnrolledSet) -> Void
    ) {
        let loop = FollowingLoop()
        self.loop = loop
        let thread = Thread { loop.run(connect, lookingEvery: pause, tell) }
        thread.name = "ostiary-finger"
        thread.start()
    }

    /// Ends the reports; a call that runs now may still finish. Does not block.
    public func stop() { loop.stop() }

    deinit { loop.stop() }
}

/// The thread's part, which does not keep the follower alive.
private final class FollowingLoop: Sendable {
    private struct State {
        var isStopped = false
        var connection: TemplatesConnection?
        var told: EnrolledSet?
    }

    private let state = Mutex(State())
    private let stopped = DispatchSemaphore(value: 0)

    func run(
        _ connect: TemplatesFollower.Connect, lookingEvery pause: Duration, _ tell: (EnrolledSet) -> Void
    ) {
        var delay = TemplatesLimits.firstDelay
        while true {
            var (wasAnswered, wasServed) = (false, false)
            do throws(TemplatesConnection.Failure) {
                guard let connection = try connect() else {
                    guard isGoingOn(after: pause) else { return }
                    continue
                }
                guard keep(connection) else { return }
                var deadline: ContinuousClock.Instant? = .now.advanced(by: TemplatesLimits.answer)
                while let answer = try connection.next(until: deadline) {
                    (wasAnswered, deadline) = (true, nil)
                    wasServed = answer != .refused
                    say(EnrolledSet(answer), tell)
                }
                if !wasAnswered { say(.silent, tell) }
            } catch { say(error.enrolledSet, tell) }
            // After an answer, try again soon: a new connection starts the helper again. One that refuses will refuse again.
            delay = wasServed ? TemplatesLimits.firstDelay : min(delay * 2, TemplatesLimits.longestDelay)
            guard isGoingOn(after: delay) else { return }
        }
    }

    /// Waits; false when it was stopped meanwhile.
    private func isGoingOn(after delay: Duration) -> Bool {
        stopped.wait(timeout: .now() + delay / .seconds(1)) == .timedOut
    }

    func stop() {
        let connection = state.withLock { state in
            state.isStopped = true
            return state.connection.take()
        }
        connection?.end()
        stopped.signal()
    }

    /// False if ``stop()`` was called meanwhile.
    private func keep(_ connection: TemplatesConnection) -> Bool {
        state.withLock { state in
            if !state.isStopped { state.connection = connection }
            return !state.isStopped
        }
    }

    private func say(_ set: EnrolledSet, _ tell: (EnrolledSet) -> Void) {
        let isNew = state.withLock { state in
            guard !state.isStopped, state.told != set else { return false }
            state.told = set
            return true
        }
        if isNew { tell(set) }
    }
}

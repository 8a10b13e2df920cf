import Glibc
package import HelperProcesses
package import ProcessFacts
import Synchronization
import Threading
package import UnixSocket

/// The helper that may look at the processes of every user (`Documentation/formats/identity.md`), from the daemon's side.
///
/// All threads share one connection, and it is made again after its end. Each wait has a limit, so that one process that holds up the helper
/// refuses requests and stops nobody. Users take turns: the questions of one delay another user's question by one at most. The time of
/// slow answers counts for the user whom the question is about, that of searches to a limit (``HoldUps``).
package final class IdentityHelper: Sendable {
    /// How long a thread waits for each of the things that it needs.
    package struct Patience: Sendable {
        /// Longer than one look of another thread, and the start of a helper behind it.
        package var turn: Duration = .seconds(4)
        /// The service manager may have to start the helper.
        package var greeting: Duration = .seconds(4)
        /// After half a second with one process, and two with all of them, the helper ends itself.
        package var answer: Duration = .seconds(2)

        package init() {}
    }

    private let socket: HelperSocket
    /// The effective user of a process, by its folder; nil where that is hidden.
    private let owner: @Sendable (SharedDescriptor) -> UInt32?
    private let patience: Patience
    private let now: @Sendable () -> ContinuousClock.Instant
    /// Taken by the thread whose question is on the connection. A lock has no limit, and knows no users.
    private let turns: Turns<UInt32>
    private let connection = Mutex(Connection())
    private let holdUps = Mutex(HoldUps())

    package convenience init(_ socket: HelperSocket, patience: Patience = Patience()) {
        self.init(socket, patience: patience, seeing: { Self.user(of: $0) })
    }

    /// - Parameters:
    ///   - owner: sees the effective user of a process.
    ///   - now: the clock for pauses and for the time of the answers.
    init(
        _ socket: HelperSocket, patience: Patience, seeing owner: @escaping @Sendable (SharedDescriptor) -> UInt32?,
        at now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, turns: Turns<UInt32> = Turns()
    ) {
        (self.socket, self.patience, self.owner) = (socket, patience, owner)
        (self.now, self.turns) = (now, turns)
    }

    /// Looks at the process of a folder below `/proc`.
    ///
    /// - Parameters:
    ///   - named: the user who answers for it if the folder shows none, as below `hidepid`; nil for nobody.
    ///   - passing: whether the helper is to pass descriptors, too. It may pass fewer of them than there are, and none.
    package func look(
        at folder: SharedDescriptor, of named: UInt32? = nil, passing: Bool
    ) throws(FactFailure) -> ProcessLook {
        switch try ask(.look(at: folder, passing: passing), ofUser: owner(folder) ?? named) {
        case .look(let look): return look
        case .failure(let failure): throw failure
        case .namesake: throw .unreadable
        }
    }

    /// A process of the user, in another session, whose controlling terminal has the same number.
    ///
    /// It throws ``FactFailure/unreadable`` if the user asked for more slow searches than ``HoldUps`` allows, if the user had no turn in
    /// time (``Patience``), and if the helper did not come through all processes in two seconds. No other user alone causes the first. The
    /// last takes so many processes, or so little of the processors left to the helper, that nobody's search comes to its end.
    package func namesake(
        ofTerminal number: UInt32, besidesSession session: Int32, of userID: UInt32
    ) throws(FactFailure) -> Int32? {
        switch try ask(.namesake(ofTerminal: number, besidesSession: session, of: userID), ofUser: userID) {
        case .namesake(let processID): return processID
        case .failure(let failure): throw failure
        case .look: throw .unreadable
        }
    }

    /// The effective user of a process. Nil below `hidepid`, where the daemon does not see whose it is.
    private static func user(of folder: SharedDescriptor) -> UInt32? {
        var status = stat()
        return unsafe fstat(folder.number, &status) == 0 ? status.st_uid : nil
    }

    /// - Parameter userID: the user whose process the question is about, or whose processes; nil where nobody is known.
    private func ask(_ question: IdentityQuestion, ofUser userID: UInt32?) throws(FactFailure) -> IdentityAnswer {
        let work = question.work
        guard !isPaused(work, of: userID), turns.take(for: userID, within: patience.turn) else { throw .unreadable }
        defer { turns.passOn() }
        // Those that waited behind the user's process ask about the user's others.
        guard !isPaused(work, of: userID) else { throw .unreadable }
        switch connection.withLock({ $0.ask(question, at: socket, patience, now) }) {
        case .answered(let answer, after: let duration):
            if let userID { holdUps.withLock { $0.charge(work, of: userID, duration, at: now()) } }
            return answer
        case .heldUp: if let userID { holdUps.withLock { $0.note(work, of: userID, at: now()) } }
        case .unanswered: break
        }
        throw .unreadable
    }

    private func isPaused(_ work: HoldUps.Work, of userID: UInt32?) -> Bool {
        guard let userID else { return false }
        return holdUps.withLock { $0.isPaused(work, of: userID, at: now()) }
    }
}

/// What came of a question.
private enum Asked {
    /// With the time from the question to the answer. The start of a helper is nobody's time.
    case answered(IdentityAnswer, after: Duration)
    /// The helper had the question, and ended or stayed silent over it.
    case heldUp
    /// There is no helper, or no answer that has the form of one.
    case unanswered
}

/// The connection, and its number of the next question.
private struct Connection: ~Copyable, Sendable {
    /// Nil before the first question, and after an end.
    private var helper: Helper?
    private var serial: UInt32 = 0

    private enum Outcome {
        case answered(IdentityAnswer)
        /// The helper hung up.
        case ended
        case silent
        /// It gave an answer that has not its form.
        case failed
    }

    /// A helper that hangs up sooner did not do so over the question.
    private static let soon: Duration = .milliseconds(100)

    init() {}

    mutating func ask(
        _ question: IdentityQuestion, at socket: HelperSocket, _ patience: IdentityHelper.Patience,
        _ now: () -> ContinuousClock.Instant
    ) -> Asked {
        if let kept = helper.take() {
            let begin = now()
            switch ask(question, kept, patience) {
            case .answered(let answer): return .answered(answer, after: now() - begin)
            case .silent: return .heldUp
            case .failed: return .unanswered
            // Maybe long ago: it says nothing of this question, and another helper is asked once.
            case .ended: if now() - begin >= Self.soon { return .heldUp }
            }
        }
        guard let made = try? Helper(.activated(socket), greetingWithin: patience.greeting) else { return .unanswered }
        let begin = now()
        switch ask(question, made, patience) {
        case .answered(let answer): return .answered(answer, after: now() - begin)
        case .silent, .ended: return .heldUp
        case .failed: return .unanswered
        }
    }

    /// Keeps the helper only if it answered: what comes behind another answer belongs to nobody's question.
    private mutating func ask(
        _ question: IdentityQuestion, _ helper: consuming Helper, _ patience: IdentityHelper.Patience
    ) -> Outcome {
        serial &+= 1
        guard helper.send(question.bytes(serial: serial), passing: question.descriptors) else { return .ended }
        switch helper.wait(until: .now.advanced(by: patience.answer), stoppedBy: -1) {
        case .message: break
        case .ended: return .ended
        case .timedOut, .stopped: return .silent
        }
        switch helper.receive(atMost: IdentityAnswer.byteCount, expecting: UnixSocket.passedDescriptorCount) {
        case .message(let bytes, let descriptors):
            guard let answer = IdentityAnswer(bytes, descriptors, to: question, serial: serial) else { return .failed }
            self.helper = consume helper
            return .answered(answer)
        case .ended: return .ended
        case .tooLong, .surplusDescriptors: return .failed
        }
    }
}

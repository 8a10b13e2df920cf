import Cancellations
import Dispatch
import Refusals
import Sessions
import Synchronization
import Threading
import UnixSocket

/// One connection of a module: its thread reads what the module sends and says each second that the daemon is there, while another
/// thread answers the request.
final class SignInConversation: Sendable {
    let peer: PeerCredentials
    private let channel: SignInChannel
    private let dialog: SignInDialog
    private let parts: SignInParts
    /// Ends what the module waits for.
    private let cancellation = RequestCancellation()
    /// Readable when the daemon ends.
    private let ending: PollableCancellation
    /// Readable when the answer is there.
    private let finished: PollableCancellation
    private let worker = DispatchGroup()
    private let answer = Mutex<SignInAnswer?>(nil)

    init(on socket: UnixSocket, with peer: PeerCredentials, _ parts: SignInParts) throws(SystemCallError) {
        (self.peer, self.parts) = (peer, parts)
        channel = try SignInChannel(socket)
        dialog = SignInDialog(on: channel)
        ending = try PollableCancellation()
        finished = try PollableCancellation()
    }

    /// Who runs the module's program, if it is root's; nil for one of the machine.
    var userBehind: UInt32? {
        peer.userID == 0 ? parts.users.behind(channel.socket, peer, parts.services.facts) : nil
    }

    /// The daemon ends. Returns at once, on any thread.
    func end() {
        ending.cancel()
        cancellation.cancel(.locked)
    }

    /// Returns when nothing of the connection goes on.
    func run() {
        guard channel.send(.hello),
            case .message(let request, let terminal) = channel.wait(
                milliseconds: SignInLimits.requestMilliseconds, or: ending.descriptor), request.isRequest
        else { return }
        startWorker(request, terminal)
        let answer = waitForAnswer()
        if answer == nil, !request.isCarriedOut { cancellation.cancel(.connectionEnded) }
        worker.wait()
        guard let answer, channel.send(answer) else { return }
        channel.linger(until: ending.descriptor)
    }

    private func startWorker(_ request: ModuleMessage, _ terminal: SharedDescriptor?) {
        // A module that has told of a change may leave: the change is made all the same, and so at the daemon's end.
        let signIn = SignIn(
            parts: parts, socket: channel.socket, peer: peer, userBehind: userBehind, dialog: dialog,
            cancellation: request.isCarriedOut ? RequestCancellation() : cancellation)
        worker.enter()
        do throws(ThreadShortage) {
            try Threads.start("ostiary-signing") { [self] in finish(with: signIn.answer(to: request, terminal)) }
        } catch { finish(with: signIn.failure(of: request)) }
    }

    private func finish(with answer: SignInAnswer) {
        self.answer.withLock { $0 = answer }
        finished.cancel()
        worker.leave()
    }

    /// - Returns: nil when the module has left, or does not keep to the protocol.
    private func waitForAnswer() -> SignInAnswer? {
        while true {
            switch channel.wait(milliseconds: SignInLimits.waitMilliseconds, or: finished.descriptor) {
            case .other: return answer.withLock { $0 }
            case .timedOut:
                // While the person types the module keeps no time, and reads nothing.
                guard dialog.isAsking || channel.send(.wait) else { return nil }
            case .message(.typed(let secret), _):
                guard dialog.answer(.typed(secret)) else { return nil }
            case .message(.cancelled, _):
                guard dialog.answer(.cancelled) else { return nil }
            case .message, .ended: return nil
            }
        }
    }
}

extension ModuleMessage {
    /// Whether a connection begins with it.
    fileprivate var isRequest: Bool {
        switch self {
        case .authenticate, .open, .change, .reset: true
        case .typed, .cancelled: false
        }
    }

    /// Whether it is carried out even if the module leaves.
    fileprivate var isCarriedOut: Bool {
        switch self {
        case .change, .reset: true
        case .authenticate, .open, .typed, .cancelled: false
        }
    }
}

import Auditing
import Authenticators
import Cancellations
import Dispatch
import Glibc
import Logging
package import Passcodes
package import ProcessFacts
package import Sessions
package import Settings
import Synchronization
import Threading
package import UnixSocket

/// Proves users for `pam_ostiary.so`, opens their stores at a login, and has their passcodes follow their login passwords:
/// `Documentation/formats/sign-in.md`.
package final class SignInServer: Sendable {
    private struct State {
        var running: [ObjectIdentifier: SignInConversation] = [:]
        /// Who runs those programs of root that are not the machine's own.
        var behind: [ObjectIdentifier: UInt32] = [:]
        /// Until when the end waits; nil before it.
        var deadline: DispatchTime?
    }

    private let listener: UnixSocket
    private let parts: SignInParts
    private let ending: PollableCancellation
    private let state = Mutex(State())
    private let running = DispatchGroup()

    /// - Parameters:
    ///   - listener: listens already, and keeps messages apart. It is never shut down: the service manager has it too, and a later daemon
    ///     goes on with it.
    ///   - services: those of the programs' sessions.
    ///   - sessions: tells who sits at this machine.
    ///   - prompts: say where sensors may wait.
    ///   - policy: which new login passwords may be passcodes.
    package init(
        listening listener: UnixSocket, services: SessionServices, sessions: any SessionRecords,
        prompts: PromptConfiguration, policy: PasscodePolicy, users: SignInUsers = .ofMachine
    ) throws(SystemCallError) {
        self.listener = listener
        let seat = SignInSeat(
            sessions: sessions, facts: services.facts, shownConsole: { SignInSeat.consoleOfMachine() })
        parts = SignInParts(services: services, users: users, seat: seat, prompts: prompts, policy: policy)
        ending = try PollableCancellation()
    }

    /// Accepts until ``stop()``. Blocks.
    package func run() {
        while waitForConnection() {
            do { start(try listener.accept()) } catch {
                // Out of descriptors or memory for a moment.
                parts.services.callerLines.write(
                    .warning, "a sign-in was not accepted", of: nil, ["cause": "\(error)"])
                usleep(50_000)
            }
        }
    }

    /// Accepts no more, and ends all questions. Waits for nothing. The time of ``stop()`` begins.
    package func beginStop() { _ = begunStop() }

    private func begunStop() -> DispatchTime {
        let (conversations, deadline) = state.withLock { state in
            let deadline = state.deadline ?? .now() + .seconds(SignInLimits.endSeconds)
            state.deadline = deadline
            return (Array(state.running.values), deadline)
        }
        ending.cancel()
        for conversation in conversations { conversation.end() }
        return deadline
    }

    /// Accepts no more, ends all questions, and waits for what must be carried out. Safe from any thread but a conversation's.
    ///
    /// - Returns: false when a sign-in still runs. It may use the store.
    @discardableResult package func stop() -> Bool {
        guard running.wait(timeout: begunStop()) != .success else { return true }
        parts.services.log.warning("a sign-in did not end in time")
        return false
    }

    /// - Returns: false when the server ends.
    private func waitForConnection() -> Bool {
        while true {
            var polled = [ending.descriptor, listener.number].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let count = unsafe poll(&polled, nfds_t(polled.count), -1)
            if polled[0].revents != 0 { return false }
            if count > 0 { return true }
        }
    }

    private func start(_ socket: UnixSocket) {
        guard let peer = try? parts.users.peer(socket),
            let conversation = try? SignInConversation(on: socket, with: peer, parts)
        else { return }
        guard add(conversation) else {
            parts.services.callerLines.write(
                .warning, "too many sign-ins", of: peer.userID,
                ["user": "\(peer.userID)", "process": "\(peer.processID)"])
            return
        }
        do throws(ThreadShortage) {
            try Threads.start("ostiary-sign-in") { [self] in
                if admit(conversation) { conversation.run() }
                remove(conversation)
            }
        } catch {
            remove(conversation)
            parts.services.callerLines.write(
                .warning, "there is no thread for a sign-in", of: peer.userID, ["process": "\(peer.processID)"])
        }
    }

    private func add(_ conversation: SignInConversation) -> Bool {
        state.withLock { state in
            guard state.deadline == nil, Self.hasPlace(for: conversation.peer, among: state.running.values.map(\.peer))
            else {
                return false
            }
            state.running[ObjectIdentifier(conversation)] = conversation
            running.enter()
            return true
        }
    }

    /// Whether the user who runs a program of root, such as `sudo`, has a place left. On the conversation's own thread: a helper tells who it
    /// is, and a name is looked up.
    private func admit(_ conversation: SignInConversation) -> Bool {
        let peer = conversation.peer
        // One person may have 65,536 numbers without a name (subuid(5)), each with a user's share.
        guard peer.userID == 0 || parts.users.numbered(peer.userID) != nil else { return false }
        guard let user = conversation.userBehind else { return true }
        let isAdmitted = state.withLock { state in
            guard Self.hasPlace(behind: user, among: state.behind.values) else { return false }
            state.behind[ObjectIdentifier(conversation)] = user
            return true
        }
        if !isAdmitted {
            parts.services.callerLines.write(.warning, "too many sign-ins", of: user, ["run by user": "\(user)"])
        }
        return isAdmitted
    }

    private func remove(_ conversation: SignInConversation) {
        state.withLock { state in
            state.running.removeValue(forKey: ObjectIdentifier(conversation))
            state.behind.removeValue(forKey: ObjectIdentifier(conversation))
        }
        running.leave()
    }

    /// Programs of root that one user runs have a user's share: others sign in meanwhile.
    static func hasPlace(behind userID: UInt32, among running: some Sequence<UInt32>) -> Bool {
        running.count(where: { $0 == userID }) < SignInLimits.connections.ofOwner
    }

    /// Users leave room for root's programs, which sign everybody in.
    static func hasPlace(for peer: PeerCredentials, among running: [PeerCredentials]) -> Bool {
        let limits = SignInLimits.connections
        guard running.count < limits.total else { return false }
        guard peer.userID != 0 else { return true }
        return running.count(where: { $0.userID != 0 }) < limits.total - SignInLimits.connectionsOfRoot
            && running.count(where: { $0.userID == peer.userID }) < limits.ofOwner
            && running.count(where: { $0.processID == peer.processID }) < limits.ofProgram
    }
}

/// What all sign-ins share.
struct SignInParts: Sendable {
    let services: SessionServices
    let users: SignInUsers
    let seat: SignInSeat
    let prompts: PromptConfiguration
    let policy: PasscodePolicy
    let tries = TypedTries()
}

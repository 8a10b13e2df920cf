import ExactNames
import Foundation
import Owners
import ProcessFacts
import Prompting
import Synchronization
import UnixSocket

/// How users and the processes that ask about them are known.
package struct SignInUsers: Sendable {
    /// The effective user of the process at the other end.
    let peer: @Sendable (UnixSocket) throws -> PeerCredentials
    let named: @Sendable (String) -> SystemUser?
    let numbered: @Sendable (UInt32) -> SystemUser?

    /// Who runs root's program, as the kernel tells; nil for one of the machine.
    var behind: @Sendable (UnixSocket, PeerCredentials, any CallerFacts) -> UInt32? = {
        SignInUsers.userBehind($0, $1, $2)
    }

    /// Programs of which nobody tells count as those of one user, and this is their number: no user has it. They ask about nobody.
    static let unknown = UInt32.max

    private static func userBehind(_ socket: UnixSocket, _ peer: PeerCredentials, _ facts: any CallerFacts) -> UInt32? {
        do {
            let process = try facts.hold(peer.processID, socket.peerProcessDescriptor(), of: peer.userID)
            let inSlice = ControlGroups.user(in: try process.controlGroups())
            // Jobs of cron and at stay in the group of their service. A login that nobody tells is no login of the machine.
            let user = try inSlice ?? process.loginUserID() ?? starter(of: process)
            // What was read was the process's own if it is there still.
            _ = try process.status()
            return user
        } catch { return unknown }
    }

    /// The user whose program started a setuid program of root's. No login begins what a system service with `User=` runs: its `su` keeps that
    /// user as the real one. `sudo` makes root the real user, too, and keeps the real group, which names nobody.
    private static func starter(of process: any HeldProcess) throws(FactFailure) -> UInt32? {
        let userID = try process.realUserID()
        guard userID == 0 else { return userID }
        return try process.realGroupID() == 0 ? nil : unknown
    }

    package static let ofMachine = SignInUsers(
        peer: { try $0.peerCredentials() }, named: SystemUser.named, numbered: { try? SystemUser(id: $0) })
}

/// Who may ask what. Pure, but for the names of users.
struct SignInRights: Sendable {
    /// Who asks, or runs the program of root that does.
    let userID: UInt32
    let users: SignInUsers

    var isAdministrator: Bool { userID == 0 }

    /// From this many wrong passcodes in a row on, none is tried for the asker.
    var tryLimit: UInt32 { isAdministrator ? SignInLimits.triesOfAll : SignInLimits.triesOfUser }

    /// The user whom an `authenticate` is about; nil when there is none, or when the asker may not ask about them.
    func subject(named name: String) -> SystemUser? {
        if isAdministrator { return users.named(name) }
        // No other name is looked up: neither answer nor time tells which users there are.
        guard let own = users.numbered(userID), own.name.utf8.elementsEqual(name.utf8) else { return nil }
        return own
    }

    /// The user whose store is opened or whose password changed; nil when there is none, or when the asker is not root.
    func owner(named name: String) -> SystemUser? { isAdministrator ? users.named(name) : nil }
}

/// Counts the typed secrets that sign-ins may still have tried. A program holds one of them until the answer is checked: several at once
/// have no more tries than one after the other. A user's program holds it from its question on. Root's holds it from the answer on: other
/// users can make root's programs ask, and their questions would keep the person's own sign-ins from asking.
final class TypedTries: Sendable {
    private let held = Mutex<[UInt32: UInt32]>([:])

    /// - Parameters:
    ///   - failed: wrong tries in a row so far.
    ///   - limit: of wrong tries in a row, for the asker.
    func hold(for userID: UInt32, after failed: UInt32, limit: UInt32 = SignInLimits.triesOfUser) -> Bool {
        held.withLock { held in
            guard failed < limit, failed + held[userID, default: 0] < limit else { return false }
            held[userID, default: 0] += 1
            return true
        }
    }

    func release(for userID: UInt32) {
        held.withLock { held in
            let count = held[userID, default: 1] - 1
            held[userID] = count > 0 ? count : nil
        }
    }
}

/// What one program holds of ``TypedTries``, until its next question or the end.
final class HeldTry: Sendable {
    private let tries: TypedTries
    private let userID, limit: UInt32
    private let failedCount: @Sendable () -> UInt32?
    private let isHeld = Mutex(false)

    /// - Parameters:
    ///   - limit: of wrong tries in a row, for the asker.
    ///   - failedCount: wrong tries in a row so far; nil when nobody can tell. Then nothing is tried.
    init(
        _ tries: TypedTries, for userID: UInt32, limit: UInt32 = SignInLimits.triesOfUser,
        failedCount: @escaping @Sendable () -> UInt32?
    ) {
        (self.tries, self.userID, self.limit, self.failedCount) = (tries, userID, limit, failedCount)
    }

    deinit { release() }

    /// Whether a try is left. The answer to the last question was checked, and counts if it was wrong. Holds none.
    func isLeft() -> Bool {
        release()
        return failedCount().map { $0 < limit } ?? false
    }

    /// Holds a try. The answer to the last question was checked, and counts if it was wrong.
    func renew() -> Bool {
        release()
        guard let failed = failedCount(), tries.hold(for: userID, after: failed, limit: limit) else { return false }
        isHeld.withLock { $0 = true }
        return true
    }

    private func release() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        if wasHeld { tries.release(for: userID) }
    }
}

/// Whether the person of a sign-in sits at this machine.
struct SignInSeat: Sendable {
    let sessions: any SessionRecords
    let facts: any CallerFacts
    /// The console that is shown, in the numbering of TIOCGDEV.
    let shownConsole: @Sendable () -> UInt32?

    /// Why no sensor may wait.
    ///
    /// - Parameters:
    ///   - usual: the answer for programs of the user.
    ///   - process: the process that asks; nil when it has ended.
    func refusal(
        usually usual: SensorRefusal?, processID: Int32, _ process: (any HeldProcess)?, isAdministrator: Bool
    ) -> SensorRefusal? {
        switch usual {
        // A locker of the user asks so, and another program of theirs gets nothing by it. sudo would: it is refused.
        case .sessionLocked where !isAdministrator: nil
        // Nobody is logged in yet.
        case .withoutSession where isAdministrator: isLogin(processID, process) ? nil : .withoutSession
        default: isUnlocking(usually: usual, process, isAdministrator: isAdministrator) ? nil : usual
        }
    }

    /// Whether GDM asks for somebody who is logged in: at their locked screen, or at the greeter through which they return to their session. GDM's
    /// worker runs in that session, as `sudo` does. A program of the person can have GDM ask, too. All that it gets by the yes is the screen of
    /// the same person, unlocked.
    ///
    /// - Parameter usual: what is said of programs of the user.
    func isUnlocking(
        usually usual: SensorRefusal?, _ process: (any HeldProcess)?, isAdministrator: Bool
    ) -> Bool {
        switch usual {
        case .sessionLocked where isAdministrator: isWorkerOfGDM(process)
        case .notActive where isAdministrator: isWorkerOfGDM(process) && sessions.isGreeterAlone()
        default: false
        }
    }

    private static let workerOfGDM: ExactName = "/usr/libexec/gdm-session-worker"

    private func isWorkerOfGDM(_ process: (any HeldProcess)?) -> Bool {
        guard let process, let file = try? process.executable(), let name = try? process.name(of: file) else {
            return false
        }
        return name.isTrue && ExactName(name.path) == Self.workerOfGDM
    }

    /// Whether root's process asks on the console that is shown, or for a greeter that is. On the console
    /// it must be a service of the machine, as `login` is until somebody has logged in: `su` asks for another user than the one who sits
    /// there. For a greeter it runs in the greeter's session, or in the display manager's service while nothing else is shown.
    private func isLogin(_ processID: Int32, _ process: (any HeldProcess)?) -> Bool {
        guard let process, let terminal = (try? process.status())?.terminalDevice else { return false }
        if terminal == 0, sessions.isOfShownGreeter(processID) { return true }
        guard let groups = try? process.controlGroups() else { return false }
        guard terminal != 0 else { return ControlGroups.areOfDisplayManager(groups) && sessions.isGreeterAlone() }
        return terminal == shownConsole() && ControlGroups.areOfSystemUnit(groups)
    }

    /// The console that the kernel shows.
    static func consoleOfMachine() -> UInt32? {
        guard let text = try? String(contentsOfFile: "/sys/class/tty/tty0/active", encoding: .ascii) else { return nil }
        return console(named: text.trimmingCharacters(in: .newlines))
    }

    /// For example `tty2`.
    static func console(named name: String) -> UInt32? {
        guard name.hasPrefix("tty"), let number = UInt32(name.dropFirst(3)), (1...63).contains(number) else {
            return nil
        }
        return 4 << 8 | number
    }
}

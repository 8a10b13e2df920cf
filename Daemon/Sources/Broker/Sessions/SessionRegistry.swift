import Dispatch
import Foundation
import Synchronization
import Vault

/// The sessions that run, for what ends grants everywhere: a lock, a removed object, the daemon's end.
final class SessionRegistry: Sendable {
    private let sessions = Mutex<[ObjectIdentifier: Session]>([:])
    private let running = DispatchGroup()

    /// False when there are as many as there may be.
    func add(_ session: Session) -> Bool {
        sessions.withLock { sessions in
            guard sessions.count < SessionLimits.connectionCount else { return false }
            sessions[ObjectIdentifier(session)] = session
            running.enter()
            return true
        }
    }

    func remove(_ session: Session) {
        if sessions.withLock({ $0.removeValue(forKey: ObjectIdentifier(session)) }) != nil { running.leave() }
    }

    func closeAll() { for session in all { session.close() } }

    /// Waits until no session runs, for at most so long; false when one still does.
    func waitUntilNoneRuns(seconds: Int) -> Bool { running.wait(timeout: .now() + .seconds(seconds)) == .success }

    /// Ends all grants in all contexts, and all questions.
    func endAllGrants() { for session in all { session.endAllGrants() } }

    /// Ends the grants on one object in all contexts.
    func endGrants(on object: VaultID) { for session in all { session.contexts.endGrants(on: object) } }

    /// Ends the grants of the programs at `paths`. What `requester` is asking just now goes on.
    func endGrants(ofPrograms paths: [String], besides requester: Session) {
        for session in all where paths.contains(session.caller.program.application) {
            if session === requester { session.contexts.endAllGrants() } else { session.endAllGrants() }
        }
    }

    /// Ends what contexts keep of factors: the passcode is another one now.
    func endKeptFactors() { for session in all { session.contexts.endKeptFactors() } }

    var isEmpty: Bool { sessions.withLock { $0.isEmpty } }

    private var all: [Session] { sessions.withLock { Array($0.values) } }
}

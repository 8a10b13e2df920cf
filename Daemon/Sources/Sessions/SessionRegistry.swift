import Authenticators
import Callers
import Dispatch
package import ExactNames
import Foundation
package import Owners
import Passkeys
import ProtectedObjects
import Synchronization
import UnixSocket
package import Vault

/// The sessions that run, for events that end grants everywhere: a lock, a removed object, the daemon's end.
package final class SessionRegistry: Sendable {
    private struct Contents {
        /// Connections that are served, or whose caller is still being identified.
        var places = 0
        var placesOfProcesses: [Int32: Int] = [:]
        /// By the user's number: nothing of the user is opened yet when a connection is accepted.
        var placesOfUsers: [UInt32: Int] = [:]
        var sessions: [ObjectIdentifier: Session] = [:]
    }

    let limits: ShareLimits
    private let contents = Mutex(Contents())
    private let running = DispatchGroup()

    /// - Parameter limits: of connections; a program's share is that of a process.
    init(_ limits: ShareLimits) { self.limits = limits }

    /// Takes a place for a connection of a process; false when there are as many as there may be: of this process, of its user, or
    /// of all.
    func takePlace(of caller: PeerCredentials) -> Bool {
        contents.withLock { contents in
            guard contents.places < limits.total,
                contents.placesOfUsers[caller.userID, default: 0] < limits.ofOwner,
                contents.placesOfProcesses[caller.processID, default: 0] < limits.ofProgram
            else { return false }
            contents.places += 1
            contents.placesOfUsers[caller.userID, default: 0] += 1
            contents.placesOfProcesses[caller.processID, default: 0] += 1
            running.enter()
            return true
        }
    }

    func leavePlace(of caller: PeerCredentials) {
        contents.withLock { contents in
            contents.places -= 1
            Self.countOneLess(&contents.placesOfUsers[caller.userID])
            Self.countOneLess(&contents.placesOfProcesses[caller.processID])
        }
        running.leave()
    }

    /// The entry goes with the last connection.
    private static func countOneLess(_ count: inout Int?) { count = count.flatMap { $0 > 1 ? $0 - 1 : nil } }

    func add(_ session: Session) { contents.withLock { $0.sessions[ObjectIdentifier(session)] = session } }

    func remove(_ session: Session) {
        _ = contents.withLock { $0.sessions.removeValue(forKey: ObjectIdentifier(session)) }
    }

    /// Answers what programs have sent, and takes nothing more of them. Waits for nothing.
    func finishAll() { for session in all { session.finish() } }

    func closeAll() { for session in all { session.close() } }

    /// Ends the connections of one user's programs. Waits for nothing.
    ///
    /// - Parameter besides: a session whose connection goes on.
    package func close(of account: OwnerAccount, besides: Session? = nil) {
        for session in all(of: account) where session !== besides { session.close() }
    }

    /// Waits until no session runs, for at most so long; false when one still does.
    func waitUntilNoneRuns(seconds: Int) -> Bool { running.wait(timeout: .now() + .seconds(seconds)) == .success }

    /// Ends all grants in all contexts, and all questions.
    package func endAllGrants() { for session in all { session.endAllGrants() } }

    /// As ``endAllGrants()``, for the programs of one user, with the leases that a lock ends.
    package func endAllGrants(of account: OwnerAccount) {
        account.leases.lock()
        for session in all(of: account) { session.endAllGrants() }
    }

    /// The rights and keys that are open in any context of the user's programs, or under a lease.
    package func openObjects(of account: OwnerAccount) -> Set<VaultID> {
        Set(all(of: account).flatMap(\.holders).flatMap { $0.contexts.all.flatMap(\.openObjects) })
            .union(account.leases.openObjects)
    }

    /// Ends the grants on a removed object, in all contexts and under the owner's leases.
    package func endGrants(on object: VaultID, of account: OwnerAccount) {
        account.leases.lose(object, because: .objectRemoved)
        for holder in all(of: account).flatMap(\.holders) { holder.contexts.endGrants(on: object) }
    }

    /// Tells the user's programs that objects are authorized under a lease no more.
    package func endLeased(_ objects: Set<VaultID>, of account: OwnerAccount) {
        for holder in all(of: account).flatMap(\.holders) { holder.contexts.endLeased(objects) }
    }

    /// Ends the grants of the requester's user's programs at `paths`. The open questions of `requester` itself go on.
    package func endGrants(ofPrograms paths: [ExactName], besides requester: Session) {
        for session in all(of: requester.account) {
            guard paths.contains(session.caller.program.application) else {
                session.endGrants(ofClients: paths)
                continue
            }
            if session === requester { session.endGrantsBesidesOwnQuestions() } else { session.endAllGrants() }
        }
    }

    /// Ends the factors that contexts keep, leases, and browsers' tokens: the user's passcode has changed, or the fingers have.
    package func endKeptFactors(of account: OwnerAccount) {
        account.leases.endAll(because: .factorsChanged)
        for session in all(of: account) {
            for holder in session.holders { holder.contexts.endKeptFactors() }
            session.browserAuthenticator.forget()
        }
    }

    /// Ends the proofs of the user's former set of fingers: kept factors, and grants of the current set.
    package func endGrantsOfFormerSet(of account: OwnerAccount) {
        endKeptFactors(of: account)
        for holder in all(of: account).flatMap(\.holders) { holder.contexts.endGrantsOfCurrentSet() }
    }

    package var isEmpty: Bool { contents.withLock { $0.places == 0 } }

    private var all: [Session] { contents.withLock { Array($0.sessions.values) } }

    /// The sessions of one user's programs.
    package func all(of account: OwnerAccount) -> [Session] { all.filter { $0.account === account } }
}

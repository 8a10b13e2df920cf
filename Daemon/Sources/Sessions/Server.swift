import Auditing
import Authenticators
import CLinuxShims
import Callers
import Dispatch
import Foundation
import Logging
import Owners
import ProcessFacts
import Refusals
import Synchronization
import Threading
package import UnixSocket

/// Accepts connections at the daemon's socket and keeps the sessions that run.
package final class Server: Sendable {
    private let listener: Listener
    private let services: SessionServices
    private let handler: any RequestHandler
    private let owners: OwnerLookup
    private let isStopping = Atomic(false)
    private let refused = RefusedCallers()
    /// When the accepting thread came round the last time, by the clock of `DispatchTime`.
    private let lastTurn = Atomic<UInt64>(0)

    /// Begins to listen at `path`, which must not exist.
    ///
    /// - Parameter owners: the users of the programs that come through this socket.
    package convenience init(
        listeningAt path: String, services: SessionServices, handler: any RequestHandler, owners: OwnerLookup
    ) throws {
        try self.init(Listener(at: path), services, handler, owners)
    }

    /// Accepts at a socket that outlives the daemon; see ``UnixSocket/inherited(_:)``.
    package convenience init(
        inheriting socket: UnixSocket, services: SessionServices, handler: any RequestHandler, owners: OwnerLookup
    ) throws {
        try self.init(Listener(inheriting: socket), services, handler, owners)
    }

    private init(
        _ listener: Listener, _ services: SessionServices, _ handler: any RequestHandler, _ owners: OwnerLookup
    ) {
        self.listener = listener
        self.services = services
        self.handler = handler
        self.owners = owners
    }

    /// Accepts until ``stop()``. Blocks.
    package func run() {
        while !isStopping.load(ordering: .acquiring) {
            lastTurn.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed)
            do {
                if let socket = try listener.next() { start(socket) }
            } catch {
                if isStopping.load(ordering: .acquiring) { return }
                // Out of descriptors or memory for a moment: the caller sees a closed connection, the daemon goes on.
                services.callerLines.write(
                    .warning, "a connection was not accepted", of: nil, ["cause": "\(error)"])
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
    }

    /// Whether the thread in ``run()`` accepts, or could. For an inherited socket alone: at another one it may wait for ever.
    package var turns: Bool {
        let elapsed = Double(DispatchTime.now().uptimeNanoseconds &- lastTurn.load(ordering: .relaxed)) / 1e9
        return elapsed < 2 * Double(SessionLimits.turnSeconds)
    }

    /// Accepts no more, ends all sessions and waits for them: their work must not meet a closed store. A session
    /// that cannot end in time is given up. Safe from any thread but a session's.
    /// - Parameter finishSeconds: how long what programs have sent may take to be answered, at a socket that outlives the daemon.
    package func stop(finishSeconds: Int = SessionLimits.finishSeconds) {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        listener.stop()
        refused.stop()
        // A program makes a request again, at the next daemon, only if it could not send it to this one.
        if listener.outlivesDaemon {
            services.registry.finishAll()
            if services.registry.waitUntilNoneRuns(seconds: finishSeconds) { return }
        }
        services.registry.closeAll()
        if !services.registry.waitUntilNoneRuns(seconds: SessionLimits.endSeconds) {
            services.log.warning("a session did not end in time")
        }
    }

    private func start(_ socket: UnixSocket) {
        guard let caller = try? socket.peerCredentials() else { return }
        guard services.registry.takePlace(of: caller) else {
            let limits = services.registry.limits
            services.callerLines.write(
                .warning, "too many connections", of: caller.userID,
                [
                    "limit": "\(limits.total)", "of one user": "\(limits.ofOwner)",
                    "of one process": "\(limits.ofProgram)", "user": "\(caller.userID)",
                    "process": "\(caller.processID)",
                ])
            return
        }
        // Identifying the caller may take long, or for ever: its file can lie on a file system that does not answer.
        do throws(ThreadShortage) {
            try Threads.start("ostiary-session") { [self] in
                serve(socket, of: caller.userID)
                services.registry.leavePlace(of: caller)
                // The daemon keeps no memory that many programs needed at once while no program is connected.
                if services.registry.isEmpty { ostiary_trim_heaps() }
            }
        } catch {
            services.registry.leavePlace(of: caller)
            services.callerLines.write(
                .warning, "there is no thread for a connection", of: caller.userID, ["process": "\(caller.processID)"])
        }
    }

    private func serve(_ socket: UnixSocket, of userID: UInt32) {
        let session: Session
        do { session = try self.session(on: socket, of: userID) } catch {
            services.callerLines.write(.notice, "a caller was refused", of: userID, ["cause": "\(error)"])
            return
        }
        services.registry.add(session)
        defer { services.registry.remove(session) }
        if isStopping.load(ordering: .sequentiallyConsistent) { session.close() }
        session.run()
    }

    /// - Throws: why the program gets no session; where its owner could not be opened, it was told, or too many were.
    private func session(on socket: UnixSocket, of userID: UInt32) throws -> Session {
        let stay: OwnerStay
        do {
            stay = try services.owners.enter(owners.user(userID))
        } catch let error as CallerError {
            throw error
        } catch {
            refused.tell(handler.refusal(for: error, ofUser: userID), on: socket)
            throw error
        }
        return try Session(socket: socket, of: stay, services: services, handler: handler)
    }
}

import Authenticators
import CLinuxShims
import Foundation
import Logging
import Refusals
import Synchronization
import Threading
import UnixSocket

/// Accepts connections at the daemon's socket and keeps the sessions that run.
package final class Server: Sendable {
    private let listener: UnixSocket
    private let broker: Broker
    private let isStopping = Atomic(false)

    /// Begins to listen at `path`, which must not exist.
    package init(listeningAt path: String, broker: Broker) throws {
        listener = try UnixSocket.listen(at: path)
        self.broker = broker
    }

    /// Accepts until ``stop()``. Blocks.
    package func run() {
        while !isStopping.load(ordering: .acquiring) {
            do {
                start(try listener.accept())
            } catch {
                if isStopping.load(ordering: .acquiring) { return }
                // Out of descriptors or memory for a moment: the caller sees a closed connection, the daemon goes on.
                broker.log.warning("a connection was not accepted", metadata: ["cause": "\(error)"])
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
    }

    /// Accepts no more, ends all sessions and waits for them: what they do must not meet a store that is closed. A session
    /// that cannot end in time is given up. Safe from any thread but a session's.
    package func stop() {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        listener.shutdown()
        broker.sessions.closeAll()
        if !broker.sessions.waitUntilNoneRuns(seconds: SessionLimits.endSeconds) {
            broker.log.warning("a session did not end in time")
        }
    }

    private func start(_ socket: UnixSocket) {
        guard let caller = try? socket.peerCredentials() else { return }
        guard broker.sessions.takePlace(of: caller) else {
            let limits = broker.sessions.limits
            broker.log.warning(
                "too many connections",
                metadata: [
                    "limit": "\(limits.total)", "of one user": "\(limits.ofOwner)",
                    "of one process": "\(limits.ofProgram)", "user": "\(caller.userID)",
                    "process": "\(caller.processID)",
                ])
            return
        }
        // Who the caller is may take long to find out, or for ever: its file can lie where nobody answers.
        do throws(ThreadShortage) {
            try Threads.start("ostiary-session") { [self] in
                serve(socket)
                broker.sessions.leavePlace(of: caller)
                // What many programs needed at once is not kept while none is there.
                if broker.sessions.isEmpty { ostiary_trim_heaps() }
            }
        } catch {
            broker.sessions.leavePlace(of: caller)
            broker.log.warning("there is no thread for a connection", metadata: ["process": "\(caller.processID)"])
        }
    }

    private func serve(_ socket: UnixSocket) {
        let session: Session
        do { session = try Session(socket: socket, broker: broker) } catch {
            broker.log.notice("a caller was refused", metadata: ["cause": "\(error)"])
            return
        }
        broker.sessions.add(session)
        defer { broker.sessions.remove(session) }
        if isStopping.load(ordering: .sequentiallyConsistent) { session.close() }
        session.run()
    }
}

@_implementationOnly import CLinuxShims
import DetachedThreads
package import Foundation
import Glibc
import Synchronization

/// Listens on 127.0.0.1 for the one request of a browser that ends a sign-in (RFC 8252, section 7.3).
///
/// Connections of other users' programs are refused. Every program of this user can send such a request: what it brings proves nothing
/// of its own. The program must use PKCE.
package final class CallbackListener: Sendable {
    package struct Failure: Error, Equatable, Sendable {
        /// Which step failed: `socket`, `bind`, `listen` or `thread`.
        package let step: String
        package let code: CInt
    }

    /// Where it listens.
    package let port: UInt16
    private let socket: CInt
    private let patience: Duration
    private let tables: SocketTables
    private let isStopped = Mutex(false)
    private let openCount = Mutex(0)

    /// How many connections are served at the same time: browsers open some that they never use. Further ones are closed.
    private static let openLimit = 16

    /// - Parameters:
    ///   - port: 0 for one that is free.
    ///   - patience: how long a request may take.
    ///   - tables: tell whose a connection is.
    package init(
        port: UInt16, patience: Duration = .seconds(5), tables: SocketTables = .ofKernel
    ) throws(Failure) {
        (self.patience, self.tables) = (patience, tables)
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw Failure(step: "socket", code: errno) }
        do throws(Failure) {
            // For a port whose last connection ended a moment ago. Linux takes over no port that somebody listens on.
            var isReused: CInt = 1
            guard setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<CInt>.size)) == 0
            else {
                throw Failure(step: "socket", code: errno)
            }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
            address.sin_port = port.bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            guard Self.withAddress(&address, { Glibc.bind(socket, $0, length) }) == 0 else {
                throw Failure(step: "bind", code: errno)
            }
            guard Glibc.listen(socket, 8) == 0 else { throw Failure(step: "listen", code: errno) }
            guard Self.withAddress(&address, { getsockname(socket, $0, &length) }) == 0 else {
                throw Failure(step: "listen", code: errno)
            }
            self.port = UInt16(bigEndian: address.sin_port)
        } catch {
            Glibc.close(socket)
            throw error
        }
        self.socket = socket
    }

    deinit { Glibc.close(socket) }

    /// Waits for the request, answers it with a page that tells the person to go back, and calls `body` with its whole address. Other
    /// requests get an error. Returns at once; the thread ends with the request, or with ``stop()``.
    ///
    /// - Throws: when the system gives no thread. Then nothing is waited for.
    package func wait(
        for request: ExpectedRequest, _ body: @escaping @Sendable (URL) -> Void
    ) throws(Failure) {
        let isStarted = DetachedThread.start { [self] in
            while !isStopped.withLock({ $0 }) {
                let connection = ostiary_accept(socket)
                guard connection >= 0 else {
                    guard Self.passes(errno) else { return }
                    continue
                }
                guard takePlace() else {
                    Glibc.close(connection)
                    continue
                }
                // A thread for each: one that says nothing keeps no other one waiting.
                let isServed = DetachedThread.start { [self] in
                    let url = CallbackConnection(connection, port: port, patience: patience)
                        .serve(request, isOwn: tables.isConnection(connection, of: geteuid())) { stop() }
                    close(connection)
                    if let url { body(url) }
                }
                // The browser says so, and the person can load the page again.
                if !isServed { close(connection) }
            }
        }
        guard isStarted else { throw Failure(step: "thread", code: EAGAIN) }
    }

    /// Whether another connection can be accepted after this error. A shortage passes, after a moment.
    private static func passes(_ error: CInt) -> Bool {
        switch error {
        case EINTR, ECONNABORTED: return true
        case EMFILE, ENFILE, ENOBUFS, ENOMEM:
            usleep(100_000)
            return true
        default: return false
        }
    }

    private func close(_ connection: CInt) {
        Glibc.close(connection)
        openCount.withLock { $0 -= 1 }
    }

    /// Whether one more connection may be served.
    private func takePlace() -> Bool {
        openCount.withLock { count in
            guard count < Self.openLimit else { return false }
            count += 1
            return true
        }
    }

    /// Ends the waiting; whether it was not ended yet.
    @discardableResult
    package func stop() -> Bool {
        let wasRunning = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        // A thread that waits for a connection returns from it.
        if wasRunning { shutdown(socket, CInt(SHUT_RDWR)) }
        return wasRunning
    }

    private static func withAddress(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> CInt
    ) -> CInt {
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}

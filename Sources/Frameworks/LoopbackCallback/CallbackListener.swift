@_implementationOnly import CLinuxShims
package import Foundation
import Glibc
import Synchronization

/// Listens on 127.0.0.1 for the one request of a browser that ends a sign-in (RFC 8252, section 7.3).
///
/// Every program of this machine can send such a request, also those of other users: what it brings proves nothing of its own. The
/// program must check the `state` that it put into its address, and use PKCE.
package final class CallbackListener: Sendable {
    package struct Failure: Error, Equatable, Sendable {
        /// Which step failed: `socket`, `bind` or `listen`.
        package let step: String
        package let code: CInt
    }

    /// Where it listens.
    package let port: UInt16
    private let socket: CInt
    private let isStopped = Mutex(false)

    /// - Parameter port: 0 for one that is free.
    package init(port: UInt16) throws(Failure) {
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

    /// Waits for a request of `path`, answers it with a page that tells the person to go back, and calls `body` with its whole
    /// address. Other requests get an error. Returns at once; the thread ends with the request, or with ``stop()``.
    package func wait(for path: String, _ body: @escaping @Sendable (URL) -> Void) {
        let thread = Thread { [self] in
            while !isStopped.withLock({ $0 }) {
                let connection = ostiary_accept(socket)
                guard connection >= 0 else {
                    guard errno == EINTR || errno == ECONNABORTED else { return }
                    continue
                }
                let url = CallbackConnection(connection, port: port).address(of: path)
                Glibc.close(connection)
                guard let url else { continue }
                if stop() { body(url) }
                return
            }
        }
        thread.name = "ostiary-callback"
        thread.start()
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

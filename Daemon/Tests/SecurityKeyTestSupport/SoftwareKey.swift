package import Cancellations
import Foundation
import Glibc
package import StoreTestSupport
import Synchronization

/// The engine behind the reports of a key in software.
package protocol KeyEngine: Sendable {
    /// The capabilities in the answer to CTAPHID_INIT.
    var capabilities: UInt8 { get }
    /// Answers CTAPHID_CBOR.
    func respond(toCBOR request: [UInt8], until cancellation: Cancellation) -> [UInt8]
    /// Answers CTAPHID_MSG.
    func respond(toMessage request: [UInt8]) -> [UInt8]
}

/// A security key in software: CTAPHID (CTAP 2.1, 11.2) on a Unix socket that keeps reports apart, in a folder of ports.
package final class SoftwareKey: Sendable {
    /// The effect of a fault on an answer; nil sends no answer.
    package typealias Fault = @Sendable (_ command: UInt8, _ request: [UInt8], _ answer: [UInt8]) -> [UInt8]?

    /// Closed when the last thread that serves it lets go of it.
    private final class Connection: Sendable {
        let number: CInt

        init(_ number: CInt) { self.number = number }

        deinit { close(number) }
    }

    private struct WeakConnection: Sendable { weak var connection: Connection? }

    private struct State {
        var isPlugged = true
        var connections: [WeakConnection] = []
        var cancelCount = 0
        var requests: [[UInt8]] = []
    }

    private let path: String
    private let listener: CInt
    private let engine: any KeyEngine
    private let fault: Fault
    private let state = Mutex(State())

    package init(
        in folder: TestFolder, named name: String = "key", _ engine: any KeyEngine,
        fault: @escaping Fault = { $2 }
    ) throws {
        path = folder.path(name)
        self.engine = engine
        self.fault = fault
        listener = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // A key that is plugged in appears at once, with a listener behind it.
        let hidden = path + ".new"
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(hidden.utf8)) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(listener, 8) == 0 else { throw KeyFault(code: errno) }
        // The thread does not keep the key: the end of the last reference unplugs the key, and ends the thread.
        Thread.detachNewThread { [weak self, listener] in Self.accept(on: listener) { self } }
        guard rename(hidden, path) == 0 else { throw KeyFault(code: errno) }
    }

    package struct KeyFault: Error {
        let code: CInt

        package init(code: CInt) { self.code = code }
    }

    deinit { unplug() }

    /// How many requests the client has cancelled.
    package var cancelCount: Int { state.withLock { $0.cancelCount } }

    /// All requests of CTAPHID_CBOR and CTAPHID_MSG so far.
    package var requests: [[UInt8]] { state.withLock { $0.requests } }

    /// Takes it away: the socket's file goes, and every connection ends.
    package func unplug() {
        state.withLock { state in
            guard state.isPlugged else { return }
            state.isPlugged = false
            unlink(path)
            shutdown(listener, CInt(SHUT_RDWR))
            for held in state.connections { held.connection.map { _ = shutdown($0.number, CInt(SHUT_RDWR)) } }
        }
    }

    private static func accept(on listener: CInt, for key: () -> SoftwareKey?) {
        defer { close(listener) }
        while true {
            let number = Glibc.accept(listener, nil, nil)
            guard number >= 0 else { return }
            let connection = Connection(number)
            guard let key = key(), key.take(connection) else { return }
            Thread.detachNewThread { key.serve(connection) }
        }
    }

    /// False once the key is unplugged.
    private func take(_ connection: Connection) -> Bool {
        state.withLock { state in
            state.connections.removeAll { $0.connection == nil }
            if state.isPlugged { state.connections.append(WeakConnection(connection: connection)) }
            return state.isPlugged
        }
    }

    // MARK: CTAPHID

    private static let (message, initialize, cbor, cancel): (UInt8, UInt8, UInt8, UInt8) = (0x03, 0x06, 0x10, 0x11)
    private static let (keepAlive, hidError): (UInt8, UInt8) = (0x3B, 0x3F)
    private static let broadcast: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
    private static let channel: [UInt8] = [0, 0, 0, 1]

    private func serve(_ connection: Connection) {
        var running: Cancellation?
        while let report = Self.read(connection) {
            let command = report[4] & 0x7F
            if command == Self.cancel {
                state.withLock { $0.cancelCount += 1 }
                running?.cancel()
                continue
            }
            let count = Int(report[5]) << 8 | Int(report[6])
            var request = Array(report[7...].prefix(count))
            while request.count < count {
                guard let next = Self.read(connection) else { return }
                request += next[5...].prefix(count - request.count)
            }
            switch command {
            case Self.initialize:
                send(command, request + Self.channel + [2, 5, 0, 0, engine.capabilities], to: report, connection)
            case Self.cbor, Self.message:
                let cancellation = Cancellation()
                running = cancellation
                Thread.detachNewThread { [self, request] in
                    answer(command, request, to: report, connection, cancellation)
                }
            default: send(Self.hidError, [1], to: report, connection)
            }
        }
    }

    private func answer(
        _ command: UInt8, _ request: [UInt8], to report: [UInt8], _ connection: Connection, _ cancellation: Cancellation
    ) {
        state.withLock { $0.requests.append(request) }
        let done = Done()
        if command == Self.cbor {
            Thread.detachNewThread { [self] in
                while !done.wait(milliseconds: 100) { send(Self.keepAlive, [2], to: report, connection) }
            }
        }
        let answer =
            command == Self.cbor
            ? engine.respond(toCBOR: request, until: cancellation) : engine.respond(toMessage: request)
        done.finish()
        guard let sent = fault(command, request, answer) else { return }
        send(command, sent, to: report, connection)
    }

    private static func read(_ connection: Connection) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65)
        guard Glibc.read(connection.number, &bytes, bytes.count) == bytes.count else { return nil }
        return Array(bytes[1...])
    }

    private func send(_ command: UInt8, _ bytes: [UInt8], to report: [UInt8], _ connection: Connection) {
        let channel = command == Self.initialize ? Self.broadcast : Array(report[..<4])
        var rest = bytes[...]
        var packet = channel + [command | 0x80, UInt8(bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)]
        var sequence: UInt8 = 0
        // Keep-alives come from another thread, and must not come between the packets of one answer.
        sending.withLock { _ in
            repeat {
                packet += rest.prefix(64 - packet.count)
                rest = rest.dropFirst(64 - (sequence == 0 ? 7 : 5))
                packet += [UInt8](repeating: 0, count: 64 - packet.count)
                _ = Glibc.send(connection.number, packet, packet.count, CInt(MSG_NOSIGNAL))
                packet = channel + [sequence]
                sequence += 1
            } while !rest.isEmpty
        }
    }

    private let sending = Mutex(())
}

/// Says that something is over.
final class Done: Sendable {
    private let isOver = Mutex(false)

    func finish() { isOver.withLock { $0 = true } }

    func wait(milliseconds: UInt32) -> Bool {
        usleep(milliseconds * 1000)
        return isOver.withLock { $0 }
    }
}

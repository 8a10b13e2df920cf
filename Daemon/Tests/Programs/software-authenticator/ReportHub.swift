import CTAPHID
import Glibc
import Synchronization
import UnixSocket

/// A socket that behaves like a hidraw device: each program that opened it writes reports, and each gets every report of the
/// authenticator.
final class ReportHub: Sendable {
    private final class Client: Sendable {
        let socket: UnixSocket
        let pending = Mutex([UInt8]())
        init(_ socket: UnixSocket) { self.socket = socket }
    }

    private let listener: UnixSocket
    private struct Contents {
        var clients: [Client] = []
        var isPluggedIn = true
    }

    private let contents = Mutex(Contents())

    init(path: String) throws {
        listener = try UnixSocket.listen(at: path)
    }

    /// To everybody. A client that went away is forgotten.
    func send(_ reports: [[UInt8]]) {
        for client in contents.withLock({ $0.clients }) {
            do {
                for report in reports { try report.withUnsafeBytes { try client.socket.send($0) } }
            } catch {
                forget(client)
            }
        }
    }

    /// Waits for reports.
    ///
    /// - Returns: the reports that came until `time` went by; none if none did.
    func receive(within time: Duration) -> [[UInt8]] {
        let clients = contents.withLock { $0.clients }
        let numbers = [listener.number] + clients.map(\.socket.number)
        var waits = numbers.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&waits, nfds_t(waits.count), CInt(time / .milliseconds(1))) > 0 else { return [] }
        if waits[0].revents != 0, let socket = try? listener.accept() {
            contents.withLock { if $0.isPluggedIn { $0.clients.append(Client(socket)) } }
        }
        var reports: [[UInt8]] = []
        for (client, wait) in zip(clients, waits.dropFirst()) where wait.revents != 0 {
            if let came = Self.read(client) { reports += came } else { forget(client) }
        }
        return reports
    }

    /// As when the authenticator is pulled out: all connections end, and new ones end at once. One that comes after ``plug()`` stays.
    func unplug() {
        contents.withLock { contents in
            contents.isPluggedIn = false
            for client in contents.clients { client.socket.shutdown() }
            contents.clients = []
        }
    }

    func plug() { contents.withLock { $0.isPluggedIn = true } }

    private func forget(_ client: Client) {
        client.socket.shutdown()
        contents.withLock { $0.clients.removeAll { $0 === client } }
    }

    /// Whole reports; nil at the end.
    private static func read(_ client: Client) -> [[UInt8]]? {
        var buffer = [UInt8](repeating: 0, count: 64 * HIDReport.byteCount)
        let count = buffer.withUnsafeMutableBytes { bytes in
            do { return try client.socket.receive(into: bytes, expecting: []).count } catch { return 0 }
        }
        guard count > 0 else { return nil }
        return client.pending.withLock { pending in
            pending += buffer.prefix(count)
            var reports: [[UInt8]] = []
            while pending.count >= HIDReport.byteCount {
                reports.append(Array(pending.prefix(HIDReport.byteCount)))
                pending.removeFirst(HIDReport.byteCount)
            }
            return reports
        }
    }
}

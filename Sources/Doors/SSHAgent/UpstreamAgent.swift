package import Cancellations
import Foundation
import Glibc
import SSHFormats
import SecretMemory
import Synchronization
import UnixSocket

/// Another agent, whose keys this one shows with its own: for one client.
///
/// The other agent gets the bindings of the client's connection, so its own limits hold. It sees this program as its client.
package final class UpstreamAgent: Sendable {
    private struct State {
        var socket: UnixSocket?
        /// How many of the client's bindings it was told.
        var told = 0
    }

    private let path: String
    private let cancellation: Cancellation
    private let state = Mutex(State())

    /// - Parameters:
    ///   - path: of its socket. It is connected to at the first use.
    ///   - cancellation: ends waiting calls, as when the client goes.
    package init(path: String, cancellation: Cancellation) {
        (self.path, self.cancellation) = (path, cancellation)
    }

    /// Sends a message and returns the answer, each without its length. Blocks as long as the other agent wants.
    ///
    /// - Parameter connection: what the client's connection is bound to.
    /// - Throws: `SystemCallError`, ``SSHFormatError`` for an answer of another form.
    func call(
        _ number: AgentRequestNumber, _ contents: borrowing SecretBytes, for connection: BoundConnection
    ) throws -> Data {
        try tell(connection)
        return try exchange(number, contents)
    }

    /// The same for a message without contents.
    func call(_ number: AgentRequestNumber, for connection: BoundConnection) throws -> Data {
        try call(number, SecretBytes(zeroed: 0), for: connection)
    }

    /// Passes on the bindings that the other agent was not told. An agent that does not know them answers with a failure; then its keys
    /// have no limits that would need them.
    private func tell(_ connection: BoundConnection) throws {
        let contents = connection.contents.dropFirst(state.withLock { $0.told })
        for binding in contents {
            let message = SSHWriter.bytes { writer in
                writer.write(text: AgentSession.sessionBinding)
                writer.write(fixed: binding)
            }
            _ = try exchange(.extended, SecretBytes(message))
            state.withLock { $0.told += 1 }
        }
    }

    private func exchange(_ number: AgentRequestNumber, _ contents: borrowing SecretBytes) throws -> Data {
        let socket = try connected()
        let head = SSHWriter.bytes { writer in
            writer.write(UInt32(contents.count + 1))
            writer.write(number.rawValue)
        }
        let message = SecretBytes(joining: SecretBytes(head), contents)
        try unsafe message.withUnsafeBytes { bytes in try unsafe socket.send(bytes) }
        var reader = SSHReader(try receive(4, from: socket))
        let count = Int(try reader.readUInt32())
        guard (1...SSHLimits.messageByteCount).contains(count) else { throw SSHFormatError.tooLarge }
        return try receive(count, from: socket)
    }

    private func connected() throws -> UnixSocket {
        if let socket = state.withLock({ $0.socket }) { return socket }
        let socket = try UnixSocket.connectInTime(to: path)
        // Keys go to this user's agent alone.
        guard try socket.peerCredentials().userID == geteuid() else {
            throw SystemCallError("connect", subject: path, code: EACCES)
        }
        cancellation.whenCancelled { socket.shutdown() }
        state.withLock { $0.socket = socket }
        return socket
    }

    private func receive(_ count: Int, from socket: UnixSocket) throws -> Data {
        var bytes = Data(count: count)
        var filled = 0
        while filled < count {
            let received = try unsafe bytes.withUnsafeMutableBytes { buffer in
                try unsafe socket.receive(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), expecting: []
                ).count
            }
            guard received > 0 else { throw SSHFormatError.truncated }
            filled += received
        }
        return bytes
    }
}

import Foundation
public import UnixSocket

/// One end of the socket between a test and its simulator: JSON documents, each behind its size as four bytes, big-endian.
///
/// One thread uses it at a time. Sending and receiving block.
public final class SimulatorChannel: Sendable {
    private let socket: UnixSocket

    /// The largest document: a few hundred questions.
    static let byteLimit = 4 * 1024 * 1024
    private static let headerByteCount = 4

    public init(_ socket: UnixSocket) { self.socket = socket }

    public func send(_ message: some Encodable) throws {
        let body = try JSONEncoder().encode(message)
        guard body.count <= Self.byteLimit else { throw SimulatorChannelError.tooLarge }
        let size = UInt32(body.count)
        let frame = (0..<Self.headerByteCount).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + body
        try frame.withUnsafeBytes { try socket.send($0) }
    }

    /// Waits for a message; nil when the other side has closed.
    public func receive<Message: Decodable>(_ type: Message.Type = Message.self) throws -> Message? {
        guard let header = try receive(count: Self.headerByteCount) else { return nil }
        let size = header.reduce(0) { $0 << 8 | Int($1) }
        guard size <= Self.byteLimit else { throw SimulatorChannelError.tooLarge }
        guard let body = try receive(count: size) else { throw SimulatorChannelError.unfinished }
        return try JSONDecoder().decode(Message.self, from: Data(body))
    }

    /// Nil when the other side closed before the first byte.
    private func receive(count: Int) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let received = try bytes.withUnsafeMutableBytes { bytes in
                try socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]), expecting: []).count
            }
            guard received > 0 else {
                guard filled == 0 else { throw SimulatorChannelError.unfinished }
                return nil
            }
            filled += received
        }
        return bytes
    }

    /// Ends both directions; the other side sees that this one has closed.
    public func close() { socket.shutdown() }
}

/// Why a message of the channel is none.
public enum SimulatorChannelError: Error, Equatable, Sendable {
    case tooLarge
    /// The other side closed in the middle of a message.
    case unfinished
}

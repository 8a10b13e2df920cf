import UnixSocket

/// A frame as bytes, of a message that nobody looks into.
struct RawFrame {
    let message: [UInt8]
    let tail: [UInt8]

    /// The connection ended within a frame, or a frame is longer than any of the protocol.
    struct Unfinished: Error {}

    private static let largestByteCount = 2 * 1024 * 1024

    func send(on socket: UnixSocket) throws {
        let frame = UInt32(message.count).bigEndianBytes + UInt32(tail.count).bigEndianBytes + message + tail
        try frame.withUnsafeBytes { try socket.send($0) }
    }

    static func next(on socket: UnixSocket) throws -> RawFrame {
        let header = try receive(8, on: socket)
        return RawFrame(
            message: try receive(count(header.prefix(4)), on: socket),
            tail: try receive(count(header.suffix(4)), on: socket))
    }

    private static func count(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func receive(_ count: Int, on socket: UnixSocket) throws -> [UInt8] {
        guard count <= largestByteCount else { throw Unfinished() }
        var bytes: [UInt8] = []
        while bytes.count < count {
            var buffer = [UInt8](repeating: 0, count: count - bytes.count)
            let received = try buffer.withUnsafeMutableBytes { try socket.receive(into: $0, expecting: []).count }
            guard received > 0 else { throw Unfinished() }
            bytes += buffer.prefix(received)
        }
        return bytes
    }
}

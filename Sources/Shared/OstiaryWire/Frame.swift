@_exported public import OstiaryMessages
public import SwiftProtobuf

/// Every limit of the wire, with its reason.
public enum WireLimits {
    /// This protocol. A daemon and a program of different versions refuse each other with `versionMismatch`.
    public static let protocolVersion: UInt32 = 1
    /// Messages hold names, rules and log pages; the largest is a page of the log.
    public static let messageByteCount = 256 * 1024
    /// Tails hold payloads: a secret, a plaintext or ciphertext.
    public static let tailByteCount = 1024 * 1024
    /// One answer of the log.
    public static let logPageCount: UInt32 = 200
    public static let identifierByteCount = 512
    public static let reasonByteCount = 2048
    public static let nonceByteCount = 16
}

/// The eight bytes before each message: two big-endian 32-bit counts, of the message and of the raw tail behind it.
public struct FrameHeader: Equatable, Sendable {
    public static let byteCount = 8
    public let messageByteCount: Int
    public let tailByteCount: Int
    public var bodyByteCount: Int { messageByteCount + tailByteCount }

    public init(messageByteCount: Int, tailByteCount: Int) {
        self.messageByteCount = messageByteCount
        self.tailByteCount = tailByteCount
    }

    /// Reads a header; refuses counts above ``WireLimits`` before anything is allocated for them.
    public init(parsing bytes: RawSpan) throws(FrameError) {
        guard bytes.byteCount >= Self.byteCount else { throw .truncated }
        let message = Int(Self.bigEndian(bytes, at: 0))
        let tail = Int(Self.bigEndian(bytes, at: 4))
        guard message > 0 else { throw .empty }
        guard message <= WireLimits.messageByteCount, tail <= WireLimits.tailByteCount else { throw .tooLarge }
        self.init(messageByteCount: message, tailByteCount: tail)
    }

    private static func bigEndian(_ bytes: RawSpan, at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 << 8 | UInt32(bytes.unsafeLoadByte(at: offset + $1)) }
    }

    /// Appends the header's eight bytes.
    public func append(to bytes: inout [UInt8]) {
        for count in [messageByteCount, tailByteCount] {
            for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
        }
    }
}

extension RawSpan {
    fileprivate func unsafeLoadByte(at offset: Int) -> UInt8 {
        // Bounds are checked by `unsafeLoad`; the name speaks of types that a byte pattern may not fit, and a byte fits.
        unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}

/// Why bytes are not a frame. The connection cannot go on after any of these.
public enum FrameError: Error, Equatable, Sendable {
    case truncated
    case empty
    case tooLarge
    case malformed
}

/// A message ready to be sent: header and message in one buffer. A tail is sent behind it by the caller.
public enum FrameEncoder {
    /// Encodes `message` with its header for a tail of `tailByteCount` bytes.
    public static func encode(_ message: some SwiftProtobuf.Message, tailByteCount: Int) throws(FrameError) -> [UInt8] {
        let encoded: [UInt8]
        do { encoded = try message.serializedBytes() } catch { throw .malformed }
        guard encoded.count <= WireLimits.messageByteCount, tailByteCount <= WireLimits.tailByteCount else {
            throw .tooLarge
        }
        var frame: [UInt8] = []
        frame.reserveCapacity(FrameHeader.byteCount + encoded.count)
        FrameHeader(messageByteCount: encoded.count, tailByteCount: tailByteCount).append(to: &frame)
        frame.append(contentsOf: encoded)
        return frame
    }
}

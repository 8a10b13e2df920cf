@_exported public import OstiaryMessages
import Glibc
public import SecretMemory
public import SwiftProtobuf
public import UnixSocket

/// Every limit of the wire, with its reason.
public enum WireLimits {
    /// This protocol. A daemon and a program of different versions refuse each other with `versionMismatch`.
    public static let protocolVersion: UInt32 = 1
    /// Messages hold names, rules and log pages; the largest is a page of the log.
    public static let messageByteCount = 256 * 1024
    /// Tails hold payloads: a secret, a plaintext or ciphertext.
    public static let tailByteCount = 1024 * 1024
    /// The secret of a right: a key, a token or a password, not a file store.
    public static let secretByteCount = 64 * 1024
    /// One answer of the log.
    public static let logPageCount: UInt32 = 200
    /// The name of a right, in UTF-8.
    public static let identifierByteCount = 512
    /// Why the program asks, in UTF-8.
    public static let reasonByteCount = 2048
    /// The nonce of the greeting: 128 bits are never guessed or met twice.
    public static let nonceByteCount = 16
}

/// The eight bytes before each message: two big-endian 32-bit counts, of the message and of the raw tail behind it.
public struct FrameHeader: Equatable, Sendable {
    /// Size of the header itself.
    public static let byteCount = 8
    public let messageByteCount: Int
    public let tailByteCount: Int
    /// What follows the header.
    public var bodyByteCount: Int { messageByteCount + tailByteCount }

    /// A header of counts within ``WireLimits``; throws ``FrameError/empty`` or ``FrameError/tooLarge`` for others.
    public init(messageByteCount: Int, tailByteCount: Int) throws(FrameError) {
        precondition(messageByteCount >= 0 && tailByteCount >= 0, "a part of a frame cannot have a negative size")
        guard messageByteCount > 0 else { throw .empty }
        guard messageByteCount <= WireLimits.messageByteCount, tailByteCount <= WireLimits.tailByteCount else {
            throw .tooLarge
        }
        self.messageByteCount = messageByteCount
        self.tailByteCount = tailByteCount
    }

    /// Reads a header from the first eight of `bytes`; refuses counts beyond ``WireLimits`` before anything is allocated
    /// for them.
    public init(parsing bytes: RawSpan) throws(FrameError) {
        guard bytes.byteCount >= Self.byteCount else { throw .truncated }
        try self.init(
            messageByteCount: Int(Self.bigEndian(bytes, at: 0)), tailByteCount: Int(Self.bigEndian(bytes, at: 4)))
    }

    private static func bigEndian(_ bytes: RawSpan, at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 << 8 | UInt32(bytes.unsafeLoadByte(at: offset + $1)) }
    }

    /// Appends the header's eight bytes.
    public func append(to bytes: inout [UInt8]) {
        Self.append(messageByteCount, to: &bytes)
        Self.append(tailByteCount, to: &bytes)
    }

    private static func append(_ count: Int, to bytes: inout [UInt8]) {
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
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
    /// Fewer bytes than a header has.
    case truncated
    /// A frame without a message. Every message of the protocol has at least one field.
    case empty
    /// A message or tail beyond ``WireLimits``.
    case tooLarge
    /// The message cannot be written or read as what it should be.
    case malformed
}

/// Sends messages as frames.
public enum FrameWriter {
    /// Sends `message` and the raw tail behind it in one call to the kernel; a descriptor travels with the first byte.
    ///
    /// The caller makes sure that one thread at a time sends on a socket. The buffer that held the tail is wiped.
    @specialized(where Message == WireRequest)
    @specialized(where Message == WireReply)
    public static func send<Message: SwiftProtobuf.Message>(
        _ message: Message, tail: borrowing SecretBytes = SecretBytes(zeroed: 0), descriptor: CInt = -1,
        on socket: UnixSocket
    ) throws(FrameWriteError) {
        var frame: [UInt8]
        do { frame = try Self.frame(message, tail: tail) } catch { throw .frame(error) }
        defer { if !tail.isEmpty { unsafe frame.withUnsafeMutableBytes { unsafe wipe($0) } } }
        let sent = unsafe frame.withUnsafeBytes { bytes in
            Result { () throws(SystemCallError) in try unsafe socket.send(bytes, descriptor: descriptor) }
        }
        if case .failure(let error) = sent { throw .system(error) }
    }

    /// Header, message and tail in one buffer of exactly that size, so that no growth leaves a copy behind.
    ///
    /// - Throws: ``FrameError/empty`` for a message with no field set, ``FrameError/tooLarge`` beyond ``WireLimits``: what
    ///   the other side would refuse is not sent.
    package static func frame(
        _ message: some SwiftProtobuf.Message, tail: borrowing SecretBytes = SecretBytes(zeroed: 0)
    ) throws(FrameError) -> [UInt8] {
        let encoded: [UInt8]
        do { encoded = try message.serializedBytes() } catch { throw .malformed }
        let header = try FrameHeader(messageByteCount: encoded.count, tailByteCount: tail.count)
        var frame: [UInt8] = []
        frame.reserveCapacity(FrameHeader.byteCount + encoded.count + tail.count)
        header.append(to: &frame)
        frame.append(contentsOf: encoded)
        unsafe tail.withUnsafeBytes { unsafe frame.append(contentsOf: $0) }
        return frame
    }

    private static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        if let address = bytes.baseAddress { unsafe explicit_bzero(address, bytes.count) }
    }
}

/// Why a frame was not sent.
public enum FrameWriteError: Error, Equatable, Sendable {
    case frame(FrameError)
    case system(SystemCallError)
}

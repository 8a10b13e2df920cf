public import OstiaryMessages
import Glibc
public import SecretMemory
public import UnixSocket

/// The eight bytes before each message: two big-endian 32-bit counts, of the message and of the raw tail behind it.
public struct FrameHeader: Equatable, Sendable {
    /// Size of the header itself.
    public static let byteCount = 8
    public let messageByteCount: Int
    public let tailByteCount: Int
    /// The number of bytes after the header.
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

    /// Puts the header into the first eight of `bytes`.
    ///
    /// - Precondition: there are as many.
    public func write(to bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe bytes.storeBytes(of: UInt32(messageByteCount).bigEndian, as: UInt32.self)
            unsafe bytes.storeBytes(of: UInt32(tailByteCount).bigEndian, toByteOffset: 4, as: UInt32.self)
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
    /// Fewer bytes than a header has.
    case truncated
    /// A frame without a message. No message of the protocol has no bytes.
    case empty
    /// A message or tail beyond ``WireLimits``.
    case tooLarge
    /// The message cannot be encoded or decoded.
    case malformed
}

/// Sends messages as frames.
public enum FrameWriter {
    /// Sends `message` and the raw tail behind it in one call to the kernel; descriptors travel with the first byte.
    ///
    /// The caller makes sure that one thread at a time sends on a socket. The buffer that held the tail is wiped.
    ///
    /// - Parameters:
    ///   - descriptors: at most ``UnixSocket/passedDescriptorCount``.
    ///   - version: the version of the protocol that both sides agreed on.
    @specialized(where Message == WireRequest)
    @specialized(where Message == WireReply)
    public static func send<Message: FrameMessage>(
        _ message: Message, tail: borrowing SecretBytes = SecretBytes(zeroed: 0), descriptors: [CInt] = [],
        in version: UInt32 = WireLimits.protocolVersion, on socket: UnixSocket
    ) throws(FrameWriteError) {
        var frame: [UInt8]
        do { frame = try Self.frame(message, tail: tail, in: version) } catch { throw .frame(error) }
        defer { if !tail.isEmpty { unsafe frame.withUnsafeMutableBytes { unsafe wipe($0) } } }
        let sent = unsafe frame.withUnsafeBytes { bytes in
            Result { () throws(SystemCallError) in try unsafe socket.send(bytes, descriptors: descriptors) }
        }
        if case .failure(let error) = sent { throw .system(error) }
    }

    /// Header, message and tail in one buffer. It has room for the tail before the tail comes, so that no growth leaves a copy
    /// of it behind.
    ///
    /// - Throws: ``FrameError/tooLarge`` beyond ``WireLimits``, ``FrameError/malformed`` for a message without an encoding: what
    ///   the other side would refuse is not sent.
    @specialized(where Message == WireRequest)
    @specialized(where Message == WireReply)
    package static func frame<Message: FrameMessage>(
        _ message: Message, tail: borrowing SecretBytes = SecretBytes(zeroed: 0),
        in version: UInt32 = WireLimits.protocolVersion
    ) throws(FrameError) -> [UInt8] {
        guard tail.count <= WireLimits.tailByteCount else { throw .tooLarge }
        var frame: [UInt8]
        do {
            frame = try message.canonicalBytes(
                in: version, behind: FrameHeader.byteCount, reserving: tail.count)
        } catch { throw error == .tooLarge ? .tooLarge : .malformed }
        let header = try FrameHeader(messageByteCount: frame.count - FrameHeader.byteCount, tailByteCount: tail.count)
        header.write(to: &frame)
        frame.reserveCapacity(frame.count + tail.count)
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

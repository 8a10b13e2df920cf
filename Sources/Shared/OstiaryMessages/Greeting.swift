public import CanonicalEncoding
public import Foundation

/// The first frame of a connection, from the daemon.
///
/// Its form never changes, so that a program of any version can read the daemon's protocol version: `08`, the version
/// (1), `12`, the number of bytes of the nonce (1), the nonce. Protocol 1 wrote the same bytes.
public struct WireGreeting: FrameMessage {
    /// 0 to 127.
    public var protocolVersion: UInt32 = 0
    /// 16 random bytes, which the connected program echoes. The form allows 0 to 127 bytes.
    public var nonce = Data()

    public init() {}

    private static let (versionMark, nonceMark): (UInt8, UInt8) = (0x08, 0x12)
    /// Protocol 1 wrote larger numbers in more than one byte.
    private static let largest: UInt8 = 127

    public func canonicalBytes(behind room: Int, reserving more: Int) throws(WireEncodingError) -> [UInt8] {
        guard protocolVersion <= Self.largest, nonce.count <= Self.largest else { throw .malformed }
        var writer = CanonicalWriter(capacity: room + 4 + nonce.count + more)
        for _ in 0..<room { writer.write(UInt8(0)) }
        writer.write(Self.versionMark)
        writer.write(UInt8(protocolVersion))
        writer.write(Self.nonceMark)
        writer.write(nonce, length: UInt8.self)
        return writer.takeBytes()
    }

    @unsafe public init(reading bytes: UnsafeRawBufferPointer) throws(CanonicalEncodingError) {
        var reader = unsafe BorrowedCanonicalReader(bytes)
        guard try reader.read(UInt8.self) == Self.versionMark else { throw .unknownChoice }
        let version = try reader.read(UInt8.self)
        guard version <= Self.largest else { throw .unknownChoice }
        guard try reader.read(UInt8.self) == Self.nonceMark else { throw .unknownChoice }
        let nonce = try unsafe Data(reader.read(length: UInt8.self))
        guard nonce.count <= Self.largest else { throw .unknownChoice }
        try reader.finish()
        (protocolVersion, self.nonce) = (UInt32(version), nonce)
    }
}

/// The first request of a connection. Answered by ``WireDone``.
public struct WireHello: WireMessage, FieldList {
    public var protocolVersion: UInt32 = 0
    /// The greeting's nonce.
    public var nonce = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&protocolVersion)
        coder.field(&nonce)
    }
}

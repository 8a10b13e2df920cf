public import CanonicalEncoding
public import Foundation

/// The first frame of a connection, from the daemon.
///
/// Its form never changes, so that a program of any version can read the daemon's versions: `08`, the oldest version
/// (1), `12`, the number of bytes of the nonce (1), the nonce. Protocol 1 wrote the same bytes.
///
/// Programs of protocol 7 and before read one version and speak no other. So that one is the oldest, and the newest lies
/// behind the random bytes of the nonce, which those programs echo without looking into it.
public struct WireGreeting: FrameMessage {
    /// The oldest version that the daemon speaks, 0 to 127.
    public var oldestVersion: UInt32 = 0
    /// The bytes that the connected program echoes: 16 random ones, and the newest version that the daemon speaks (1). Daemons that
    /// speak one version send the random bytes alone. The form allows 0 to 127 bytes.
    public var nonce = Data()

    public init() {}

    /// The greeting of a daemon that speaks `versions`.
    ///
    /// - Parameter random: ``WireLimits/nonceByteCount`` random bytes.
    public init(_ versions: ProtocolVersions, random: Data) {
        oldestVersion = versions.oldest
        nonce = random + [UInt8(truncatingIfNeeded: versions.newest)]
    }

    /// The versions that the daemon speaks. A newest one below the oldest counts as none.
    public var versions: ProtocolVersions {
        let newest = nonce.dropFirst(WireLimits.nonceByteCount).first.map { UInt32($0) } ?? oldestVersion
        return ProtocolVersions(oldestVersion...max(oldestVersion, newest))
    }

    private static let (versionMark, nonceMark): (UInt8, UInt8) = (0x08, 0x12)
    /// Protocol 1 wrote larger numbers in more than one byte.
    private static let largest: UInt8 = 127

    public func canonicalBytes(
        in version: UInt32, behind room: Int, reserving more: Int
    ) throws(WireEncodingError) -> [UInt8] {
        guard oldestVersion <= Self.largest, nonce.count <= Self.largest else { throw .malformed }
        var writer = CanonicalWriter(capacity: room + 4 + nonce.count + more)
        for _ in 0..<room { writer.write(UInt8(0)) }
        writer.write(Self.versionMark)
        writer.write(UInt8(oldestVersion))
        writer.write(Self.nonceMark)
        writer.write(nonce, length: UInt8.self)
        return writer.takeBytes()
    }

    @unsafe public init(reading bytes: UnsafeRawBufferPointer, in version: UInt32) throws(CanonicalEncodingError) {
        var reader = unsafe BorrowedCanonicalReader(bytes)
        guard try reader.read(UInt8.self) == Self.versionMark else { throw .unknownChoice }
        let oldest = try reader.read(UInt8.self)
        guard oldest <= Self.largest else { throw .unknownChoice }
        guard try reader.read(UInt8.self) == Self.nonceMark else { throw .unknownChoice }
        let nonce = try unsafe Data(reader.read(length: UInt8.self))
        guard nonce.count <= Self.largest else { throw .unknownChoice }
        try reader.finish()
        (oldestVersion, self.nonce) = (UInt32(oldest), nonce)
    }
}

/// The first request of a connection. Answered by ``WireDone``. It has the same form in every version.
public struct WireHello: WireMessage, FieldList {
    /// The version of all later frames, which the program chose from those of the greeting.
    public var protocolVersion: UInt32 = 0
    /// The greeting's nonce.
    public var nonce = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&protocolVersion)
        coder.field(&nonce)
    }
}

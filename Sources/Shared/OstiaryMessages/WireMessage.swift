public import CanonicalEncoding

/// A message of the protocol, or a part of one: a value of named fields. Every field has a default, so a program sets
/// only the fields that it needs.
public protocol WireMessage: Equatable, Sendable {
    init()
}

extension WireMessage {
    /// A new message, filled by `set`.
    @inlinable
    public static func with<Failure: Error>(_ set: (inout Self) throws(Failure) -> Void) throws(Failure) -> Self {
        var message = Self()
        try set(&message)
        return message
    }
}

/// A message that fills a frame: ``WireGreeting``, ``WireRequest`` or ``WireReply``.
///
/// It has exactly one encoding, see `Documentation/formats/wire.md`. All fields stand in a fixed order. Integers are
/// big-endian; texts, bytes and lists stand behind their length; a byte before each optional field says whether it is
/// present. Fields have no numbers, so none can be unknown, repeated or out of order. Surplus bytes are refused. Fields and
/// bodies that came with a version are neither written nor read in an older one.
public protocol FrameMessage: WireMessage {
    /// The encoding in a version of the protocol, behind `room` bytes that stay free for a header.
    ///
    /// - Parameter more: how many bytes the caller will append. For a message of usual size, the result has room for
    ///   them.
    /// - Throws: ``WireEncodingError`` for a message that the other side would refuse.
    func canonicalBytes(
        in version: UInt32, behind room: Int, reserving more: Int
    ) throws(WireEncodingError) -> [UInt8]

    /// Reads an encoding of a version of the protocol in place. Allocates little more than the size of `bytes`.
    ///
    /// - Throws: for any bytes that ``canonicalBytes(in:behind:reserving:)`` does not write in this version.
    @unsafe init(reading bytes: UnsafeRawBufferPointer, in version: UInt32) throws(CanonicalEncodingError)
}

extension FrameMessage {
    /// The encoding in the newest version, without room for a header.
    public var canonicalBytes: [UInt8] {
        get throws(WireEncodingError) { try canonicalBytes(in: WireLimits.protocolVersion) }
    }

    /// The encoding without room for a header.
    public func canonicalBytes(in version: UInt32) throws(WireEncodingError) -> [UInt8] {
        try canonicalBytes(in: version, behind: 0, reserving: 0)
    }

    /// Reads an encoding.
    public init(
        canonicalBytes: [UInt8], in version: UInt32 = WireLimits.protocolVersion
    ) throws(CanonicalEncodingError) {
        self = try unsafe canonicalBytes.withUnsafeBufferPointer { bytes throws(CanonicalEncodingError) in
            try unsafe Self(reading: UnsafeRawBufferPointer(bytes), in: version)
        }
    }
}

/// Why a message has no encoding.
public enum WireEncodingError: Error, Equatable, Sendable {
    /// One of its texts, bytes or lists is longer than any message may be.
    case tooLarge
    /// A greeting whose version or nonce does not fit into its form.
    case malformed
}

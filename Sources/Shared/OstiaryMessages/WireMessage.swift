public import CanonicalEncoding

/// A message of the protocol, or a part of one: a value of named fields. Every field has a value from the start, so a program
/// sets what it means and leaves the rest.
public protocol WireMessage: Equatable, Sendable {
    init()
}

extension WireMessage {
    /// A message whose fields `set` sets.
    @inlinable
    public static func with<Failure: Error>(_ set: (inout Self) throws(Failure) -> Void) throws(Failure) -> Self {
        var message = Self()
        try set(&message)
        return message
    }
}

/// A message that fills a frame: ``WireGreeting``, ``WireRequest`` or ``WireReply``.
///
/// It has exactly one encoding, which `Documentation/formats/wire.md` lays out: all fields in a fixed order, integers
/// big-endian, texts, bytes and lists behind their length, what may be absent behind a byte that says whether it is there.
/// Fields have no numbers, so none can be unknown, repeated or out of order. What is left over is refused.
public protocol FrameMessage: WireMessage {
    /// The encoding, behind `room` bytes that are left for a header.
    ///
    /// - Parameter more: bytes that will be appended; the result has room for them when the message is of usual size.
    /// - Throws: ``WireEncodingError`` for a message that the other side would refuse.
    func canonicalBytes(behind room: Int, reserving more: Int) throws(WireEncodingError) -> [UInt8]

    /// Reads an encoding where it lies. Nothing is allocated that is much larger than `bytes`.
    ///
    /// - Throws: for everything that ``canonicalBytes(behind:reserving:)`` does not write.
    @unsafe init(reading bytes: UnsafeRawBufferPointer) throws(CanonicalEncodingError)
}

extension FrameMessage {
    /// The encoding alone.
    public var canonicalBytes: [UInt8] {
        get throws(WireEncodingError) { try canonicalBytes(behind: 0, reserving: 0) }
    }

    /// Reads an encoding.
    public init(canonicalBytes: [UInt8]) throws(CanonicalEncodingError) {
        self = try unsafe canonicalBytes.withUnsafeBufferPointer { bytes throws(CanonicalEncodingError) in
            try unsafe Self(reading: UnsafeRawBufferPointer(bytes))
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

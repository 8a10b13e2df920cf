/// The identifier of a relying party: a domain in lower case, of ASCII alone, with at least two labels (RFC 1034 3.5, RFC 1123
/// 2.1). A domain with other letters is written in its `xn--` form. An address is no domain.
public struct RelyingPartyIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// For example `example.com`.
    public let domain: String

    /// RFC 1035 2.3.4, without the root's dot.
    private static let byteCount = 253
    private static let labelByteCount = 63

    /// nil for text that is none.
    public init?(_ text: String) {
        guard (1...Self.byteCount).contains(text.utf8.count) else { return nil }
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count >= 2, labels.allSatisfy(Self.isLabel), let last = labels.last else { return nil }
        // An address in any notation ends in a number (WHATWG URL, "ends in a number checker").
        guard !last.allSatisfy(Self.isDigit), !last.starts(with: "0x".utf8) else { return nil }
        domain = text
    }

    public var description: String { domain }

    private static func isLabel(_ label: Substring.UTF8View) -> Bool {
        let hyphen = UInt8(ascii: "-")
        return (1...labelByteCount).contains(label.count) && label.first != hyphen && label.last != hyphen
            && label.allSatisfy { isLetter($0) || isDigit($0) || $0 == hyphen }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

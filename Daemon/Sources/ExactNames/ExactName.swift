/// A name that decides who may do what: of a program, an application, an access group, a relying party, or an object.
///
/// Two names are equal only if their UTF-8 bytes are. Swift compares text by what people see: `é` as one character equals `e`
/// with an accent behind it, and so does its hash. For the file system, a domain and the store these are two names, and two
/// programs could stand behind them. So no such name is compared as a `String`.
public struct ExactName: Hashable, Comparable, Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public var utf8: String.UTF8View { text.utf8 }
    public var isEmpty: Bool { text.isEmpty }

    public static func == (left: ExactName, right: ExactName) -> Bool { left.utf8.elementsEqual(right.utf8) }

    /// The order of the bytes.
    public static func < (left: ExactName, right: ExactName) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }

    public func hash(into hasher: inout Hasher) {
        for byte in utf8 { hasher.combine(byte) }
        // No text has this byte, so a list of names has the hash of no other list.
        hasher.combine(UInt8.max)
    }

    public func hasPrefix(_ prefix: ExactName) -> Bool { utf8.starts(with: prefix.utf8) }

    public func hasSuffix(_ suffix: ExactName) -> Bool { utf8.reversed().starts(with: suffix.utf8.reversed()) }
}

extension ExactName: ExpressibleByStringInterpolation, CustomStringConvertible {
    public init(stringLiteral text: String) { self.init(text) }

    public var description: String { text }
}

extension Sequence<ExactName> {
    /// The texts, in the same order.
    public var texts: [String] { map(\.text) }
}

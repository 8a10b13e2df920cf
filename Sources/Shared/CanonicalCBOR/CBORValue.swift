/// A value of CBOR, as far as WebAuthn and CTAP 2 use it.
public enum CBORValue: Equatable, Sendable {
    case unsigned(UInt64)
    /// The number is -1 less this value.
    case negative(UInt64)
    case bytes(ArraySlice<UInt8>)
    case text(String)
    case array([CBORValue])
    case map(CBORMap)
    case boolean(Bool)
    case null

    /// The number, if the value is one and fits.
    public var integer: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    public var bytes: ArraySlice<UInt8>? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    public var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    public var array: [CBORValue]? {
        if case .array(let array) = self { array } else { nil }
    }

    public var map: CBORMap? {
        if case .map(let map) = self { map } else { nil }
    }

    public var boolean: Bool? {
        if case .boolean(let boolean) = self { boolean } else { nil }
    }
}

/// A map of CBOR. Its keys are numbers or text, and each stands there once.
public struct CBORMap: Equatable, Sendable {
    public struct Entry: Equatable, Sendable {
        public let key: CBORValue
        public let value: CBORValue

        public init(key: CBORValue, value: CBORValue) {
            (self.key, self.value) = (key, value)
        }
    }

    public let entries: [Entry]

    init(entries: [Entry]) { self.entries = entries }

    public subscript(name: String) -> CBORValue? { entries.first { $0.key == .text(name) }?.value }

    public subscript(label: Int) -> CBORValue? { entries.first { $0.key.integer == label }?.value }
}

/// A value of CBOR, as far as WebAuthn uses it.
enum CBORValue: Equatable, Sendable {
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
    var integer: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }

    var bytes: ArraySlice<UInt8>? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    var array: [CBORValue]? {
        if case .array(let array) = self { array } else { nil }
    }

    var map: CBORMap? {
        if case .map(let map) = self { map } else { nil }
    }
}

/// A map of CBOR. Its keys are numbers or text, and each stands there once.
struct CBORMap: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        let key: CBORValue
        let value: CBORValue
    }

    let entries: [Entry]

    subscript(name: String) -> CBORValue? { entries.first { $0.key == .text(name) }?.value }

    subscript(label: Int) -> CBORValue? { entries.first { $0.key.integer == label }?.value }
}

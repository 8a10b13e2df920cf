public import Foundation

/// A key of the parameters of a key exchange (Apple's `SecKeyKeyExchangeParameter`, SecKey.h).
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, Sendable {
    private let name: String

    public init(rawValue: CFString) {
        name = rawValue as String
    }

    private init(_ name: String) {
        self.name = name
    }

    public var rawValue: CFString { name as CFString }

    /// Length of the result in bytes, a number. The algorithms with key derivation need it.
    public static let requestedSize = SecKeyKeyExchangeParameter("requestedSize")

    /// Bytes that both sides mix into the result, as data; optional.
    public static let sharedInfo = SecKeyKeyExchangeParameter("sharedInfo")
}

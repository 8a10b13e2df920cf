public import Foundation
package import KeyAlgorithms

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

extension KeyExchangeParameters {
    /// Reads the untyped dictionary of a key exchange. Keys may be `SecKeyKeyExchangeParameter`, `String` or
    /// `NSString`, which all name one entry (the first is not equal to the others as `AnyHashable`); entries of other names are
    /// ignored.
    ///
    /// Throws for a value of a wrong type, and for an entry that two spellings of its key name twice.
    package init(_ dictionary: [AnyHashable: Any]) throws(KeyAlgorithmError) {
        self.init()
        var seen: Set<SecKeyKeyExchangeParameter> = []
        for (key, value) in dictionary {
            guard let parameter = Self.parameter(key) else { continue }
            let isFirst = seen.insert(parameter).inserted
            switch parameter {
            case .requestedSize:
                guard isFirst, let size = Self.size(value) else { throw .invalidParameter(.requestedSize) }
                requestedSize = size
            case .sharedInfo:
                guard isFirst, let info = value as? Data else { throw .invalidParameter(.sharedInfo) }
                sharedInfo = info
            default: continue
            }
        }
    }

    private static func parameter(_ key: AnyHashable) -> SecKeyKeyExchangeParameter? {
        switch key.base {
        case let parameter as SecKeyKeyExchangeParameter: parameter
        case let name as String: SecKeyKeyExchangeParameter(rawValue: name as CFString)
        case let name as NSString: SecKeyKeyExchangeParameter(rawValue: name)
        default: nil
        }
    }

    private static func size(_ value: Any) -> Int? {
        switch value {
        case let number as any BinaryInteger: Int(exactly: number)
        case let number as NSNumber: Int(exactly: number)
        default: nil
        }
    }
}

package import Foundation

/// The untyped dictionary with which a key is asked for.
package struct KeyParameters {
    private let entries: [String: Any]

    /// Refuses a dictionary whose keys are no strings with `errSecParam`.
    package init(_ dictionary: CFDictionary) throws(StatusError) {
        guard let entries = dictionary as? [String: Any] else {
            throw .parameter("The keys of the parameters are not all strings.")
        }
        self.entries = entries
    }

    /// The key type, which may be given as text or number; `errSecParam` if it is missing or none that exists here.
    package func keyType() throws(StatusError) -> KeyType {
        guard let type = text(kSecAttrKeyType).flatMap(KeyType.init) else {
            throw .parameter("The key type is missing or not known.")
        }
        return type
    }

    /// The half, which may be given as text or number; `errSecParam` if it is missing or unknown, `errSecUnimplemented` for
    /// a symmetric key.
    package func keyClass() throws(StatusError) -> KeyClass {
        let value = text(kSecAttrKeyClass)
        if value == kSecAttrKeyClassSymmetric as String {
            throw StatusError(errSecUnimplemented, "Symmetric keys have no SecKey here.")
        }
        guard let keyClass = value.flatMap(KeyClass.init) else {
            throw .parameter("The key class is missing or not known.")
        }
        return keyClass
    }

    /// The size, which may be given as number or as digits; `errSecParam` if it is missing or neither.
    package func sizeInBits() throws(StatusError) -> Int {
        guard let size = text(kSecAttrKeySizeInBits).flatMap(Int.init) else {
            throw .parameter("The key size is missing or is not a number.")
        }
        return size
    }

    /// The token that is to hold the key.
    package var tokenID: String? { entries[kSecAttrTokenID as String] as? String }

    /// The handle of a key that a token holds.
    package var tokenObjectID: Data? { entries[kSecAttrTokenOID as String] as? Data }

    /// The attributes of one half of a software pair: the entries at the top, overridden by the entries under `key`.
    package func attributes(under key: CFString) throws(StatusError) -> [String: Any] {
        common.merging(try section(key)) { _, special in special }
    }

    /// The attributes for a token: the section of the private half, overridden by the entries at the top.
    package func tokenAttributes() throws(StatusError) -> [String: Any] {
        try section(kSecPrivateKeyAttrs).merging(common) { _, top in top }
    }

    /// Whether to store the half with these merged attributes; throws `errSecParam` for a value that is no truth value.
    package static func isPermanent(_ attributes: [String: Any], default isDefault: Bool) throws(StatusError) -> Bool {
        guard let value = attributes[kSecAttrIsPermanent as String] else { return isDefault }
        guard let isPermanent = value as? Bool else {
            throw .parameter("kSecAttrIsPermanent must be a truth value.")
        }
        return isPermanent
    }

    /// The section of one half alone; empty if there is none, `errSecParam` if it is no dictionary.
    package func section(_ key: CFString) throws(StatusError) -> [String: Any] {
        guard let value = entries[key as String] else { return [:] }
        guard let section = value as? [String: Any] else {
            throw .parameter("The attributes of each half must be a dictionary.")
        }
        return section
    }

    private var common: [String: Any] {
        entries.filter { ![kSecPrivateKeyAttrs as String, kSecPublicKeyAttrs as String].contains($0.key) }
    }

    private func text(_ key: CFString) -> String? {
        switch entries[key as String] {
        case let text as String: text
        case let number as NSNumber: number.stringValue
        default: nil
        }
    }
}

package import CanonicalCBOR

/// The parameters of a request. Members that CTAP does not know are left out of account, as it demands.
package struct Parameters {
    package let map: CBORMap

    package init(_ map: CBORMap) { self.map = map }

    /// - Throws: ``CTAPStatus/invalidCBOR``, ``CTAPStatus/unexpectedType`` for anything but a map.
    package init(decoding bytes: ArraySlice<UInt8>) throws(CTAPStatus) {
        let value: CBORValue
        do {
            value = try CBORDecoder.decode(bytes, .canonical)
        } catch {
            throw .invalidCBOR
        }
        guard let map = value.map else { throw .unexpectedType }
        self.map = map
    }

    package func optional<Value>(_ key: Int, _ read: (CBORValue) -> Value?) throws(CTAPStatus) -> Value? {
        try Self.value(map[key], read)
    }

    func required<Value>(_ key: Int, _ read: (CBORValue) -> Value?) throws(CTAPStatus) -> Value {
        guard let value = try optional(key, read) else { throw .missingParameter }
        return value
    }

    func optional<Value>(_ key: String, _ read: (CBORValue) -> Value?) throws(CTAPStatus) -> Value? {
        try Self.value(map[key], read)
    }

    func required<Value>(_ key: String, _ read: (CBORValue) -> Value?) throws(CTAPStatus) -> Value {
        guard let value = try optional(key, read) else { throw .missingParameter }
        return value
    }

    private static func value<Value>(_ found: CBORValue?, _ read: (CBORValue) -> Value?) throws(CTAPStatus) -> Value? {
        guard let found else { return nil }
        guard let value = read(found) else { throw .unexpectedType }
        return value
    }
}

extension CBORValue {
    /// A string of bytes as an array of its own.
    var byteArray: [UInt8]? { bytes.map { [UInt8]($0) } }
}

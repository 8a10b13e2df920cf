import MessageBus
import SecretItems

extension BusArguments {
    /// Reads object paths (`ao`).
    mutating func readObjectPaths() throws(BusFault) -> [String] {
        var paths: [String] = []
        try readArray(of: "o") { (arguments) throws(BusFault) in
            paths.append(try arguments.readObjectPath())
            guard paths.count <= ServiceLimits.objectCount else { throw .limitsExceeded }
        }
        return paths
    }

    /// Reads attributes (`a{ss}`).
    ///
    /// - Throws: `InvalidArgs` for a name that comes twice, in whatever spelling, and for an empty one.
    mutating func readAttributes() throws(BusFault) -> [String: String] {
        var attributes: [String: String] = [:]
        var byteCount = 0
        try readArray(of: "{ss}") { (arguments) throws(BusFault) in
            try arguments.readDictionaryEntry(of: "ss") { (arguments) throws(BusFault) in
                let (name, value) = (try arguments.readString(), try arguments.readString())
                guard !name.isEmpty, attributes.updateValue(value, forKey: name) == nil else {
                    throw .invalid("An attribute has a name, and is given once.")
                }
                byteCount += name.utf8.count + value.utf8.count
            }
            guard attributes.count <= ServiceLimits.attributeCount, byteCount <= ServiceLimits.attributeByteCount else {
                throw .tooMuch(
                    "An item or a search has at most \(ServiceLimits.attributeCount) attributes, and "
                        + "\(ServiceLimits.attributeByteCount) bytes of them.")
            }
        }
        return attributes
    }

    /// Reads the properties of an item or a collection that is to be made (`a{sv}`). Others than those two are passed over.
    mutating func readProperties(of interface: String) throws(BusFault) -> GivenProperties {
        var properties = GivenProperties()
        try readArray(of: "{sv}") { (arguments) throws(BusFault) in
            try arguments.readDictionaryEntry(of: "sv") { (arguments) throws(BusFault) in
                switch try arguments.readString() {
                case interface + ".Label":
                    properties.label = try arguments.readVariant(of: "s") { (value) throws(BusFault) in
                        try value.readLabel()
                    }
                case interface + ".Attributes":
                    properties.attributes = try arguments.readVariant(of: "a{ss}") { (value) throws(BusFault) in
                        try value.readAttributes()
                    }
                default: try arguments.skip()
                }
            }
        }
        return properties
    }

    /// Reads a label (`s`).
    mutating func readLabel() throws(BusFault) -> String {
        let label = try readString()
        guard label.utf8.count <= ServiceLimits.attributeByteCount else {
            throw .tooMuch("A label has at most \(ServiceLimits.attributeByteCount) bytes.")
        }
        return label
    }

    /// Reads a secret as programs send it (`(oayays)`).
    mutating func readParcel() throws(BusFault) -> SecretParcel {
        try readStructure(of: "oayays") { (values) throws(BusFault) in
            let session = try values.readObjectPath()
            let parameters = try values.readBytes()
            let value = HeldSecret(try values.readSecret())
            let contentType = try values.readString()
            guard contentType.utf8.count <= ServiceLimits.contentTypeByteCount else {
                throw .tooMuch("A content type has at most \(ServiceLimits.contentTypeByteCount) bytes.")
            }
            return SecretParcel(session: session, parameters: parameters, value: value, contentType: contentType)
        }
    }
}

/// What a program gives a new item or collection.
struct GivenProperties: Equatable, Sendable {
    var label: String?
    var attributes: [String: String]?
}

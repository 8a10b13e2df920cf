import MessageBus

/// A value of a property, or of a prompt's result.
enum BusValue: Equatable, Sendable {
    case text(String)
    case flag(Bool)
    case seconds(UInt64)
    case path(String)
    case paths([String])
    case attributes([String: String])

    var type: String {
        switch self {
        case .text: "s"
        case .flag: "b"
        case .seconds: "t"
        case .path: "o"
        case .paths: "ao"
        case .attributes: "a{ss}"
        }
    }

    /// Writes the value itself.
    func write(to values: inout BusWriter) throws(BusFault) {
        switch self {
        case .text(let text): try values.append(text)
        case .flag(let flag): try values.append(flag)
        case .seconds(let number): try values.append(number)
        case .path(let path): try values.append(objectPath: path)
        case .paths(let paths): try values.append(objectPaths: paths)
        case .attributes(let attributes):
            try values.appendArray(of: "{ss}") { (values) throws(BusFault) in
                for (name, value) in attributes {
                    try values.appendDictionaryEntry(of: "ss") { (values) throws(BusFault) in
                        try values.append(name)
                        try values.append(value)
                    }
                }
            }
        }
    }

    /// Writes a variant of the value.
    func writeVariant(to values: inout BusWriter) throws(BusFault) {
        try values.appendVariant(of: type) { (values) throws(BusFault) in try write(to: &values) }
    }
}

/// The properties of an object, by their names.
struct PropertyValues: Sendable, ExpressibleByDictionaryLiteral {
    let values: [(name: String, value: BusValue)]

    init(dictionaryLiteral values: (String, BusValue)...) {
        self.values = values.map { (name: $0.0, value: $0.1) }
    }

    /// Answers a reading: of one property, or for nil of all.
    func answer(_ call: BusCall, _ name: String?) {
        guard let name else {
            call.answer { [self] (values) throws(BusFault) in try write(to: &values) }
            return
        }
        guard let value = values.first(where: { $0.name == name })?.value else { return call.refuse(.noSuchObject) }
        call.answer { (values) throws(BusFault) in try value.writeVariant(to: &values) }
    }

    /// Writes a dictionary (`a{sv}`).
    func write(to writer: inout BusWriter) throws(BusFault) {
        let values = values
        try writer.appendArray(of: "{sv}") { (writer) throws(BusFault) in
            for (name, value) in values {
                try writer.appendDictionaryEntry(of: "sv") { (writer) throws(BusFault) in
                    try writer.append(name)
                    try value.writeVariant(to: &writer)
                }
            }
        }
    }
}

extension BusWriter {
    mutating func append(objectPaths paths: [String]) throws(BusFault) {
        try appendArray(of: "o") { (values) throws(BusFault) in
            for path in paths { try values.append(objectPath: path) }
        }
    }
}

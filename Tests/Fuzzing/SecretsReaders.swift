import CSystemd
import Foundation
import Glibc
import SecretItems
import SecretMemory

@testable import MessageBus
@testable import SessionCiphers

// Compiled by script/fuzz with the service's sources, as one module.

/// What a program of the session sends to `ostiary-secrets`.
let readers: [String: @Sendable ([UInt8]) -> Void] = [
    "secret-exchange": { bytes in
        let secret = side.secret(with: bytes)
        precondition(
            (secret != nil) == isNumberOfGroup(bytes), "a number is taken that is none, or the other way round")
        guard let secret else { return }
        precondition(secret.count == KeyExchange.byteCount, "a secret of another length")
        precondition(side.secret(with: Array(bytes.drop { $0 == 0 })) == secret, "zeros in front make another number")
    },
    "secret-value": { bytes in
        let vector = Array(bytes.dropFirst().prefix(Int(bytes.first ?? 0)))
        let value = Array(bytes.dropFirst(1 + vector.count))
        if let opened = open(value, vector, in: SecretSession()) {
            precondition(vector.isEmpty && opened == value, "a plain secret is another one")
        }
        let held = OpenedSecret(HeldSecret(SecretBytes(Data(value))), contentType: "", isForSomePrograms: true)
        guard let sealed = try? encrypted.seal(held), case .encrypted(let bytes) = sealed.value else {
            preconditionFailure("a secret is not encrypted")
        }
        precondition(open(bytes, sealed.parameters, in: encrypted) == value, "a secret comes back as another one")
        // What was encrypted for nobody ends with a padding by chance alone.
        guard let opened = open(value, vector, in: encrypted) else { return }
        precondition((1...16).contains(value.count - opened.count), "a padding of another length")
    },
    "secret-name": { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let path = ServedPath(text) { precondition(areSame(path.text, text), "an object has two paths") }
        if let id = SecretID(text) {
            precondition(areSame(id.description, text) && SecretID(id.bytes) == id, "an item has two ids")
        }
        if let name = CollectionName(text) { precondition(areSame(name.text, text), "a collection has two names") }
        if let alias = AliasName(text) {
            precondition(ServedPath(ServedPath.alias(alias).text) == .alias(alias), "a name is no part of a path")
            precondition(alias.fixed == nil || areSame(alias.fixed?.text ?? "", text), "a name leads elsewhere")
            precondition(alias.attribute.hasPrefix(RowAttribute.alias), "a name is an attribute of programs")
        }
        if let name = ApplicationName(text) { precondition(areSame(name.text, text), "an application has two names") }
    },
    "secret-arguments": { bytes in
        var values = FuzzedValues(bytes)
        let written = values.arguments()
        // A program sends what the method takes; the bus and sd-bus see to that.
        let read = values.byte() % 8 == 1 ? values.arguments() : written
        guard let message = connection.message(of: written.types, from: &values) else { return }
        var arguments = BusArguments(message, byteCount: argumentByteCount)
        do throws(BusFault) { try read.read(from: &arguments) } catch {
            precondition(error == .invalidArguments || isOfService(error), "another refusal: \(error.name)")
        }
    },
]

private func areSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

// MARK: secrets

/// One side of an exchange.
private final class Side {
    private let exchange = KeyExchange()

    func secret(with number: [UInt8]) -> [UInt8]? {
        let secret = exchange.sharedSecret(with: number)
        switch secret {
        case .some(let secret): return secret.withUnsafeBytes { Array($0) }
        case .none: return nil
        }
    }
}

/// SAFETY: one thread reads what libFuzzer finds.
nonisolated(unsafe) private let side = Side()

/// Whether it is one of 2 ... p - 2.
private func isNumberOfGroup(_ bytes: [UInt8]) -> Bool {
    guard (1...KeyExchange.byteCount).contains(bytes.count) else { return false }
    let number = Array(bytes.drop { $0 == 0 })
    guard number.count == KeyExchange.byteCount else { return !number.isEmpty && number != [1] }
    // The modulus is odd.
    return number.lexicographicallyPrecedes(KeyExchange.modulus.dropLast() + [KeyExchange.modulus[127] - 1])
}

private let encrypted: SecretSession = {
    guard let made = try? SecretSession.exchanging([2]) else { preconditionFailure("2 is no number of the group") }
    return made.session
}()

private func open(_ value: [UInt8], _ parameters: [UInt8], in session: SecretSession) -> [UInt8]? {
    let parcel = SecretParcel(
        session: "/", parameters: parameters, value: HeldSecret(SecretBytes(Data(value))), contentType: "")
    return (try? session.open(parcel)).map { secret in secret.bytes.withUnsafeBytes { Array($0) } }
}

// MARK: arguments

/// Arguments that methods and properties of the service take.
private enum FuzzedArguments: UInt8, CaseIterable {
    case attributes, itemProperties, collectionProperties, paths, parcel, label, session

    var types: [String] {
        switch self {
        case .attributes: ["a{ss}"]
        case .itemProperties, .collectionProperties: ["a{sv}"]
        case .paths: ["ao"]
        case .parcel: ["(oayays)"]
        case .label: ["s"]
        case .session: ["s", "v"]
        }
    }

    func read(from arguments: inout BusArguments) throws(BusFault) {
        switch self {
        case .attributes: require(try arguments.readAttributes())
        case .itemProperties: require(try arguments.readProperties(of: SecretInterface.item))
        case .collectionProperties: require(try arguments.readProperties(of: SecretInterface.collection))
        case .paths:
            let paths = try arguments.readObjectPaths()
            precondition(paths.count <= ServiceLimits.objectCount, "more paths")
        case .parcel:
            let parcel = try arguments.readParcel()
            precondition(parcel.contentType.utf8.count <= ServiceLimits.contentTypeByteCount, "a longer type")
        case .label: require(GivenProperties(label: try arguments.readLabel()))
        case .session:
            _ = try arguments.readString()
            guard try arguments.variantContents() == "ay" else { return try arguments.skip() }
            _ = try arguments.readVariant(of: "ay") { (value) throws(BusFault) in try value.readBytes() }
        }
    }

    private func require(_ properties: GivenProperties) {
        precondition(properties.label?.utf8.count ?? 0 <= ServiceLimits.attributeByteCount, "a longer label")
        if let attributes = properties.attributes { require(attributes) }
    }

    private func require(_ attributes: [String: String]) {
        precondition(attributes.count <= ServiceLimits.attributeCount, "more attributes")
        let byteCount = attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        precondition(byteCount <= ServiceLimits.attributeByteCount, "longer attributes")
        precondition(!attributes.keys.contains(""), "an attribute without a name")
    }
}

private let argumentByteCount = ServiceLimits.bus(.ofThisProcess()).argumentByteCount

private func isOfService(_ fault: BusFault) -> Bool {
    ["InvalidArgs", "LimitsExceeded"].contains { fault.name == "org.freedesktop.DBus.Error." + $0 }
}

/// Values that libFuzzer chooses.
private struct FuzzedValues {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    mutating func arguments() -> FuzzedArguments {
        FuzzedArguments.allCases[Int(byte()) % FuzzedArguments.allCases.count]
    }

    private mutating func take(_ count: Int) -> [UInt8] {
        defer { bytes = bytes.dropFirst(count) }
        return Array(bytes.prefix(count))
    }

    /// Names that the service knows. No chance finds them.
    private static let known = [
        "org.freedesktop.Secret.Item.Label", "org.freedesktop.Secret.Item.Attributes",
        "org.freedesktop.Secret.Collection.Label", "xdg:schema", "plain", "dh-ietf1024-sha256-aes128-cbc-pkcs7",
    ]

    /// A text that sd-bus takes.
    private mutating func text() -> String {
        let choice = byte()
        switch choice {
        case 0xf0...0xfd: return Self.known[Int(choice) % Self.known.count]
        // As long as limits are, and longer.
        case 0xfe: return String(repeating: "x", count: 1024 * Int(byte()))
        default: return String(decoding: take(Int(choice) % 64).filter { $0 != 0 }, as: UTF8.self)
        }
    }

    private mutating func path() -> String {
        let path = byte() % 2 == 0 ? ServedPath.root + "/" + text() : text()
        return sd_bus_object_path_is_valid(path) > 0 ? path : "/"
    }

    private mutating func data() -> [UInt8] {
        let choice = byte()
        return choice == 0xfe ? [UInt8](repeating: 7, count: 4096 * Int(byte())) : take(Int(choice))
    }

    /// How many elements an array has: a few, or more than an item may have.
    private mutating func count() -> Int {
        let choice = byte()
        return choice == 0xff ? 60 : Int(choice % 6)
    }

    private static let inVariants = ["s", "ay", "a{ss}", "o", "b", "t", "ao", "v", "a{sv}", "(oayays)"]
    private static let depth = 8

    /// Writes a value of this type; false if sd-bus does not take it.
    mutating func write(_ type: String, to message: OpaquePointer, depth: Int = 0) -> Bool {
        switch type {
        case "s": return sd_bus_message_append_basic(message, code("s"), text()) >= 0
        case "o": return sd_bus_message_append_basic(message, code("o"), path()) >= 0
        case "b":
            var flag = CInt(byte() % 2)
            return sd_bus_message_append_basic(message, code("b"), &flag) >= 0
        case "t":
            var number = UInt64(byte())
            return sd_bus_message_append_basic(message, code("t"), &number) >= 0
        case "ay":
            let bytes = data()
            return sd_bus_message_append_array(message, code("y"), bytes, bytes.count) >= 0
        case "v":
            let contents = depth < Self.depth ? Self.inVariants[Int(byte()) % Self.inVariants.count] : "s"
            return write([contents], in: "v", contents, to: message, depth)
        case "ao": return write(Array(repeating: "o", count: count()), in: "a", "o", to: message, depth)
        case "a{ss}": return write(Array(repeating: "{ss}", count: count()), in: "a", "{ss}", to: message, depth)
        case "a{sv}": return write(Array(repeating: "{sv}", count: count()), in: "a", "{sv}", to: message, depth)
        case "{ss}": return write(["s", "s"], in: "e", "ss", to: message, depth)
        case "{sv}": return write(["s", "v"], in: "e", "sv", to: message, depth)
        default: return write(["o", "ay", "ay", "s"], in: "r", "oayays", to: message, depth)
        }
    }

    private mutating func write(
        _ types: [String], in container: Unicode.Scalar, _ contents: String, to message: OpaquePointer, _ depth: Int
    ) -> Bool {
        guard sd_bus_message_open_container(message, code(container), contents) >= 0 else { return false }
        for type in types where !write(type, to: message, depth: depth + 1) { return false }
        return sd_bus_message_close_container(message) >= 0
    }

    private func code(_ scalar: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: scalar.value) }
}

/// A connection that leads to nobody. sd-bus makes messages of it.
private final class Connection {
    private let bus: OpaquePointer

    init() {
        var ends: [CInt] = [-1, -1]
        var made: OpaquePointer?
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0, sd_bus_new(&made) >= 0, let made,
            sd_bus_set_fd(made, ends[0], ends[0]) >= 0, sd_bus_start(made) >= 0
        else { preconditionFailure("sd-bus makes no connection") }
        bus = made
    }

    /// A call with arguments of these types.
    func message(of types: [String], from values: inout FuzzedValues) -> BusMessage? {
        var made: OpaquePointer?
        guard sd_bus_message_new_method_call(bus, &made, nil, "/", "org.example", "Call") >= 0, let made else {
            preconditionFailure("sd-bus makes no message")
        }
        let message = BusMessage(owning: made)
        for type in types where !values.write(type, to: made) { return nil }
        guard sd_bus_message_seal(made, 1, 0) >= 0, sd_bus_message_rewind(made, 1) >= 0 else { return nil }
        return message
    }
}

/// SAFETY: as for ``side``.
nonisolated(unsafe) private let connection = Connection()

import CSystemd
import Glibc

/// A value of a message, of any type that the Secret Service has.
public indirect enum BusDatum: Equatable, Sendable {
    case text(String)
    case path(String)
    case flag(Bool)
    case number(UInt64)
    case small(UInt32)
    case bytes([UInt8])
    case descriptor(CInt)
    case array(of: String, [BusDatum])
    case structure([BusDatum])
    case entry(BusDatum, BusDatum)
    case variant(BusDatum)

    public static func attributes(_ attributes: [String: String]) -> BusDatum {
        .array(of: "{ss}", attributes.map { .entry(.text($0.key), .text($0.value)) })
    }

    public static func properties(_ properties: [String: BusDatum]) -> BusDatum {
        .array(of: "{sv}", properties.map { .entry(.text($0.key), .variant($0.value)) })
    }

    public static func paths(_ paths: [String]) -> BusDatum { .array(of: "o", paths.map { .path($0) }) }

    var signature: String {
        switch self {
        case .text: "s"
        case .path: "o"
        case .flag: "b"
        case .number: "t"
        case .small: "u"
        case .bytes: "ay"
        case .descriptor: "h"
        case .array(let contents, _): "a" + contents
        case .structure(let parts): "(" + parts.map(\.signature).joined() + ")"
        case .entry(let key, let value): "{" + key.signature + value.signature + "}"
        case .variant: "v"
        }
    }

    // MARK: what tests look at

    public var text: String? {
        switch self {
        case .text(let text), .path(let text): text
        case .variant(let value): value.text
        default: nil
        }
    }

    /// The paths of an array, also within a variant.
    public var paths: [String]? {
        switch self {
        case .array(_, let elements): elements.compactMap(\.text)
        case .variant(let value): value.paths
        default: nil
        }
    }

    /// A dictionary, with its variants unwrapped, also within a variant.
    public var dictionary: [String: BusDatum]? {
        switch self {
        case .variant(let value): value.dictionary
        case .array(_, let elements):
            elements.reduce(into: [:]) { found, element in
                guard case .entry(let key, let value) = element, let name = key.text else { return }
                if case .variant(let inner) = value { found[name] = inner } else { found[name] = value }
            }
        default: nil
        }
    }

    // MARK: messages

    func append(to message: OpaquePointer) throws {
        switch self {
        case .text(let text): try check(sd_bus_message_append_basic(message, code("s"), text))
        case .path(let text): try check(sd_bus_message_append_basic(message, code("o"), text))
        case .flag(let flag):
            var value: CInt = flag ? 1 : 0
            try check(sd_bus_message_append_basic(message, code("b"), &value))
        case .number(var number): try check(sd_bus_message_append_basic(message, code("t"), &number))
        case .small(var number): try check(sd_bus_message_append_basic(message, code("u"), &number))
        case .descriptor(var number): try check(sd_bus_message_append_basic(message, code("h"), &number))
        case .bytes(let bytes): try check(sd_bus_message_append_array(message, code("y"), bytes, bytes.count))
        case .array(let contents, let elements): try append(elements, in: "a", contents, to: message)
        case .structure(let parts): try append(parts, in: "r", parts.map(\.signature).joined(), to: message)
        case .entry(let key, let value):
            try append([key, value], in: "e", key.signature + value.signature, to: message)
        case .variant(let value): try append([value], in: "v", value.signature, to: message)
        }
    }

    private func append(
        _ parts: [BusDatum], in container: Unicode.Scalar, _ contents: String, to message: OpaquePointer
    ) throws {
        try check(sd_bus_message_open_container(message, code(container), contents))
        for part in parts { try part.append(to: message) }
        try check(sd_bus_message_close_container(message))
    }

    /// All values that are left in the present container.
    static func readAll(_ message: OpaquePointer) throws -> [BusDatum] {
        var values: [BusDatum] = []
        while let value = try read(message) { values.append(value) }
        return values
    }

    private static func read(_ message: OpaquePointer) throws -> BusDatum? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard try check(sd_bus_message_peek_type(message, &type, &contents)) > 0 else { return nil }
        let inner = contents.map { String(cString: $0) } ?? ""
        switch Unicode.Scalar(UInt8(bitPattern: type)) {
        case "s": return .text(try readText(message, type))
        case "o": return .path(try readText(message, type))
        case "b": return .flag(try readBasic(message, type, CInt(0)) != 0)
        case "t": return .number(try readBasic(message, type, UInt64(0)))
        case "u": return .small(try readBasic(message, type, UInt32(0)))
        case "a" where inner == "y":
            var (start, count): (UnsafeRawPointer?, Int) = (nil, 0)
            try check(sd_bus_message_read_array(message, code("y"), &start, &count))
            return .bytes(Array(UnsafeRawBufferPointer(start: start, count: count)))
        case "a": return .array(of: inner, try readContents(message, "a", inner))
        case "r": return .structure(try readContents(message, "r", inner))
        case "v": return .variant(try readContents(message, "v", inner)[0])
        case "e":
            let parts = try readContents(message, "e", inner)
            return .entry(parts[0], parts[1])
        default: throw BusProgramError.call("a value of type \(type)")
        }
    }

    private static func readContents(
        _ message: OpaquePointer, _ container: Unicode.Scalar, _ contents: String
    ) throws -> [BusDatum] {
        try check(sd_bus_message_enter_container(message, code(container), contents))
        let values = try readAll(message)
        try check(sd_bus_message_exit_container(message))
        return values
    }

    private static func readText(_ message: OpaquePointer, _ type: CChar) throws -> String {
        var text: UnsafePointer<CChar>?
        try check(sd_bus_message_read_basic(message, type, &text))
        return text.map { String(cString: $0) } ?? ""
    }

    private static func readBasic<Value: BitwiseCopyable>(
        _ message: OpaquePointer, _ type: CChar, _ empty: Value
    ) throws -> Value {
        var value = empty
        try check(withUnsafeMutablePointer(to: &value) { sd_bus_message_read_basic(message, type, $0) })
        return value
    }
}

private func code(_ scalar: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: scalar.value) }

@discardableResult
func check(_ result: CInt, _ call: String = #function) throws -> CInt {
    guard result >= 0 else { throw BusProgramError.call("\(call): \(String(cString: strerror(-result)))") }
    return result
}

public enum BusProgramError: Error, Equatable {
    /// sd-bus, or a limit of time.
    case call(String)
    /// The D-Bus name of an error that the other side answered with.
    case answered(String)
}

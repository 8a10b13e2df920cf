import Auditing
import CanonicalEncoding
package import Foundation
package import OstiaryMessages
package import Refusals
package import Vault

/// A value as the program gave it, since it comes back so.
package enum AttributeValue: Equatable, Sendable {
    case data(Data)
    case text(String)
    case number(Int64)
    /// Seconds since 2001-01-01.
    case date(Double)

    /// Nil for an attribute without a value.
    init?(_ value: WireAttribute.OneOf_Value?) {
        switch value {
        case .data(let data)?: self = .data(data)
        case .text(let text)?: self = .text(text)
        case .number(let number)?: self = .number(number)
        case .date(let date)?: self = .date(date == 0 ? 0 : date)  // One zero, not two.
        case nil: return nil
        }
    }

    func fits(_ kind: AttributeKind) -> Bool {
        switch (self, kind) {
        case (.data, .blob), (.text, .blob), (.number, .blob), (.data, .data), (.text, .string), (.number, .number),
            (.text, .number):
            true
        case (.date(let seconds), .date): seconds.isFinite
        default: false
        }
    }

    /// The bytes by which two values are compared. Data, its UTF-8 text and a number's four bytes are the same blob.
    var comparedBytes: [UInt8] {
        switch self {
        case .data(let data): Array(data)
        case .text(let text): Array(text.utf8)
        case .number(let number): Int32(exactly: number).map { $0.littleEndianBytes } ?? number.littleEndianBytes
        case .date(let seconds): seconds.bitPattern.littleEndianBytes
        }
    }
}

/// The attributes of one item: valid for its class.
package struct ItemAttributes: Equatable, Sendable {
    private(set) var values: [String: AttributeValue] = [:]
    /// The access control as the program gave it, shown again.
    package var shownAccessControl = Data()

    package subscript(name: String) -> AttributeValue? {
        get { values[name] }
        set { values[name] = newValue }
    }

    package func text(_ name: String) -> String? {
        if case .text(let text)? = values[name] { text } else { nil }
    }

    /// Checks a request's attributes against the class.
    ///
    /// - Throws: `noSuchAttribute`, `invalidParameter` for a value of another kind, without content, or given twice,
    ///   `tooLarge`.
    package init(_ attributes: [WireAttribute], of itemClass: ItemClass) throws(Refusal) {
        guard attributes.count <= ItemRequestLimits.attributeCount else {
            throw Refusal(
                .tooLarge, "The request has too many attributes; it may have \(ItemRequestLimits.attributeCount).",
                cause: "item.size")
        }
        try self.init(ofItem: attributes, of: itemClass)
    }

    /// The same for all attributes of an item, which may be more than those of a request.
    init(ofItem attributes: [WireAttribute], of itemClass: ItemClass) throws(Refusal) {
        for attribute in attributes { try take(attribute, of: itemClass) }
        try requireSize()
    }

    private mutating func take(_ attribute: WireAttribute, of itemClass: ItemClass) throws(Refusal) {
        guard let kind = itemClass.kind(of: attribute.key) else {
            throw Self.noSuchAttribute(attribute.key, of: itemClass)
        }
        let isFree = FreeAttribute.isKey(attribute.key)
        if isFree { try FreeAttribute.requireName(in: attribute.key) }
        // A name that a program chose is not repeated.
        let name = isFree ? "a free attribute" : "the attribute \(attribute.key)"
        guard let value = AttributeValue(attribute.value), value.fits(kind) else {
            throw Refusal(.invalidParameter, "The value of \(name) has the wrong type.", cause: "item.value")
        }
        // Two names that differ only in how their letters are put together count as one: programs would take them for one.
        guard values.updateValue(value, forKey: attribute.key) == nil else {
            throw Refusal(.invalidParameter, "The request gives \(name) twice.", cause: "item.attribute")
        }
    }

    /// Names the attribute if it is named as attributes are; nothing else that a program sent is repeated.
    private static func noSuchAttribute(_ key: String, of itemClass: ItemClass) -> Refusal {
        let isPlain = key.utf8.count == 4 && key.allSatisfy { $0.isASCII && $0.isLetter }
        return Refusal(
            .noSuchAttribute, "The class \(itemClass.name) has no \(isPlain ? "attribute \(key)" : "such attribute").",
            cause: "item.attribute")
    }

    /// Puts the attributes of a change in the place of former ones.
    mutating func change(by change: borrowing ItemChange) {
        if change.replacesFreeAttributes { values = values.filter { !FreeAttribute.isKey($0.key) } }
        for (key, value) in change.attributes.values {
            // Of two keys that look the same a dictionary keeps the former one.
            values[key] = nil
            values[key] = value
        }
        dropEmptyPrograms()
    }

    /// Throws `tooLarge` unless an item with these attributes can be shown in one message, and listed with all of its terms.
    package func requireSize() throws(Refusal) {
        let freeKeys = values.keys.filter(FreeAttribute.isKey)
        guard freeKeys.count <= ItemRequestLimits.freeAttributeCount else {
            throw Refusal(
                .tooLarge,
                "The item has too many free attributes; it may have \(ItemRequestLimits.freeAttributeCount).",
                cause: "item.size")
        }
        let keyByteCount = freeKeys.reduce(0) { $0 + $1.utf8.count }
        let byteCount = values.values.reduce(keyByteCount) { $0 + $1.comparedBytes.count }
        guard byteCount <= ItemRequestLimits.attributeByteCount else {
            throw Refusal(
                .tooLarge,
                "The item's attributes are too large; together they may have "
                    + "\(ItemRequestLimits.attributeByteCount) bytes.",
                cause: "item.size")
        }
    }

    private init() {}

    /// The attributes as a program is shown them, by name.
    package var wire: [WireAttribute] {
        values.sorted { $0.key < $1.key }.map { name, value in
            .with {
                $0.key = name
                switch value {
                case .data(let data): $0.value = .data(data)
                case .text(let text): $0.value = .text(text)
                case .number(let number): $0.value = .number(number)
                case .date(let date): $0.value = .date(date)
                }
            }
        }
    }
}

// MARK: - The encrypted form

/// version (1) || count (1) || by name: name, kind (1), length (4), value || length (4), access control as shown.
///
/// In version 1 a name has four bytes. In version 2, for items with free attributes, its length stands before it in two bytes.
extension ItemAttributes {
    func encoded(of itemClass: ItemClass) -> Data {
        let version = RecordVersion(itemClass)
        var writer = CanonicalWriter(capacity: 512)
        writer.write(version.rawValue)
        writer.write(UInt8(values.count))
        for (name, value) in values.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            let (kind, bytes): (UInt8, [UInt8]) =
                switch value {
                case .data(let data): (1, Array(data))
                case .text(let text): (2, Array(text.utf8))
                case .number(let number): (3, number.littleEndianBytes)
                case .date(let date): (4, date.bitPattern.littleEndianBytes)
                }
            version.write(name, to: &writer)
            writer.write(kind)
            writer.write(bytes, length: UInt32.self)
        }
        writer.write(shownAccessControl, length: UInt32.self)
        return Data(writer.bytes)
    }

    /// Reads the decrypted bytes; a store that verifies holds no other form.
    package init(encoded: Data, of itemClass: ItemClass) throws {
        self.init()
        let version = RecordVersion(itemClass)
        var reader = CanonicalReader(Array(encoded))
        guard try reader.read(UInt8.self) == version.rawValue else { throw CanonicalEncodingError.truncated }
        for _ in 0..<(try reader.read(UInt8.self)) {
            let name = try version.readName(from: &reader)
            let kind = try reader.read(UInt8.self)
            values[name] = try Self.value(kind, try reader.read(length: UInt32.self))
        }
        shownAccessControl = Data(try reader.read(length: UInt32.self))
        try reader.finish()
    }

    private static func value(_ kind: UInt8, _ bytes: [UInt8]) throws -> AttributeValue {
        switch kind {
        case 1: return .data(Data(bytes))
        case 2:
            guard let text = String(validating: bytes, as: UTF8.self) else { throw CanonicalEncodingError.invalidText }
            return .text(text)
        case 3, 4:
            guard bytes.count == 8 else { throw CanonicalEncodingError.truncated }
            let word = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return kind == 3 ? .number(Int64(bitPattern: word)) : .date(Double(bitPattern: word))
        default: throw CanonicalEncodingError.truncated
        }
    }
}

/// The version of an encrypted record, which follows from the item's class.
private enum RecordVersion: UInt8 {
    case fixedNames = 1
    case countedNames = 2

    init(_ itemClass: ItemClass) { self = itemClass.hasFreeAttributes ? .countedNames : .fixedNames }

    func write(_ name: String, to writer: inout CanonicalWriter) {
        switch self {
        case .fixedNames: writer.write(fixed: name.utf8)
        case .countedNames: writer.write(name.utf8, length: UInt16.self)
        }
    }

    func readName(from reader: inout CanonicalReader) throws(CanonicalEncodingError) -> String {
        switch self {
        case .fixedNames: String(decoding: try reader.read(fixed: 4), as: UTF8.self)
        case .countedNames: try reader.readText(length: UInt16.self)
        }
    }
}

extension FixedWidthInteger {
    fileprivate var littleEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }
}

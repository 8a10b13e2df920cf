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
                .tooLarge, "The item has too many attributes; it may have \(ItemRequestLimits.attributeCount).",
                cause: "item.size")
        }
        for attribute in attributes {
            guard let kind = itemClass.attributes[attribute.key] else {
                throw Self.noSuchAttribute(attribute.key, of: itemClass)
            }
            guard let value = AttributeValue(attribute.value), value.fits(kind) else {
                throw Refusal(
                    .invalidParameter, "The value of the attribute \(attribute.key) has the wrong type.",
                    cause: "item.value")
            }
            guard values.updateValue(value, forKey: attribute.key) == nil else {
                throw Refusal(
                    .invalidParameter, "The attribute \(attribute.key) is given twice.", cause: "item.attribute")
            }
        }
        try requireSize()
    }

    /// Names the attribute if it is named as attributes are; nothing else that a program sent is repeated.
    private static func noSuchAttribute(_ key: String, of itemClass: ItemClass) -> Refusal {
        let isPlain = key.utf8.count == 4 && key.allSatisfy { $0.isASCII && $0.isLetter }
        return Refusal(
            .noSuchAttribute, "The class \(itemClass.name) has no \(isPlain ? "attribute \(key)" : "such attribute").",
            cause: "item.attribute")
    }

    /// Throws `tooLarge` unless an item with these attributes can be shown in one message.
    package func requireSize() throws(Refusal) {
        guard values.values.reduce(0, { $0 + $1.comparedBytes.count }) <= ItemRequestLimits.attributeByteCount else {
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

/// version (1) || count (1) || by name: name (4), kind (1), length (4), value || length (4), access control as shown.
extension ItemAttributes {
    private static let formatVersion: UInt8 = 1

    var encoded: Data {
        var writer = CanonicalWriter(capacity: 512)
        writer.write(Self.formatVersion)
        writer.write(UInt8(values.count))
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let (kind, bytes): (UInt8, [UInt8]) =
                switch value {
                case .data(let data): (1, Array(data))
                case .text(let text): (2, Array(text.utf8))
                case .number(let number): (3, number.littleEndianBytes)
                case .date(let date): (4, date.bitPattern.littleEndianBytes)
                }
            writer.write(fixed: name.utf8)
            writer.write(kind)
            writer.write(bytes, length: UInt32.self)
        }
        writer.write(shownAccessControl, length: UInt32.self)
        return Data(writer.bytes)
    }

    /// Reads the decrypted bytes; a store that verifies holds no other form.
    package init(encoded: Data) throws {
        self.init()
        var reader = CanonicalReader(Array(encoded))
        guard try reader.read(UInt8.self) == Self.formatVersion else { throw CanonicalEncodingError.truncated }
        for _ in 0..<(try reader.read(UInt8.self)) {
            let name = String(decoding: try reader.read(fixed: 4), as: UTF8.self)
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

extension FixedWidthInteger {
    fileprivate var littleEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }
}

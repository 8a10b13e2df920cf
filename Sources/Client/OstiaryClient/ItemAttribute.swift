public import Foundation
import OstiaryMessages

/// The value of one attribute of a keychain item. It keeps the type in which a program gave it, since it comes back so.
public enum ItemAttributeValue: Sendable, Hashable {
    case data(Data)
    case text(String)
    case number(Int64)
    case date(Date)
}

/// Attributes by Apple's four-letter names, for example `acct`, and by the keys of free attributes (``FreeAttribute``).
public typealias ItemAttributeValues = [String: ItemAttributeValue]

/// The keys of free attributes, which items of the class `free` have: a dot and a name of the program's choice. Their values are texts.
public enum FreeAttribute {
    private static let mark = UInt8(ascii: ".")

    /// The key of the free attribute with this name of 1 to 1,024 bytes, for example `.service`.
    public static func key(named name: String) -> String { "." + name }

    /// The name behind the key; nil for the key of another attribute.
    public static func name(ofKey key: String) -> String? {
        key.utf8.first == mark ? String(decoding: key.utf8.dropFirst(), as: UTF8.self) : nil
    }
}

extension WireAttribute {
    init(_ key: String, _ value: ItemAttributeValue) {
        self = .with {
            $0.key = key
            switch value {
            case .data(let data): $0.value = .data(data)
            case .text(let text): $0.value = .text(text)
            case .number(let number): $0.value = .number(number)
            case .date(let date): $0.value = .date(date.timeIntervalSinceReferenceDate)
            }
        }
    }

    /// The same attributes always make the same message.
    static func list(_ attributes: ItemAttributeValues) -> [WireAttribute] {
        attributes.sorted { $0.key < $1.key }.map(WireAttribute.init)
    }
}

extension ItemAttributeValue {
    fileprivate init(_ value: WireAttribute.OneOf_Value) {
        self =
            switch value {
            case .data(let data): .data(data)
            case .text(let text): .text(text)
            case .number(let number): .number(number)
            case .date(let seconds): .date(Date(timeIntervalSinceReferenceDate: seconds))
            }
    }

    /// Reads the attributes of an answer; an attribute twice or without a value is no answer.
    static func attributes(_ list: [WireAttribute]) throws -> ItemAttributeValues {
        var attributes: ItemAttributeValues = [:]
        for attribute in list {
            guard let value = attribute.value,
                attributes.updateValue(ItemAttributeValue(value), forKey: attribute.key) == nil
            else { throw OstiaryClient.unexpected() }
        }
        return attributes
    }
}

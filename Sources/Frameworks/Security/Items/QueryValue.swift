import Foundation
import OstiaryClient

/// A value of an untyped dictionary by its meaning, not by its type: a Swift `Bool` and its `NSNumber` are the same
/// here, and so are `String` and `NSString`, `Data` and `NSData`.
enum QueryValue {
    case boolean(Bool)
    case number(NSNumber)
    case text(String)
    case data(Data)
    case date(Date)
    case uuid(UUID)
    case null
    /// Anything else, such as an access control, a key, a context or an array.
    case object(AnyObject)

    init(_ value: Any) {
        // Nearly all values are text, which dictionaries hand out as such: made an object, it would have to be read again.
        if let text = value as? String {
            self = .text(text)
            return
        }
        let object = value as AnyObject
        self =
            switch object {
            case let number as NSNumber: number.isBoolean ? .boolean(number.boolValue) : .number(number)
            case let text as NSString: .text(text as String)
            case let data as NSData: .data(Data(copying: data))
            case let date as NSDate: .date(date as Date)
            case let uuid as NSUUID: .uuid(uuid as UUID)
            case is NSNull: .null
            default: .object(object)
            }
    }

    // MARK: control values

    func boolean(of key: String) throws(StatusError) -> Bool {
        guard case .boolean(let value) = self else { throw .parameter("The value of \(key) must be a truth value.") }
        return value
    }

    func text(of key: String) throws(StatusError) -> String {
        guard case .text(let value) = self else { throw .parameter("The value of \(key) must be text.") }
        return value
    }

    func data(of key: String) throws(StatusError) -> Data {
        guard case .data(let value) = self else { throw .parameter("The value of \(key) must be data.") }
        return value
    }

    /// Data, or text as its UTF-8. Only for queries, as the file keychain of macOS takes it.
    func dataOrText(of key: String) throws(StatusError) -> Data {
        if case .text(let text) = self { return Data(text.utf8) }
        return try data(of: key)
    }

    // MARK: attributes

    /// The value as it is stored for an attribute of `kind`.
    func converted(to kind: AttributeForm, of key: String) throws(StatusError) -> ItemAttributeValue {
        let value: ItemAttributeValue? =
            switch kind {
            case .blob: blob
            case .data: bytes.map(ItemAttributeValue.data)
            case .string: string.map(ItemAttributeValue.text)
            case .number: numberOrText
            case .date: if case .date(let date) = self, date.isPlausible { .date(date) } else { nil }
            case .accessControl: nil
            }
        guard let value else { throw .parameter("The value of \(key) has the wrong type.") }
        return value
    }

    private var blob: ItemAttributeValue? {
        switch self {
        case .text(let text): .text(text)
        case .data(let data): .data(data)
        default: integer.map(ItemAttributeValue.number)
        }
    }

    /// A number as its four bytes, the least significant one first.
    private var bytes: Data? {
        switch self {
        case .data(let data): data
        case .text(let text): Data(text.utf8)
        default:
            integer.map { number in
                let bits = UInt32(truncatingIfNeeded: number)
                return Data([0, 8, 16, 24].map { UInt8(truncatingIfNeeded: bits >> $0) })
            }
        }
    }

    private var string: String? {
        switch self {
        case .text(let text): text
        case .data(let data): String(data: data, encoding: .utf8)
        case .uuid(let uuid): uuid.uuidString
        default: nil
        }
    }

    private var numberOrText: ItemAttributeValue? {
        guard case .text(let text) = self else { return integer.map(ItemAttributeValue.number) }
        guard let number = Int64(text), String(number) == text else { return .text(text) }
        return .number(number)
    }

    /// The value as a whole number; nil for fractions and for numbers that do not fit.
    private var integer: Int64? {
        switch self {
        case .boolean(let value): value ? 1 : 0
        case .number(let number): Int64(exactly: number)
        default: nil
        }
    }
}

extension Date {
    /// Dates that are no number cannot be ordered or stored.
    fileprivate var isPlausible: Bool { timeIntervalSinceReferenceDate.isFinite }
}

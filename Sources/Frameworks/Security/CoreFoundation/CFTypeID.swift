public import Foundation

/// The type ids of this module. Apple's numbers are given out at run time and mean nothing beyond equality; so do these.
enum TypeID: CFTypeID {
    case string = 1, data, number, boolean, date, array, dictionary, set, null, error, url, allocator
    case accessControl, key, certificate, identity, task, keychainItem, policy, trust

    /// The type of `object`; nil for an object of a class that Core Foundation does not know.
    init?(of object: AnyObject) {
        switch object {
        case is NSString: self = .string
        case is NSData: self = .data
        case let number as NSNumber: self = number.isBoolean ? .boolean : .number
        case is NSDate: self = .date
        case is NSArray: self = .array
        case is NSDictionary: self = .dictionary
        case is NSSet: self = .set
        case is NSNull: self = .null
        case is NSError: self = .error
        case is NSURL: self = .url
        case is CFAllocator: self = .allocator
        case is SecAccessControl: self = .accessControl
        case is SecKey: self = .key
        case is SecCertificate: self = .certificate
        case is SecIdentity: self = .identity
        case is SecTask: self = .task
        case is SecKeychainItem: self = .keychainItem
        case is SecPolicy: self = .policy
        case is SecTrust: self = .trust
        default: return nil
        }
    }

    /// The name of the type in C, without `Ref`.
    var name: String {
        switch self {
        case .string: "CFString"
        case .data: "CFData"
        case .number: "CFNumber"
        case .boolean: "CFBoolean"
        case .date: "CFDate"
        case .array: "CFArray"
        case .dictionary: "CFDictionary"
        case .set: "CFSet"
        case .null: "CFNull"
        case .error: "CFError"
        case .url: "CFURL"
        case .allocator: "CFAllocator"
        case .accessControl: "SecAccessControl"
        case .key: "SecKey"
        case .certificate: "SecCertificate"
        case .identity: "SecIdentity"
        case .task: "SecTask"
        case .keychainItem: "SecKeychainItem"
        case .policy: "SecPolicy"
        case .trust: "SecTrust"
        }
    }
}

extension NSNumber {
    /// Whether the number was made from a truth value. Foundation on Linux encodes those, and nothing else, as `c`.
    var isBoolean: Bool { unsafe objCType.pointee == CChar(UInt8(ascii: "c")) }
}

/// The type id of an object, to be compared with those of the functions below; 0 for an object of an unknown class.
@discardableResult
public func CFGetTypeID(_ object: CFTypeRef?) -> CFTypeID {
    guard let object else { return 0 }
    return TypeID(of: object)?.rawValue ?? 0
}

/// The type id of ``CFString``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFStringGetTypeID() -> CFTypeID { TypeID.string.rawValue }
/// The type id of ``CFData``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFDataGetTypeID() -> CFTypeID { TypeID.data.rawValue }
/// The type id of ``CFNumber``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFNumberGetTypeID() -> CFTypeID { TypeID.number.rawValue }
/// The type id of ``CFBoolean``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFBooleanGetTypeID() -> CFTypeID { TypeID.boolean.rawValue }
/// The type id of ``CFDate``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFDateGetTypeID() -> CFTypeID { TypeID.date.rawValue }
/// The type id of ``CFArray``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFArrayGetTypeID() -> CFTypeID { TypeID.array.rawValue }
/// The type id of ``CFDictionary``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFDictionaryGetTypeID() -> CFTypeID { TypeID.dictionary.rawValue }
/// The type id of ``CFSet``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFSetGetTypeID() -> CFTypeID { TypeID.set.rawValue }
/// The type id of ``CFNull``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFNullGetTypeID() -> CFTypeID { TypeID.null.rawValue }
/// The type id of ``CFError``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFErrorGetTypeID() -> CFTypeID { TypeID.error.rawValue }
/// The type id of ``CFURL``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFURLGetTypeID() -> CFTypeID { TypeID.url.rawValue }
/// The type id of ``CFAllocator``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func CFAllocatorGetTypeID() -> CFTypeID { TypeID.allocator.rawValue }

/// Whether two objects are equal.
@discardableResult
public func CFEqual(_ first: CFTypeRef?, _ second: CFTypeRef?) -> Bool {
    switch (first as? NSObject, second as? NSObject) {
    case (let first?, let second?): first.isEqual(second)
    default: first === second
    }
}

/// A hash that equal objects share.
@discardableResult
public func CFHash(_ object: CFTypeRef?) -> CFHashCode {
    guard let object = object as? NSObject else { return 0 }
    return CFHashCode(bitPattern: object.hash)
}

/// A text that describes an object.
@discardableResult
public func CFCopyDescription(_ object: CFTypeRef?) -> CFString? {
    (object as? NSObject)?.description as CFString?
}

/// The name of a type, such as `CFString`; nil for an id that no type has.
@discardableResult
public func CFCopyTypeIDDescription(_ typeID: CFTypeID) -> CFString! {
    TypeID(rawValue: typeID)?.name as CFString?
}

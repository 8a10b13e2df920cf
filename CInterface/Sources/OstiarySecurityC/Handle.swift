import Foundation
import Security

/// A reference of a C program to an object: the object's address, with the owners counted by the Swift runtime. Where C
/// owns one, it was made by ``init(owning:)``; everything else is borrowed.
public typealias Handle = UnsafeRawPointer

/// Where a function puts an object that the caller owns; nil if the caller wants none.
public typealias HandlePlace = UnsafeMutablePointer<Handle?>?

extension Handle {
    /// A handle that the C program gives back with `CFRelease`; nil for no object.
    init?(owning object: AnyObject?) {
        guard let object else { return nil }
        self.init(Unmanaged.passRetained(object).toOpaque())
    }

    /// A handle that lives as long as another owner of the object.
    init(borrowing object: AnyObject) {
        self.init(Unmanaged.passUnretained(object).toOpaque())
    }
}

extension Handle? {
    /// The object behind the handle; nil for NULL.
    // SAFETY: a handle that is not NULL comes from one of the initialisers above and has an owner; the header says so.
    var object: AnyObject? { map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() } }

    /// The object, if it is of that type.
    func object<Object: AnyObject>(_ type: Object.Type) -> Object? { object as? Object }

    /// The object as the calls of the Security module take it; nil for NULL and for too deep a container.
    var foundation: NSObject? { object(NSObject.self)?.foundationObject() }

    /// The dictionary as the calls of the Security module take it; nil for another object and for too deep a one.
    var dictionary: CFDictionary? { object(ObjectDictionary.self)?.foundation() }

    /// The array as the calls of the Security module take it; nil for another object and for too deep a one.
    var array: CFArray? { object(ObjectArray.self)?.foundation() }
}

/// An argument is NULL or an object of a wrong kind. To C that is `errSecParam`.
struct UnusableArgument: Error {
    var forFoundation: NSError {
        let reason = "An argument is NULL or an object of a wrong kind."
        return NSError(
            domain: NSOSStatusErrorDomain, code: Int(errSecParam),
            userInfo: [NSLocalizedDescriptionKey: reason, "NSDescription": reason])
    }
}

extension Optional {
    /// The object behind a required argument.
    func required() throws(UnusableArgument) -> Wrapped {
        guard let self else { throw UnusableArgument() }
        return self
    }
}

/// Puts what `call` copies into `place`, NULL when it fails; `errSecParam` if there is no place.
func copying<Object: AnyObject>(
    to place: HandlePlace, _ call: (UnsafeMutablePointer<Object?>) -> OSStatus
) -> OSStatus {
    guard let place else { return errSecParam }
    var object: Object?
    let status = call(&object)
    place.pointee = Handle(owning: (object as? NSObject)?.forC)
    return status
}

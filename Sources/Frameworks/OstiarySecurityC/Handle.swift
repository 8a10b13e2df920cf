import Foundation
import Security

/// A reference of a C program to an object: the object's address, with the owners counted by the Swift runtime. Where C owns
/// one, it was made by ``init(owning:)``; everything else is borrowed.
typealias Handle = UnsafeRawPointer

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

    /// The dictionary as the calls of the Security module take it; nil for another object and for too deep a one.
    var dictionary: CFDictionary? { object(ObjectDictionary.self)?.foundation() }
}

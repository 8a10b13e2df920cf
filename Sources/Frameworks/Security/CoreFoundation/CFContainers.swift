public import Foundation

// Only calls without bare pointers. On Linux, a container of Foundation's makes new objects for text, data and other
// containers at each access. Nobody owns them, so a pointer to one would point to freed memory.

/// How many values `array` has; 0 for nil.
@discardableResult
public func CFArrayGetCount(_ array: CFArray!) -> CFIndex { array?.count ?? 0 }

/// How many keys `dictionary` has; 0 for nil.
@discardableResult
public func CFDictionaryGetCount(_ dictionary: CFDictionary!) -> CFIndex { dictionary?.count ?? 0 }

/// A copy of the array; nil for nil.
@discardableResult
public func CFArrayCreateCopy(_ allocator: CFAllocator!, _ theArray: CFArray!) -> CFArray! {
    theArray?.copy() as? NSArray
}

/// A copy of the array that can be changed; the capacity is ignored. Nil for nil and for a negative capacity.
@discardableResult
public func CFArrayCreateMutableCopy(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ theArray: CFArray!
) -> CFMutableArray! {
    guard let theArray, capacity >= 0 else { return nil }
    return theArray.mutableCopy() as? NSMutableArray
}

/// A copy of the dictionary; nil for nil.
@discardableResult
public func CFDictionaryCreateCopy(_ allocator: CFAllocator!, _ theDict: CFDictionary!) -> CFDictionary! {
    theDict?.copy() as? NSDictionary
}

/// A copy of the dictionary that can be changed; the capacity is ignored. Nil for nil and for a negative capacity.
@discardableResult
public func CFDictionaryCreateMutableCopy(
    _ allocator: CFAllocator!, _ capacity: CFIndex, _ theDict: CFDictionary!
) -> CFMutableDictionary! {
    guard let theDict, capacity >= 0 else { return nil }
    return theDict.mutableCopy() as? NSMutableDictionary
}

extension NSMutableDictionary {
    /// Sets the value of a key; nil removes it (Apple's key-value coding, which Foundation on Linux lacks).
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value else { return removeObject(forKey: key) }
        self[key] = value
    }
}

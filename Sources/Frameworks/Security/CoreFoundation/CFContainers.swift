public import Foundation

// Only what needs no bare pointers. A container of Foundation's on Linux makes text, data and other containers anew at
// each access, so a pointer to a value that nobody owns would be one to freed memory.

/// How many values `array` has; 0 for nil.
@discardableResult
public func CFArrayGetCount(_ array: CFArray!) -> CFIndex { array?.count ?? 0 }

/// How many keys `dictionary` has; 0 for nil.
@discardableResult
public func CFDictionaryGetCount(_ dictionary: CFDictionary!) -> CFIndex { dictionary?.count ?? 0 }

extension NSMutableDictionary {
    /// Sets the value of a key; nil removes it (Apple's key-value coding, which Foundation on Linux lacks).
    public func setValue(_ value: Any?, forKey key: String) {
        guard let value else { return removeObject(forKey: key) }
        self[key] = value
    }
}

public import Foundation

// Only calls without bare pointers. On Linux, a container of Foundation's makes new objects for text, data and other
// containers at each access. Nobody owns them, so a pointer to one would point to freed memory.

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

public import Foundation
import OstiaryClient

// The four calls of the keychain (Apple's SecItem.h). Each blocks until the daemon has answered, which is as long as a
// person is asked if the item is protected. What is not said here is in Apple's documentation.

/// Adds an item.
///
/// - Parameters:
///   - attributes: `kSecClass`, the item's attributes and data; the class of accessibility is
///     `kSecAttrAccessibleWhenUnlocked` unless it is given.
///   - result: gets what the return keys ask for; nil without any.
/// - Returns: `errSecSuccess`, or why nothing was added, such as `errSecDuplicateItem`.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    unsafe answering(result) { try ItemCalls(service: OstiaryClient.shared).add(attributes) }
}

/// Finds items: the first one that matches, or as many as `kSecMatchLimit` says.
///
/// - Parameter result: gets what the return keys ask for: one item by itself, several as an array.
/// - Returns: `errSecSuccess`, `errSecItemNotFound` when nothing matches, or why there is no answer.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let isWanted = unsafe result != nil
    return unsafe answering(result) {
        try ItemCalls(service: OstiaryClient.shared).find(query, isResultWanted: isWanted)
    }
}

/// Changes all items that match: attributes, access control, and data.
///
/// - Returns: `errSecSuccess`, or why nothing was changed, such as `errSecItemNotFound`.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    answering(nil) {
        try ItemCalls(service: OstiaryClient.shared).update(query, attributesToUpdate)
        return nil
    }
}

/// Deletes all items that match.
///
/// - Returns: `errSecSuccess`, or why nothing was deleted, such as `errSecItemNotFound`.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    answering(nil) {
        try ItemCalls(service: OstiaryClient.shared).delete(query)
        return nil
    }
}

/// Puts what `call` returns into `result`, nil when it fails, and says how it ended.
private func answering(
    _ result: UnsafeMutablePointer<CFTypeRef?>?, _ call: () throws -> CFTypeRef?
) -> OSStatus {
    do {
        let answer = try call()
        if let result = unsafe result { unsafe result.pointee = answer }
        return errSecSuccess
    } catch {
        if let result = unsafe result { unsafe result.pointee = nil }
        return ItemStatus.status(of: error)
    }
}

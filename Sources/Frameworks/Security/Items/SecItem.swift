public import Foundation
import OstiaryClient

// The four calls of the keychain (Apple's SecItem.h). Each blocks until the daemon has answered. If the item is
// protected, this takes as long as the person is asked. Apple's documentation has everything that is not said here.

/// Adds an item.
///
/// - Parameters:
///   - attributes: `kSecClass`, the item's attributes and data; the class of accessibility is
///     `kSecAttrAccessibleWhenUnlocked` unless it is given.
///   - result: gets the parts that the return keys ask for; nil without return keys.
/// - Returns: `errSecSuccess`, or the reason why nothing was added, such as `errSecDuplicateItem`.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    unsafe answering(result) { try ItemCalls(service: OstiaryClient.shared).add(attributes) }
}

/// Finds items: the first one that matches, or as many as `kSecMatchLimit` says.
///
/// - Parameter result: gets the parts that the return keys ask for: of one item directly, of several as an array.
/// - Returns: `errSecSuccess`, `errSecItemNotFound` when nothing matches, or the reason why there is no answer.
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

/// A stored password by its reference (Apple's `SecKeychainItem` of macOS). It holds no secret: it names the item, as its
/// persistent reference does, also after the item was changed. Equal to another one of the same item.
public final class SecKeychainItem: NSObject, Sendable {
    let reference: PersistentReference

    init(_ reference: PersistentReference) {
        self.reference = reference
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecKeychainItem)?.reference == reference
    }

    public override var hash: Int { reference.bytes.hashValue }

    /// `<SecKeychainItemRef: genp>`.
    public override var description: String { "<SecKeychainItemRef: \(reference.itemClass.rawValue)>" }
}

/// The type id of ``SecKeychainItem``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecKeychainItemGetTypeID() -> CFTypeID { TypeID.keychainItem.rawValue }

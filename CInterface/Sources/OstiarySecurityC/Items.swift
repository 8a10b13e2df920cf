import Foundation
public import Security

@c(SecItemAdd)
public func addItem(_ attributes: Handle?, _ result: HandlePlace) -> OSStatus {
    answering(attributes, result) { SecItemAdd($0, $1) }
}

@c(SecItemCopyMatching)
public func copyMatchingItems(_ query: Handle?, _ result: HandlePlace) -> OSStatus {
    answering(query, result) { SecItemCopyMatching($0, $1) }
}

@c(SecItemUpdate)
public func updateItems(_ query: Handle?, _ attributesToUpdate: Handle?) -> OSStatus {
    guard let query = query.dictionary, let changes = attributesToUpdate.dictionary else { return errSecParam }
    return SecItemUpdate(query, changes)
}

@c(SecItemDelete)
public func deleteItems(_ query: Handle?) -> OSStatus {
    guard let query = query.dictionary else { return errSecParam }
    return SecItemDelete(query)
}

@c(SecPKCS12Import)
public func importPKCS12(_ file: Handle?, _ options: Handle?, _ items: HandlePlace) -> OSStatus {
    items?.pointee = nil
    guard let file = file.object(NSData.self), let options = options.dictionary, let items else { return errSecParam }
    var found: CFArray?
    let status = SecPKCS12Import(file, options, &found)
    items.pointee = Handle(owning: found?.forC)
    return status
}

/// Puts what `call` returns for the query into `result`, NULL when it fails.
private func answering(
    _ query: Handle?, _ result: HandlePlace,
    _ call: (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
) -> OSStatus {
    result?.pointee = nil
    guard let query = query.dictionary else { return errSecParam }
    guard let result else { return call(query, nil) }
    var found: CFTypeRef?
    let status = call(query, &found)
    result.pointee = Handle(owning: (found as? NSObject)?.forC)
    return status
}

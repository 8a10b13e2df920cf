import Foundation
import OstiaryClient
import OstiaryMessages

/// The status that the keychain's calls return for an error.
package enum ItemStatus {
    package static func status(of error: any Error) -> OSStatus {
        switch error {
        case let error as StatusError: error.status
        case let error as OstiaryError: status(of: error)
        default: (error as NSError).status
        }
    }

    /// The keychain knows two outcomes of authentication beside success, failure and cancellation, and one for a prompt that
    /// may not come.
    private static func status(of error: OstiaryError) -> OSStatus {
        if error.isFailure(.tooLarge) { return errSecDataTooLarge }
        return switch ErrorSurface.entry(for: error.code).surface {
        case .status(let status): status
        case .authentication(.userCancel): errSecUserCanceled
        case .authentication(.notInteractive): errSecInteractionNotAllowed
        case .authentication: errSecAuthFailed
        }
    }
}

/// One item on its way to the program that asked for it.
struct ItemAnswer {
    let item: StoredItem
    let itemClass: KeychainClass
    let data: Data?
    /// The key or certificate that the item is, or what names the password.
    let object: AnyObject?
    /// The item of an identity's private key; `item` is its certificate.
    var keyItemID: Data?

    /// The only part that was asked for, or a dictionary of several; nil when nothing was.
    func value(of parts: ReturnedParts) throws -> AnyObject? {
        guard !parts.isSeveral else { return try dictionary(of: parts) }
        return switch parts {
        case .data: (data ?? Data()) as NSData
        case .attributes: try attributes() as NSDictionary
        case .persistentReference: persistentReference
        case .reference: object
        default: nil
        }
    }

    private func dictionary(of parts: ReturnedParts) throws -> NSDictionary {
        var entries = try parts.contains(.attributes) ? attributes() : [:]
        if parts.contains(.data), let data { entries[ControlKey.ValueKey.data.rawValue] = data as NSData }
        if parts.contains(.persistentReference) {
            entries[ControlKey.ValueKey.persistentReference.rawValue] = persistentReference
        }
        if parts.contains(.reference) {
            entries["class"] = itemClass.rawValue as NSString
            if let object { entries[ControlKey.ValueKey.reference.rawValue] = object }
        }
        return entries as NSDictionary
    }

    private var persistentReference: NSData {
        PersistentReference(item, of: itemClass, keyID: keyItemID).bytes as NSData
    }

    /// The item's attributes: all stored ones, the access control as an object, and the values that all items here
    /// share.
    private func attributes() throws -> [String: AnyObject] {
        var entries: [String: AnyObject] = [
            AttributeName.synchronizable.rawValue: NSNumber(value: 0),
            AttributeName.tombstone.rawValue: NSNumber(value: 0),
            AttributeName.multiUser.rawValue: NSData(),
        ]
        for (key, value) in item.attributes { entries[key] = value.object }
        if let accessControl = try ItemProtection.shown(of: item) {
            entries[AttributeName.accessControl.rawValue] = accessControl
        }
        return entries
    }
}

extension ItemAttributeValue {
    /// The Foundation object that casts to the type in which the value was given.
    var object: AnyObject {
        switch self {
        case .data(let data): data as NSData
        case .text(let text): text as NSString
        case .number(let number): NSNumber(value: number)
        case .date(let date): date as NSDate
        }
    }
}

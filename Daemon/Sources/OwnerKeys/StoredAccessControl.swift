package import AccessControl
import ExactNames
package import Foundation
import KeySlots
package import Vault

/// Access controls as they lie in items. Nearly all items have one of four, which are not decoded again and again.
package enum StoredAccessControl {
    package static func decode(_ bytes: Data) throws -> AccessControl {
        try usual[bytes] ?? AccessControl(canonicalBytes: Array(bytes))
    }

    private static let usual: [Data: AccessControl] = Dictionary(
        uniqueKeysWithValues: AvailabilityClass.allCases.compactMap { availability in
            // Unrestricted requirements always make an access control.
            guard let accessControl = try? AccessControl(ofUnrestrictedItem: availability) else { return nil }
            return (Data(accessControl.canonicalBytes), accessControl)
        })
}

extension AccessControl {
    /// The access control of an item that asks for nothing but its class.
    package init(ofUnrestrictedItem availability: AvailabilityClass) throws(AccessControlError) {
        try self.init(
            availability: availability,
            requirements: Dictionary(uniqueKeysWithValues: Operation.allCases.map { ($0, .unrestricted) }))
    }
}

extension SlotHeader {
    /// The values that an object's slots are bound to.
    package init(of object: ObjectRecord, storeID: VaultID) throws {
        let accessControl = try AccessControl(canonicalBytes: Array(object.accessControl))
        self.init(
            storeID: storeID.bytes, ownerID: object.owner.bytes, objectID: object.id.bytes,
            availability: accessControl.availability, accessControl: object.accessControl,
            accessGroup: object.attributes.group.text)
    }

    /// The header that an item's parts are bound to. It does not contain the access group, because items change their
    /// group. The group is in the attribute record, which the row's authentication code covers.
    package init(of id: VaultID, owner: VaultID, accessControl: AccessControl, encoded: Data, storeID: VaultID) {
        self.init(
            storeID: storeID.bytes, ownerID: owner.bytes, objectID: id.bytes,
            availability: accessControl.availability, accessControl: encoded, accessGroup: "")
    }
}

package import AccessControl
import ExactNames
package import Foundation
import KeySlots
package import Vault

extension SlotHeader {
    /// The values that an object's slots are bound to.
    package init(of object: ObjectRecord, storeID: VaultID) throws {
        let accessControl = try AccessControl(canonicalBytes: Array(object.accessControl))
        self.init(
            storeID: storeID.bytes, ownerID: object.owner.bytes, objectID: object.id.bytes,
            availability: accessControl.availability, accessControl: object.accessControl,
            accessGroup: object.attributes.group.text, sshConstraints: object.attributes.sshConstraints)
    }

    /// The header that an item's parts are bound to. It does not contain the access group, because items change their
    /// group. The group is in the attribute record, which the row's authentication code covers.
    package init(of id: VaultID, owner: VaultID, accessControl: AccessControl, encoded: Data, storeID: VaultID) {
        self.init(
            storeID: storeID.bytes, ownerID: owner.bytes, objectID: id.bytes,
            availability: accessControl.availability, accessControl: encoded, accessGroup: "")
    }
}

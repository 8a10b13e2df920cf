package import AccessControl
package import Foundation

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

public import AccessControl
import Crypto
public import Foundation

/// What an object is. Every layer of each of its slots is bound to it, so that no slot serves another object, owner or
/// rule than the one it was made for.
public struct SlotHeader: Hashable, Sendable {
    private static let formatVersion: UInt8 = 1

    public let storeID: Data
    public let ownerID: Data
    public let objectID: Data
    public let availability: AvailabilityClass
    /// The canonical bytes of the object's rules, of all operations.
    public let accessControl: Data
    public let accessGroup: String
    /// SHA-256 of ``encoded``, which every layer, payload and attribute record is bound to.
    let digest: Data

    public init(
        storeID: Data, ownerID: Data, objectID: Data, availability: AvailabilityClass, accessControl: Data,
        accessGroup: String
    ) {
        self.storeID = storeID
        self.ownerID = ownerID
        self.objectID = objectID
        self.availability = availability
        self.accessControl = accessControl
        self.accessGroup = accessGroup
        var encoder = CanonicalEncoder()
        encoder.append(Self.formatVersion)
        encoder.append(KeySuite.code)
        encoder.append(field: storeID)
        encoder.append(field: ownerID)
        encoder.append(field: objectID)
        encoder.append(availability.rawValue)
        encoder.append(field: accessControl)
        encoder.append(field: Data(accessGroup.utf8))
        encoded = encoder.data
        digest = Data(SHA256.hash(data: encoded))
    }

    /// `version (1) || suite (1) || store || owner || object || class (1) || access control || access group`, every
    /// field without a size in brackets preceded by its length in four bytes.
    public let encoded: Data
}

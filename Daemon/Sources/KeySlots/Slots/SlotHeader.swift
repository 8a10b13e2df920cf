public import AccessControl
import CanonicalEncoding
import Crypto
public import Foundation

/// The identity of an object. Every layer of each of its slots is bound to it, so that a slot serves only the object,
/// owner and rule that it was made for.
public struct SlotHeader: Hashable, Sendable {
    private static let formatVersion: UInt8 = 1
    private static let constrainedVersion: UInt8 = 2

    public let storeID: Data
    public let ownerID: Data
    public let objectID: Data
    public let availability: AvailabilityClass
    /// The canonical bytes of the object's rules, of all operations.
    public let accessControl: Data
    public let accessGroup: String
    /// The limits of an SSH key; empty for every other object.
    public let sshConstraints: Data
    /// SHA-256 of ``encoded``, which every layer, payload and attribute record is bound to.
    let digest: Data

    public init(
        storeID: Data, ownerID: Data, objectID: Data, availability: AvailabilityClass, accessControl: Data,
        accessGroup: String, sshConstraints: Data = Data()
    ) {
        self.storeID = storeID
        self.ownerID = ownerID
        self.objectID = objectID
        self.availability = availability
        self.accessControl = accessControl
        self.accessGroup = accessGroup
        self.sshConstraints = sshConstraints
        var writer = CanonicalWriter(capacity: 128)
        writer.write(sshConstraints.isEmpty ? Self.formatVersion : Self.constrainedVersion)
        writer.write(KeySuite.code)
        writer.write(storeID, length: UInt32.self)
        writer.write(ownerID, length: UInt32.self)
        writer.write(objectID, length: UInt32.self)
        writer.write(availability.rawValue)
        writer.write(accessControl, length: UInt32.self)
        writer.write(accessGroup.utf8, length: UInt32.self)
        if !sshConstraints.isEmpty { writer.write(sshConstraints, length: UInt32.self) }
        encoded = Data(writer.bytes)
        digest = unsafe SHA256.hash(data: writer.bytes).withUnsafeBytes { unsafe Data($0) }
    }

    /// `version (1) || suite (1) || store || owner || object || class (1) || access control || access group`, and with version 2 the
    /// constraints of an SSH key; every field without a size in brackets preceded by its length in four bytes.
    public let encoded: Data
}

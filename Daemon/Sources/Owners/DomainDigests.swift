import CanonicalEncoding
package import ExactNames
package import Foundation
package import StoreKeys
package import Vault

/// Makes what a program is told of an enrolled set: a digest that changes with the set.
///
/// The key comes from the store's keys, and the program's name is part of what is digested. So a program cannot find out which
/// set a digest belongs to, and two programs cannot find out that they see the same set.
package struct DomainDigests: Sendable {
    /// What the digest is about. Numbers never change their meaning: programs keep digests and compare them later.
    private enum Domain: UInt8 {
        case biometry = 1
        /// Without companions.
        case everything = 2
        case companions = 3
        case everythingAndCompanions = 4
    }

    private let keys: StoreKeys
    private let storeID: VaultID
    private let owner: VaultID

    package init(_ keys: StoreKeys, storeID: VaultID, owner: VaultID) {
        (self.keys, self.storeID, self.owner) = (keys, storeID, owner)
    }

    /// The digest of an enrolled set for `application`; empty without a set.
    package func biometry(_ enrolledSet: Data?, for application: ExactName) -> Data {
        digest(enrolledSet, .biometry, application)
    }

    /// The digest of the enrolled companions for `application`; empty without a set.
    package func companions(_ enrolledSet: Data?, for application: ExactName) -> Data {
        digest(enrolledSet, .companions, application)
    }

    /// The digest of everything that is enrolled; empty when nothing is.
    package func everything(biometry: Data?, companions: Data?, for application: ExactName) -> Data {
        guard let companions else { return digest(biometry, .everything, application) }
        var writer = CanonicalWriter(capacity: 256)
        writer.write(flag: biometry != nil)
        writer.write(biometry ?? Data(), length: UInt32.self)
        writer.write(companions, length: UInt32.self)
        return digest(Data(writer.bytes), .everythingAndCompanions, application)
    }

    private func digest(_ enrolledSet: Data?, _ domain: Domain, _ application: ExactName) -> Data {
        guard let enrolledSet else { return Data() }
        var writer = CanonicalWriter(capacity: 256)
        writer.write(fixed: storeID.bytes)
        writer.write(fixed: owner.bytes)
        writer.write(domain.rawValue)
        writer.write(application.utf8, length: UInt32.self)
        writer.write(enrolledSet, length: UInt32.self)
        return keys.digest(Data(writer.bytes), label: "ostiary.domain-state.v1")
    }
}

package import AccessControl
import Auditing
package import Authenticators
package import Callers
import Crypto
import ExactNames
import Foundation
package import ProcessFacts
package import SecretMemory
package import Vault

/// The parts that a lease is made of.
package struct LeaseDraft: Sendable {
    package let id: UInt64
    package let scope: LeaseScope
    /// The file of the program that the person was asked for; nil for a lease that was granted beforehand.
    package let file: ExecutedFile?
    /// With a hard limit.
    package let limits: GrantLimits
    package let purpose: String
    package let endsOnLock: Bool
    package private(set) var objects: [LeasedObject]
    package let factorNames: [String]
    package let strength: String
    /// Who asked for it, for the record of its end.
    package let grantedTo: CallerProgram

    package init(
        id: UInt64 = LeaseDraft.newID(), _ scope: LeaseScope, file: ExecutedFile?, limits: GrantLimits, purpose: String,
        endsOnLock: Bool, objects: [LeasedObject], evaluation: Evaluation, grantedTo: CallerProgram
    ) {
        (self.id, self.scope, self.file, self.limits) = (id, scope, file, limits)
        (self.purpose, self.endsOnLock, self.objects) = (purpose, endsOnLock, objects)
        (factorNames, strength) = (evaluation.factorNames, evaluation.label)
        self.grantedTo = grantedTo
    }

    /// The objects' secrets. The draft gives them away, so that it can be remembered after they were wiped.
    mutating func takeOpened() -> [VaultID: LeasedObject.Opened] {
        let opened = objects.compactMap { object in object.opened.map { (object.id, $0) } }
        for index in objects.indices { objects[index].opened = nil }
        return Dictionary(opened) { $1 }
    }

    /// A number that no lease had, also before the daemon's start. It tells nobody how many there were.
    package static func newID() -> UInt64 { .random(in: 1 ... .max) }
}

/// An object of a lease, opened by the proof that granted it. It is the permission: without its secret nothing is released, even
/// if a lease permits it. The secrets are wiped with the last holder.
package struct LeasedObject: Sendable {
    package enum Kind: String, Sendable {
        case right, key, item
    }

    package enum Opened: Sendable {
        case key(OpenedRight)
        case item(OpenedItem)
    }

    package let id: VaultID
    package let kind: Kind
    /// For the owner's list.
    package let name: String
    /// For the log, which names no item by its attributes.
    package let logName: String
    /// Those of the object's own rule; nil where it has none.
    package let limits: GrantLimits?
    /// Nil where a lease holds it already.
    fileprivate(set) var opened: Opened?

    /// A right or key.
    package init(_ right: OpenedRight, of opener: RightOpener) {
        id = right.id
        kind = opener.object.kind == .right ? .right : .key
        (name, logName) = (opener.listedName, opener.object.attributes.identifier.text)
        limits = opener.accessControl.leaseLimits ?? opener.accessControl.limits
        opened = .key(right)
    }

    package init(_ item: OpenedItem, of opener: ItemOpener, named name: String) {
        (id, kind) = (item.id, .item)
        (self.name, logName) = (name, opener.record.logName)
        (limits, opened) = (opener.accessControl.limits, .item(item))
    }
}

/// The access secret of an item, taken once by a proof.
package final class OpenedItem: Sendable {
    package let id: VaultID
    /// Of rule and data, so that a changed item is another one.
    private let digest: Data
    private let secret: SecretBytes

    /// Opens `opener`'s slots with the proof. `opener` opens nothing after this.
    package init(_ opener: ItemOpener, by proof: Evaluation) throws {
        id = opener.record.id
        digest = Self.digest(of: opener.record)
        secret = try opener.takeSecret(by: proof)
    }

    /// Whether rule and data are those of the proof.
    package func fits(_ record: ItemRecord) -> Bool { record.id == id && Self.digest(of: record) == digest }

    /// The data of the item that fits; nil when it has none.
    package func data(of opener: ItemOpener) throws -> SecretBytes? { try opener.data(secret) }

    private static func digest(of record: ItemRecord) -> Data {
        Data(SHA256.hash(data: Data(SHA256.hash(data: record.accessControl)) + (record.payload ?? Data())))
    }
}

/// A lease as the owner sees it. It names no secret.
package struct ListedLease: Sendable {
    package let id: UInt64
    package let scope: LeaseScope
    package let grantedTo: CallerProgram
    package let purpose: String
    package let endsOnLock: Bool
    package let objects: [(id: VaultID, kind: LeasedObject.Kind, name: String)]
    package let factorNames: [String]
    package let strength: String
    /// On CLOCK_BOOTTIME, as the next ones.
    package let since: Duration
    package let end: Duration
    /// Nil where only ``end`` ends it.
    package let idleEnd: Duration?
    package let useCount: UInt32
    package let usesLeft: UInt32?
}

/// A lease that has ended, for the log.
package struct EndedLease: Sendable {
    package let id: UInt64
    package let grantedTo: CallerProgram
    package let objectIDs: Set<VaultID>
    /// Its objects, as the log names them.
    package let objects: String
    package let end: LeaseRefusal
}

extension LeaseDraft {
    /// For the log: the only object's name, or the number of objects.
    package var logName: String { objects.count == 1 ? objects[0].logName : "\(objects.count) objects" }
}

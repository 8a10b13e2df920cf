package import AccessControl
import Auditing
package import Authenticators
import Foundation
import KeySlots
package import OwnerKeys
import Refusals
package import SecretMemory
package import Vault

/// One stored item that is being read: its demand, and the parts that class and proofs open.
package final class ItemOpener {
    package let record: ItemRecord
    package let accessControl: AccessControl
    private let ring: KeyRing
    private let header: SlotHeader
    /// Nil for an item that asks for nothing but its class.
    private let slots: SlotAccess?

    /// - Parameter current: returns the stored item at the moment of the call.
    package init(
        _ record: ItemRecord, storeID: VaultID, ring: KeyRing, stretching: PasscodeStretching,
        current: @escaping () throws -> ItemRecord
    ) throws {
        self.record = record
        self.ring = ring
        accessControl = try StoredAccessControl.decode(record.accessControl)
        let header = SlotHeader(
            of: record.id, owner: record.owner, accessControl: accessControl, encoded: record.accessControl,
            storeID: storeID)
        self.header = header
        guard case .slots(let slots)? = record.wrap else {
            self.slots = nil
            return
        }
        self.slots = try SlotAccess(slots, header: header, ring: ring, stretching: stretching) {
            let current = try current()
            // Slots that were wrapped again open the same data. Slots of other data or of another rule belong to
            // another item, and an item with other attributes may be for other programs by now.
            guard current.payload == record.payload, current.accessControl == record.accessControl,
                !record.itemClass.hasFreeAttributes || current.index == record.index,
                case .slots(let slots)? = current.wrap
            else { throw ItemStore.changed }
            return try KeySlot.decode(slots)
        }
    }

    /// Whether something must be proved before the item is read. An item that stands for a key shows its attributes without:
    /// the rule is asked for by the key's operations.
    package var isProtected: Bool { record.keyID == nil && accessControl[.read] != .unrestricted }

    /// Whether a list shows the attributes while the item's class is open, without the proof that the data needs. The Secret Service
    /// shows what its programs search by, and protects the secret.
    package var showsAttributesUnproved: Bool { !isProtected || record.itemClass.hasFreeAttributes }

    /// The class that the passcode must open before attributes or data can be read; nil when all that is needed is open.
    package var closedClass: AvailabilityClass? {
        get throws {
            var roles = [try ItemCipher.key(of: record.attributes).role]
            if record.wrap != nil { roles.append(.classKey(accessControl.availability)) }
            return ring.closedClass(among: roles)
        }
    }

    /// Whether all that class keys open can be read now.
    package var isOpen: Bool {
        get throws {
            do { try requireOpen() } catch is Refusal { return false }
            return true
        }
    }

    /// What limits the factors that a context keeps.
    package var limited: LimitedSubject { LimitedSubject(.object(record.id), accessControl.limits) }

    /// The enrolled sets that the item is bound to.
    var enrolmentIDs: Set<Data> { slots?.enrolmentIDs ?? [] }

    package var asksForApplicationPassword: Bool {
        accessControl[.read]?.factors.contains(.applicationPassword) ?? false
    }

    /// The proof that opening needs. The class is open already, because the attributes were read.
    package func demand(_ operation: String, object: String) -> Demand {
        Demand(
            requirements: [accessControl[.read]], availability: nil, object: object, operation: operation,
            applicationPassword: slots?.applicationPasswordCheck, enrolmentIDs: enrolmentIDs, logName: record.logName,
            isAtTrustedPlace: accessControl.isAtTrustedPlace)
    }

    /// The attributes.
    ///
    /// - Throws: the refusal `locked` when the item's class is not open, ``SlotError/missingKey(_:epoch:)`` when the
    ///   item was wrapped again meanwhile.
    package func attributes() throws -> ItemAttributes {
        try ItemAttributes(
            encoded: ItemCipher.openAttributes(
                record.attributes, with: ring.openHalf(try ItemCipher.key(of: record.attributes).role), header: header),
            of: record.itemClass)
    }

    /// Throws `locked` unless the item's class is open.
    package func requireOpen() throws {
        _ = try ring.openHalf(ItemCipher.key(of: record.attributes).role)
        if case .classKey? = record.wrap { _ = try ring.openHalf(.classKey(accessControl.availability)) }
    }

    /// The item's data, opened with the proofs; nil when it has none.
    package func data(by proof: Evaluation?) throws -> SecretBytes? {
        guard record.payload != nil else { return nil }
        return try data(takeSecret(by: proof))
    }

    /// The item's data; nil when it has none.
    package func data(_ secret: borrowing SecretBytes) throws -> SecretBytes? {
        guard let payload = record.payload else { return nil }
        return try PayloadCipher.open(payload, accessSecret: secret, header: header)
    }

    /// The access secret, once.
    ///
    /// - Parameter proof: nil for an item that asks for nothing.
    func takeSecret(by proof: Evaluation?) throws -> SecretBytes {
        switch (record.wrap, slots, proof) {
        case (.classKey(let wrapped)?, _, _):
            return try ItemCipher.unwrap(
                wrapped, with: ring.openHalf(.classKey(accessControl.availability)), header: header)
        case (.slots?, let slots?, let proof?): return try slots.takeSecret(by: proof.factors, proof.keys)
        default: throw SlotError.refused
        }
    }

    /// The application password that was proved, once; nil when the rule was satisfied without one.
    func takeApplicationPassword() -> ApplicationPassword? {
        guard let slots else { return nil }
        return slots.takeApplicationPassword()
    }
}

extension KeyRing {
    /// The first class among `roles` that is closed and that the passcode would open.
    fileprivate func closedClass(among roles: [KeyRole]) -> AvailabilityClass? {
        closedClass(
            among: roles.compactMap { role in if case .classKey(let availability) = role { availability } else { nil } }
        )
    }

    /// The first of `classes` that is closed and that the passcode would open.
    package func closedClass(among classes: [AvailabilityClass]) -> AvailabilityClass? {
        classes.first { unlockState(of: $0) == .needsPasscode }
    }

    /// The private half of an open class; throws the refusal `locked`, or `passcodeNotSet` for a class that only a passcode
    /// brings about.
    func openHalf(_ role: KeyRole) throws(Refusal) -> PrivateHalf {
        if let half = privateHalf(role) { return half }
        throw publicHalf(role) == nil ? Refusal.passcodeNotSet : Refusal.locked
    }
}

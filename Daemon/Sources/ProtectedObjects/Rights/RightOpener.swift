package import AccessControl
package import Authenticators
package import Enclave
import ExactNames
import Foundation
import KeySlots
package import OwnerKeys
package import PromptProtocol
package import Vault

/// Opens one right's slots with the proofs of an evaluation.
package final class RightOpener {
    package let object: ObjectRecord
    /// How programs call a key; for the person who is asked.
    private let label: String?
    package let accessControl: AccessControl
    private let header: SlotHeader
    private let slots: SlotAccess

    /// The uses that an authorization of a right covers: all that its access control permits.
    static let uses: [AccessControl.Operation] = [.read, .sign, .decrypt, .keyExchange]

    /// - Parameter label: how programs call a key; nil for a right, whose name is its own.
    package init(
        _ object: ObjectRecord, label: String?, in vault: Vault, ring: KeyRing, stretching: PasscodeStretching
    ) throws {
        self.object = object
        self.label = label
        accessControl = try AccessControl(canonicalBytes: Array(object.accessControl))
        header = try SlotHeader(of: object, storeID: vault.storeID)
        slots = try SlotAccess(object.slots, header: header, ring: ring, stretching: stretching) {
            guard let current = try vault.read({ try $0.object(object.id, owner: object.owner) }) else {
                throw RightStore.notFound
            }
            return try KeySlot.decode(current.slots)
        }
    }

    package var operations: Set<AccessControl.Operation> { Set(Self.uses.filter { accessControl[$0] != nil }) }

    /// What limits the factors that a context keeps.
    package var limited: LimitedSubject { LimitedSubject(.object(object.id), accessControl.limits) }

    package var demand: Demand {
        Demand(
            requirements: operations.sorted().map { accessControl[$0] }, availability: accessControl.availability,
            object: object.shownName,
            operation: object.kind == .right ? "use the key and the secret of a right" : "use a key",
            applicationPassword: slots.applicationPasswordCheck, enrolmentIDs: slots.enrolmentIDs,
            logName: object.attributes.identifier.text, label: ObjectRecord.shownLabel(label),
            isAtTrustedPlace: accessControl.isAtTrustedPlace)
    }

    /// What must be proved for one signature over data that the question shows.
    package func demand(forSigning data: PromptSignedData) -> Demand {
        var demand = once(object.kind == .right ? "sign once with the key of a right" : "sign once with a key")
        demand.signedData = data
        return demand
    }

    /// What must be proved for one statement of the chip on the key.
    package var demandForAttestation: Demand {
        once(
            object.kind == .right
                ? "let the TPM describe the key of a right to a server" : "let the TPM describe a key to a server")
    }

    private func once(_ operation: String) -> Demand {
        let (name, label) = (object.wholeName, DisplayText(label ?? ""))
        // A label that does not fit is left out: its beginning alone could be that of another key.
        let isFit = DisplayText(wholeFact: name, calledByPrograms: label) != nil
        return Demand(
            requirements: [accessControl[.sign]], availability: accessControl.availability, object: name,
            operation: operation, applicationPassword: slots.applicationPasswordCheck,
            enrolmentIDs: slots.enrolmentIDs, logName: object.attributes.identifier.text,
            label: isFit ? label : DisplayText(""), isShownInFull: true,
            isAtTrustedPlace: accessControl.isAtTrustedPlace)
    }

    /// The opened right. Uses a slot that the evaluation satisfied.
    package func opened(by evaluation: Evaluation, enclave: any Enclave) throws -> OpenedRight {
        try OpenedRight(
            object, operations: operations, limits: accessControl.limits, evaluation: evaluation, header: header,
            accessSecret: slots.takeSecret(by: evaluation.factors, evaluation.keys), enclave: enclave)
    }
}

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
    /// The limits of a right or key for SSH alone; nil for another one.
    package let sshConstraints: SSHKeyConstraints?
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
        sshConstraints = try object.sshConstraints
        header = try SlotHeader(of: object, storeID: vault.storeID)
        slots = try SlotAccess(object.slots, header: header, ring: ring, stretching: stretching) {
            guard let current = try vault.read({ try $0.object(object.id, owner: object.owner) }) else {
                throw RightStore.notFound
            }
            return try KeySlot.decode(current.slots)
        }
    }

    /// The name for lists: a key's label, where programs gave it one.
    package var listedName: String {
        guard let label, !label.isEmpty else { return object.attributes.identifier.text }
        return label
    }

    /// The name that programs give a key, for a question.
    package var shownLabel: DisplayText { ObjectRecord.shownLabel(label) }

    package var operations: Set<AccessControl.Operation> { Set(Self.uses.filter { accessControl[$0] != nil }) }

    /// What limits the factors that a context keeps.
    package var limited: LimitedSubject { LimitedSubject(.object(object.id), accessControl.limits) }

    package var demand: Demand {
        Demand(
            requirements: operations.sorted().map { accessControl[$0] }, availability: accessControl.availability,
            object: object.shownName,
            operation: operationWords,
            applicationPassword: slots.applicationPasswordCheck, enrolmentIDs: slots.enrolmentIDs,
            logName: object.attributes.identifier.text, label: ObjectRecord.shownLabel(label),
            isAtTrustedPlace: accessControl.isAtTrustedPlace)
    }

    private var operationWords: String {
        switch (object.kind, sshConstraints) {
        case (.right, nil): "use the key and the secret of a right"
        case (.right, _): "use the key of a right for SSH"
        case (_, nil): "use a key"
        case (_, _): "use a key for SSH"
        }
    }

    /// The proof for using an SSH key from now on, first for data that the question shows.
    package func demand(forAuthorizing data: PromptSignedData) -> Demand {
        var demand = demand
        demand.signedData = data
        return demand
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

import AccessControl
import Authenticators
import Enclave
import Foundation
import KeySlots
import SecretMemory
import Vault

/// Opens one right's slots with what an evaluation proved.
final class RightOpener {
    let object: ObjectRecord
    let accessControl: AccessControl
    private let header: SlotHeader
    private let slots: [KeySlot]
    private let ring: KeyRing
    /// Set by the check of an application password, which is made by opening.
    private var accessSecret: SecretBytes?

    /// The uses that an authorization of a right covers: all that its access control permits.
    static let uses: [AccessControl.Operation] = [.read, .sign, .decrypt, .keyExchange]

    init(_ object: ObjectRecord, storeID: VaultID, ring: KeyRing) throws {
        self.object = object
        self.ring = ring
        accessControl = try AccessControl(canonicalBytes: Array(object.accessControl))
        header = try SlotHeader(of: object, storeID: storeID)
        slots = try KeySlot.decode(object.slots)
    }

    var operations: Set<AccessControl.Operation> { Set(Self.uses.filter { accessControl[$0] != nil }) }

    var demand: Demand {
        Demand(
            requirements: operations.sorted().map { accessControl[$0] }, availability: accessControl.availability,
            object: object.attributes.identifier, operation: "use the key and the secret of a right",
            applicationPassword: applicationPasswordCheck)
    }

    private var applicationPasswordCheck: ApplicationPasswordCheck? {
        guard slots.contains(where: { $0.passwordParameters != nil }) else { return nil }
        return ApplicationPasswordCheck(subject: object.id.bytes) { [self] entered, passcode in
            try open(password: entered, passcode: passcode)
        }
    }

    /// The opened right. Uses the slot that the evaluation satisfied.
    func opened(by evaluation: Evaluation, enclave: any Enclave) throws -> OpenedRight {
        if accessSecret == nil { accessSecret = try open(evaluation) }
        guard let secret = accessSecret.take() else { throw SlotError.refused }
        return try OpenedRight(
            object, operations: operations, evaluation: evaluation, header: header, accessSecret: secret,
            enclave: enclave)
    }

    private func open(_ evaluation: Evaluation) throws -> SecretBytes {
        guard let slot = slots.first(where: { evaluation.factors.satisfies($0.factors) }) else { throw SlotError.refused }
        return try SlotOpener.open(slot, header: header, privateHalves: halves(evaluation.passcode))
    }

    private func open(password: borrowing SecretBytes, passcode: ProvedPasscode?) throws -> Bool {
        for slot in slots {
            guard let parameters = slot.passwordParameters else { continue }
            let stretched = try ApplicationPasswordParameters(parameters).stretch(password)
            do {
                accessSecret = try SlotOpener.open(
                    slot, header: header, privateHalves: halves(passcode),
                    applicationPassword: SecretBytes(copying: stretched))
                return true
            } catch SlotError.refused, SlotError.missingKey { continue }
        }
        return false
    }

    private func halves(_ passcode: ProvedPasscode?) -> [PrivateHalf] {
        ring.privateHalves + (passcode.map { [$0.half] } ?? [])
    }
}

/// How an application password is stretched: parameters and salt, as they stand in a slot.
struct ApplicationPasswordParameters {
    private let parameters: StretchParameters
    private let salt: StretchSalt

    /// The recommended parameters with a new salt.
    init() {
        parameters = .recommended
        salt = .random()
    }

    init(_ bytes: Data) throws {
        parameters = try StretchParameters(canonicalBytes: Array(bytes.prefix(StretchParameters.byteCount)))
        guard let salt = StretchSalt(Array(bytes.dropFirst(StretchParameters.byteCount))) else { throw SlotError.malformed }
        self.salt = salt
    }

    var bytes: Data { Data(parameters.canonicalBytes + salt.bytes) }

    func stretch(_ password: borrowing SecretBytes) throws -> SecretBytes {
        try PasscodeStretcher(parameters: parameters).stretch(password, salt: salt)
    }
}

import AccessControl
import Authenticators
import Enclave
import Foundation
import KeySlots
import SecretMemory
import Vault

/// Opens one right's slots with what an evaluation proved.
///
/// While the person is asked, a changed passcode may wrap the slots anew, so they are read again when they are opened; that
/// is done inside `PasscodeKeeper.exclusively`, where slots and key ring belong together.
final class RightOpener {
    let object: ObjectRecord
    let accessControl: AccessControl
    private let header: SlotHeader
    private let passwordParameters: Data?
    private let vault: Vault
    private let ring: KeyRing
    private let stretching: PasscodeStretching
    /// Set by the check of an application password, which is made by opening.
    private var accessSecret: SecretBytes?

    /// The uses that an authorization of a right covers: all that its access control permits.
    static let uses: [AccessControl.Operation] = [.read, .sign, .decrypt, .keyExchange]

    init(_ object: ObjectRecord, in vault: Vault, ring: KeyRing, stretching: PasscodeStretching) throws {
        self.object = object
        self.vault = vault
        self.ring = ring
        self.stretching = stretching
        accessControl = try AccessControl(canonicalBytes: Array(object.accessControl))
        header = try SlotHeader(of: object, storeID: vault.storeID)
        passwordParameters = try KeySlot.decode(object.slots).lazy.compactMap(\.passwordParameters).first
    }

    /// The slots as they are stored now; throws when the right is gone.
    private func slots() throws -> [KeySlot] {
        guard let current = try vault.read({ try $0.object(object.id, owner: object.owner) }) else {
            throw RightStore.notFound
        }
        return try KeySlot.decode(current.slots)
    }

    var operations: Set<AccessControl.Operation> { Set(Self.uses.filter { accessControl[$0] != nil }) }

    var demand: Demand {
        Demand(
            requirements: operations.sorted().map { accessControl[$0] }, availability: accessControl.availability,
            object: object.attributes.identifier, operation: "use the key and the secret of a right",
            applicationPassword: applicationPasswordCheck)
    }

    private var applicationPasswordCheck: ApplicationPasswordCheck? {
        guard passwordParameters != nil else { return nil }
        return ApplicationPasswordCheck(subject: object.id.bytes) { [self] entered, passcode in
            try open(password: entered, passcode: passcode)
        }
    }

    /// The opened right. Uses a slot that the evaluation satisfied.
    func opened(by evaluation: Evaluation, enclave: any Enclave) throws -> OpenedRight {
        if accessSecret == nil { accessSecret = try open(evaluation) }
        guard let secret = accessSecret.take() else { throw SlotError.refused }
        return try OpenedRight(
            object, operations: operations, evaluation: evaluation, header: header, accessSecret: secret,
            enclave: enclave)
    }

    private func open(_ evaluation: Evaluation) throws -> SecretBytes {
        guard let slot = try slots().first(where: { evaluation.factors.satisfies($0.factors) }) else { throw SlotError.refused }
        return try SlotOpener.open(slot, header: header, privateHalves: halves(evaluation.passcode))
    }

    private func open(password: borrowing SecretBytes, passcode: ProvedPasscode?) throws -> Bool {
        // All slots of one object were made with the same password, salt and cost.
        guard let passwordParameters else { return false }
        let stretched = try ApplicationPasswordParameters(passwordParameters).stretch(password, by: stretching)
        for slot in try slots() where slot.passwordParameters == passwordParameters {
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

    func stretch(_ password: borrowing SecretBytes, by stretching: PasscodeStretching) throws -> SecretBytes {
        try stretching.stretch(password, salt: salt, parameters: parameters)
    }
}

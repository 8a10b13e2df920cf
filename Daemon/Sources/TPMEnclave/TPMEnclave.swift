public import Enclave
public import Foundation
public import SecretMemory
import Synchronization

/// The enclave in a TPM 2.0. Private keys are made in the chip and never leave it. The chip asks for a key's
/// authorization value at each use.
///
/// It stops a thief of the files: without this chip they are useless. It does not stop a program that may talk to the
/// chip and has an object's authorization value.
///
/// All objects lie below the storage key that the store was made with. All commands with a secret run in sessions that
/// only the chip with that key can take part in, and are encrypted in both directions; ``StorageRoot`` tells of the one moment
/// before there is such a key. A chip keeps for good an index for each user with a passcode, which counts wrong ones
/// (``PasscodeIndex``), a counter for each store, and the storage key where the owner has a password. A key that requires the
/// passcode lies below a parent of its own. Without the passcode the chip loads nothing below that parent.
///
/// Calls block while the chip works or another call does. Layout of blobs: `Documentation/formats/tpm-enclave.md`.
public final class TPMEnclave: Enclave {
    public let kind = EnclaveKind.tpm
    public let guessing = GuessingExposure.limitedByHardware
    public let isImmediate = false

    /// The storage key of the store. A new store keeps it, to name it in ``init(at:storageKey:)`` from then on.
    public let storageKey: StorageKeyName

    let chip: Chip
    /// The passcode of each user, below which new keys are made that require it.
    let passcodes = Mutex<[Data: ChipPasscode]>([:])

    /// Connects to a TPM.
    ///
    /// - Parameters:
    ///   - storageKey: the name that the store keeps; nil for a new store. A new store believes the TPM that answers.
    ///   - chipOwner: for a chip whose owner has a password, where the storage key must be computed.
    /// - Throws: ``EnclaveError/deviceLost`` when no storage key of this TPM has that name,
    ///   ``EnclaveError/unavailable(code:)`` with the code of tpm2-tss when no TPM answers,
    ///   ``EnclaveError/noAnswer(within:)`` when one takes a request and says nothing.
    public convenience init(
        at location: TPMLocation = .device, storageKey: StorageKeyName?, as chipOwner: OwnerPassword? = nil
    ) throws(EnclaveError) {
        try self.init(at: location, storageKey: storageKey, as: chipOwner, timeLimit: Chip.timeLimit)
    }

    init(
        at location: TPMLocation, storageKey: StorageKeyName?, as chipOwner: OwnerPassword? = nil, timeLimit: Duration
    ) throws(EnclaveError) {
        chip = Chip(location, storageKey: storageKey, timeLimit: timeLimit)
        self.storageKey = try chip.storageKey(as: chipOwner)
    }

    /// The name of the storage key.
    public var device: Data { storageKey.bytes }

    // MARK: keys

    /// A TPM 2.0 makes P-256 keys only.
    public func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> WrappedKey {
        guard type == .p256 else { throw .unsupportedKey }
        guard KeyAuthorization.isUsable(authorization), authorization.count <= KeyAuthorization.byteCount else {
            throw .invalidAuthorization
        }
        guard binding.outsideInfo.count <= KeyBinding.maximumByteCount else { throw .invalidBinding }
        let template = try ObjectPolicy.template(type, binding)
        let value = SecretBytes(copying: authorization)
        let passcode = binding.requiresPasscode ? passcodes.withLock { $0[binding.owner] } : nil
        guard passcode != nil || !binding.requiresPasscode else { throw .passcodeNeeded }
        let object = try chip.perform(for: binding.owner) { (connection) throws(ChipFault) in
            try connection.create(
                template, authorization: value, sealing: SecretBytes(zeroed: 0), below: passcode)
        }
        guard let point = object.point(matching: template) else { throw .unavailable(code: 0) }
        return WrappedKey(
            kind: kind, type: type, publicKey: point, blob: object.blob(as: passcode == nil ? .key : .keyBelowPasscode))
    }

    public func openKey(
        _ key: WrappedKey, authorization: borrowing SecretBytes, binding: KeyBinding, session: (any PasscodeSession)?
    ) throws(EnclaveError) -> any OpenEnclaveKey {
        guard key.kind == kind else { throw .wrongKind }
        if binding.requiresPasscode {
            guard session is TPMPasscodeSession, session?.owner == binding.owner else { throw .passcodeNeeded }
        }
        guard key.type == .p256 else { throw .unreadable }
        let object = try ChipObject(blob: key.blob, as: binding.requiresPasscode ? .keyBelowPasscode : .key)
        let template = try ObjectPolicy.template(key.type, binding)
        guard let point = object.point(matching: template), point == key.publicKey else { throw .unreadable }
        let opened = OpenTPMKey(
            object, of: binding.owner, publicKey: key.publicKey, authorization: authorization,
            terms: try ObjectPolicy.terms(key.type, binding), in: chip)
        try opened.load(binding.requiresPasscode ? session as? TPMPasscodeSession : nil)
        return opened
    }

    // MARK: sealed secrets
    // They take turns for the store: one is sealed or unsealed when a store or an account is opened, or a passcode set, proved for the
    // first time or removed. No program brings that about again and again without the person.

    public func seal(
        _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> Data {
        guard SealedSecret.byteCounts.contains(secret.count) else { throw .invalidSecret }
        guard authorization.isEmpty || KeyAuthorization.isUsable(authorization),
            authorization.count <= KeyAuthorization.byteCount
        else { throw .invalidAuthorization }
        let template = PublicArea.secret(policy: ObjectPolicy.digest(context: context))
        let value = SecretBytes(copying: authorization)
        let sealed = SecretBytes(copying: secret)
        let object = try chip.perform(for: nil) { (connection) throws(ChipFault) in
            try connection.create(template, authorization: value, sealing: sealed)
        }
        guard object.publicArea(matching: template) != nil else { throw .unavailable(code: 0) }
        return object.blob(as: .secret)
    }

    public func unseal(
        _ blob: Data, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> SecretBytes {
        let object = try ChipObject(blob: blob, as: .secret)
        let template = PublicArea.secret(policy: ObjectPolicy.digest(context: context))
        guard object.publicArea(matching: template) != nil else { throw .unreadable }
        let value = SecretBytes(copying: authorization)
        return try chip.perform(for: nil) { (connection) throws(ChipFault) in
            try connection.withLoadedOnce(object) { (handle) throws(ChipFault) in
                try connection.unseal(handle, authorization: value)
            }
        }
    }
}

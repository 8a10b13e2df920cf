public import Enclave
public import Foundation
public import SecretMemory
import CTSS2
import Synchronization

/// Passcodes in the chip: see ``PasscodeIndex``.
extension TPMEnclave: PasscodeEnclave {
    public func makePasscode(
        _ authorization: borrowing SecretBytes, sealing secret: borrowing SecretBytes, of owner: Data,
        as chipOwner: OwnerPassword? = nil
    ) throws(EnclaveError) -> Data {
        try Self.requireUsable(authorization)
        let value = SecretBytes(copying: authorization)
        let index = try chip.perform(for: owner, as: chipOwner) { (connection) throws(ChipFault) in
            try connection.defineIndex(of: owner, authorization: value)
        }
        let parent = try made(PublicArea.parent(of: index), sealing: SecretBytes(zeroed: 0), of: owner, as: chipOwner)
        return try passcode(index, sealing: secret, parent, of: owner, as: chipOwner).blob
    }

    public func resealed(_ passcode: Data, with secret: borrowing SecretBytes) throws(EnclaveError) -> Data {
        let former = try ChipPasscode(blob: passcode)
        return try self.passcode(
            former.index, sealing: secret, former.parent, of: owner(of: former.index), as: nil
        ).blob
    }

    private func passcode(
        _ index: PasscodeIndex, sealing secret: borrowing SecretBytes, _ parent: ChipObject, of owner: Data?,
        as chipOwner: OwnerPassword?
    ) throws(EnclaveError) -> ChipPasscode {
        guard SealedSecret.byteCounts.contains(secret.count) else { throw .invalidSecret }
        return ChipPasscode(
            index: index,
            sealed: try made(PublicArea.passcodeSecret(of: index), sealing: secret, of: owner, as: chipOwner),
            parent: parent)
    }

    /// An object without a value of its own, below the storage key.
    ///
    /// - Parameter chipOwner: of the request that the object is made for. If the chip was restarted meanwhile, the storage key comes
    ///   back with it.
    private func made(
        _ template: TPM2B_PUBLIC, sealing secret: borrowing SecretBytes, of owner: Data?, as chipOwner: OwnerPassword?
    ) throws(EnclaveError) -> ChipObject {
        let sealed = SecretBytes(copying: secret)
        let object = try chip.perform(for: owner, as: chipOwner) { (connection) throws(ChipFault) in
            try connection.create(template, authorization: SecretBytes(zeroed: 0), sealing: sealed)
        }
        guard object.publicArea(matching: template) != nil else { throw .unavailable(code: 0) }
        return object
    }

    private static let contextLabel = "ostiary.tpm-enclave.v1.locked-contexts"

    static func requireUsable(_ authorization: borrowing SecretBytes) throws(EnclaveError) {
        guard KeyAuthorization.isUsable(authorization), authorization.count <= KeyAuthorization.byteCount else {
            throw .invalidAuthorization
        }
    }

    public func openPasscode(
        _ passcode: Data, of owner: Data, authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> OpenedPasscode {
        let passcode = try ChipPasscode(blob: passcode)
        let value = PasscodeValue(SecretBytes(copying: authorization))
        let secret = try chip.perform(for: owner) { (connection) throws(ChipFault) in
            try connection.open(passcode, authorization: value.bytes)
        }
        let contextKey = secret.derivedKey(label: Self.contextLabel)
        return OpenedPasscode(
            secret: secret,
            session: TPMPasscodeSession(owner: owner, passcode: passcode, value: value, contextKey: contextKey))
    }

    public func changePasscode(
        _ passcode: Data, from former: borrowing SecretBytes, to authorization: borrowing SecretBytes
    ) throws(EnclaveError) {
        try Self.requireUsable(authorization)
        let index = try ChipPasscode(blob: passcode).index
        let (old, new) = (
            PasscodeValue(SecretBytes(copying: former)), PasscodeValue(SecretBytes(copying: authorization))
        )
        try chip.perform(for: owner(of: index), isRepeatable: false) { (connection) throws(ChipFault) in
            try connection.change(index, from: old.bytes, to: new.bytes)
        }
    }

    public func removePasscode(of owner: Data, as chipOwner: OwnerPassword? = nil) throws(EnclaveError) {
        try chip.perform(for: owner, as: chipOwner) { (connection) throws(ChipFault) in
            try connection.removeIndex(of: owner)
        }
    }

    public func wrongTries(at passcode: Data) throws(EnclaveError) -> WrongTries {
        let index = try ChipPasscode(blob: passcode).index
        return try chip.perform(for: owner(of: index)) { (connection) throws(ChipFault) in
            let tries = try connection.wrongTries(at: index)
            return WrongTries(count: tries.count, limit: tries.limit)
        }
    }

    /// Whose passcode in use has this index; nil for one that is not in use yet.
    private func owner(of index: PasscodeIndex) -> Data? {
        passcodes.withLock { $0.first { $0.value.index.handle == index.handle }?.key }
    }

    public func use(_ passcode: Data?, of owner: Data) throws(EnclaveError) {
        guard let passcode else { return passcodes.withLock { $0[owner] = nil } }
        let read = try ChipPasscode(blob: passcode)
        passcodes.withLock { $0[owner] = read }
    }
}

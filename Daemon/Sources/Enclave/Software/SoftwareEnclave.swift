import Crypto
public import Foundation
public import SecretMemory

/// The enclave of machines without a chip: keys are wrapped under a secret in a file beside the store.
///
/// It stops other users, and a thief who copies the database without the device secret. It does not stop a thief of
/// both from guessing passcodes. Nor does it stop anybody who can read this process's memory while a key is open.
///
/// Blobs have two layers. The outer one is under a key of the device and authenticates binding or context: if it does
/// not open, the blob is unreadable here. The inner one is under device and authorization together: if only that does
/// not open, the authorization is refused. Layout: `Documentation/formats/enclave.md`.
public final class SoftwareEnclave: Enclave {
    public let kind = EnclaveKind.software
    public let guessing = GuessingExposure.offline
    public let isImmediate = true

    private let keys: DeviceKeys

    /// Opens the enclave whose device secret lies in `directory`.
    ///
    /// - Parameters:
    ///   - directory: the folder of the store: writable by its owner alone.
    ///   - owner: the user who must own the folder and the device secret.
    ///   - createIfMissing: true only for a new store. A new device secret would make an existing store unreadable;
    ///     there, a missing one is ``EnclaveError/deviceSecretMissing``.
    public init(directory: String, ownedBy owner: UInt32, createIfMissing: Bool) throws(EnclaveError) {
        let file = DeviceSecretFile(directory: directory, ownedBy: owner)
        let secret = createIfMissing ? try file.readOrCreate() : try file.read()
        keys = DeviceKeys(secret)
    }

    // MARK: keys

    public func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> WrappedKey {
        guard KeyAuthorization.isUsable(authorization) else { throw .invalidAuthorization }
        guard binding.outsideInfo.count <= KeyBinding.maximumByteCount else { throw .invalidBinding }
        guard type == .p256 || binding.approver == nil else { throw .unsupportedKey }
        let pair = try Self.makePair(type)
        let blob = try keys.seal(
            pair.secret, authorization: authorization, as: .key,
            associatedData: Self.associatedData(type, publicKey: pair.publicKey, binding: binding))
        return WrappedKey(kind: kind, type: type, publicKey: pair.publicKey, blob: blob)
    }

    private struct Pair: ~Copyable {
        let publicKey: Data
        /// The scalar of P-256, or a seed.
        let secret: SecretBytes
    }

    private static func makePair(_ type: EnclaveKeyType) throws(EnclaveError) -> Pair {
        if let count = OpenLatticeKey.seedByteCount(of: type) {
            let seed = SecretBytes(random: count)
            return Pair(publicKey: try OpenLatticeKey.publicKey(of: type, seed: seed), secret: seed)
        }
        let key = P256.Signing.PrivateKey()
        var representation = key.rawRepresentation
        return Pair(publicKey: key.publicKey.x963Representation, secret: SecretBytes(taking: &representation))
    }

    public func openKey(
        _ key: WrappedKey, authorization: borrowing SecretBytes, binding: KeyBinding, session: (any PasscodeSession)?
    ) throws(EnclaveError) -> any OpenEnclaveKey {
        guard key.kind == kind else { throw .wrongKind }
        if binding.requiresPasscode {
            guard session is SoftwarePasscodeSession, session?.owner == binding.owner else { throw .passcodeNeeded }
        }
        guard key.publicKey.count == key.type.publicKeyByteCount else { throw .unreadable }
        let secret = try keys.open(
            key.blob, authorization: authorization, as: .key,
            associatedData: Self.associatedData(key.type, publicKey: key.publicKey, binding: binding))
        if key.type == .p256 {
            let open = try OpenSoftwareKey(scalar: secret, publicKey: key.publicKey)
            guard let approver = binding.approver else { return open }
            return ApprovedSoftwareKey(open, approver: approver)
        }
        return try OpenLatticeKey(key.type, seed: secret, publicKey: key.publicKey)
    }

    // MARK: sealed secrets

    public func seal(
        _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> Data {
        guard SealedSecret.byteCounts.contains(secret.count) else { throw .invalidSecret }
        return try keys.seal(secret, authorization: authorization, as: .secret, associatedData: context)
    }

    public func unseal(
        _ blob: Data, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> SecretBytes {
        try keys.open(blob, authorization: authorization, as: .secret, associatedData: context)
    }

    /// One byte for the type (for P-256 65, the size of its public key; for others their raw value), then the public
    /// key, whose size follows from the type, the flags, the approver of 65 bytes if there is one, and the outside information.
    private static func associatedData(_ type: EnclaveKeyType, publicKey: Data, binding: KeyBinding) -> Data {
        var data = Data([type == .p256 ? UInt8(type.publicKeyByteCount) : type.rawValue])
        data.append(publicKey)
        data.append(binding.flags)
        data.append(binding.approver ?? Data())
        data.append(binding.outsideInfo)
        return data
    }
}

/// The proof that the software enclave's keeper checked an owner's passcode. It holds no key. The passcode opens key
/// slots, and a key does not open without the secret in its slot.
public struct SoftwarePasscodeSession: PasscodeSession {
    public let owner: Data

    public init(owner: Data) { self.owner = owner }
}

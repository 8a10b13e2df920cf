import Crypto
public import Foundation
public import SecretMemory

/// The enclave of machines without a chip: keys are wrapped under a secret that lies in a file beside the store.
///
/// It stops other users, and whoever copies the database without the device secret. It does not stop whoever copies
/// both from guessing passcodes, nor anybody who can read this process's memory while a key is open.
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
    ///   - owner: the user whom the folder and the device secret must belong to.
    ///   - createIfMissing: pass true only for a store that is new. A device secret made beside an existing store
    ///     would make all of it unreadable; for an existing one, its absence is ``EnclaveError/deviceSecretMissing``.
    public init(directory: String, ownedBy owner: UInt32, createIfMissing: Bool) throws(EnclaveError) {
        let file = DeviceSecretFile(directory: directory, ownedBy: owner)
        let secret = createIfMissing ? try file.readOrCreate() : try file.read()
        keys = DeviceKeys(secret.bytes)
    }

    // MARK: keys

    public func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> WrappedKey {
        guard KeyAuthorization.isUsable(authorization) else { throw .invalidAuthorization }
        guard binding.outsideInfo.count <= KeyBinding.maximumByteCount else { throw .invalidBinding }
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
        if key.type == .p256 { return try OpenSoftwareKey(scalar: secret, publicKey: key.publicKey) }
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

    /// One byte for the type (of P-256 65, the size of its public key; of others their raw value), which says how long the
    /// public key behind it is; one byte for the passcode; outside information.
    private static func associatedData(_ type: EnclaveKeyType, publicKey: Data, binding: KeyBinding) -> Data {
        var data = Data([type == .p256 ? UInt8(type.publicKeyByteCount) : type.rawValue])
        data.append(publicKey)
        data.append(binding.requiresPasscode ? 1 : 0)
        data.append(binding.outsideInfo)
        return data
    }
}

/// That an owner's passcode was proved to the software enclave's keeper. It holds no key: what the passcode opens here are
/// key slots, and without their secret a key does not open.
public struct SoftwarePasscodeSession: PasscodeSession {
    public let owner: Data

    public init(owner: Data) { self.owner = owner }
}

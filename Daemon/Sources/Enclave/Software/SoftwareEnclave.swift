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

    private let keys: DeviceKeys

    /// Opens the enclave whose device secret lies in `directory`.
    ///
    /// - Parameters:
    ///   - directory: the folder of the store: owned by this user, writable by nobody else.
    ///   - createIfMissing: pass true only for a store that is new. A device secret made beside an existing store
    ///     would make all of it unreadable; for an existing one, its absence is ``EnclaveError/deviceSecretMissing``.
    public init(directory: String, createIfMissing: Bool) throws(EnclaveError) {
        let file = DeviceSecretFile(directory: directory)
        let secret = createIfMissing ? try file.readOrCreate() : try file.read()
        keys = DeviceKeys(secret)
    }

    // MARK: keys

    public func makeKey(authorization: borrowing SecretBytes, binding: KeyBinding) throws(EnclaveError) -> EnclaveKey {
        guard KeyAuthorization.isUsable(authorization) else { throw .invalidAuthorization }
        guard binding.outsideInfo.count <= KeyBinding.maximumByteCount else { throw .invalidBinding }
        let key = P256.Signing.PrivateKey()
        let publicKey = key.publicKey.x963Representation
        var representation = key.rawRepresentation
        let scalar = SecretBytes(taking: &representation)
        let blob = try keys.seal(
            scalar, authorization: authorization, as: .key,
            associatedData: Self.associatedData(publicKey: publicKey, binding: binding))
        return EnclaveKey(kind: kind, publicKey: publicKey, blob: blob)
    }

    public func openKey(
        _ key: EnclaveKey, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> any OpenEnclaveKey {
        guard key.kind == kind else { throw .wrongKind }
        let scalar = try keys.open(
            key.blob, authorization: authorization, as: .key,
            associatedData: Self.associatedData(publicKey: key.publicKey, binding: binding))
        return try OpenSoftwareKey(scalar: scalar, publicKey: key.publicKey)
    }

    // MARK: sealed secrets

    public func seal(
        _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> Data {
        try keys.seal(secret, authorization: authorization, as: .secret, associatedData: context)
    }

    public func unseal(
        _ blob: Data, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> SecretBytes {
        try keys.open(blob, authorization: authorization, as: .secret, associatedData: context)
    }

    // MARK: records

    public func authenticationCode(for message: Data, label: String) throws(EnclaveError) -> Data {
        keys.code(for: message, label: label, under: keys.authentication)
    }

    public func digest(_ value: Data, label: String) throws(EnclaveError) -> Data {
        keys.code(for: value, label: label, under: keys.lookup)
    }

    public func protect(_ record: Data, label: String) throws(EnclaveError) -> Data {
        try SoftwareBlob.seal(record, as: .record, under: SymmetricKey(keys.record), associatedData: Data(label.utf8))
    }

    public func unprotect(_ blob: Data, label: String) throws(EnclaveError) -> Data {
        try SoftwareBlob.open(blob, as: .record, under: SymmetricKey(keys.record), associatedData: Data(label.utf8))
    }

    /// Public key (its length is fixed by the format, so that the fields cannot run into each other), one byte for the
    /// passcode, outside information.
    private static func associatedData(publicKey: Data, binding: KeyBinding) -> Data {
        var data = Data([UInt8(truncatingIfNeeded: publicKey.count)])
        data.append(publicKey)
        data.append(binding.requiresPasscode ? 1 : 0)
        data.append(binding.outsideInfo)
        return data
    }
}

import CanonicalEncoding
import Crypto
public import Foundation
public import SecretMemory

/// Encrypts the parts of a keychain item that open with its class alone: the attribute record of every item, and the
/// access secret of an item whose rule asks for nothing.
///
/// Both are symmetric, so making one needs the class open too; it costs a hundredth of a slot's HPKE. Bytes:
///
///     version (1) || role (1) || epoch (4) || nonce (12) || ciphertext || tag (16)
///
/// AES-256-GCM under a key derived from the private half of role and epoch, one for each of the two uses. Associated data:
/// the first six bytes and the SHA-256 digest of the header.
public enum ItemCipher {
    private static let version: UInt8 = 1
    private static let prefixByteCount = 6

    // MARK: attributes

    /// - Throws: ``SlotError/missingKey(_:epoch:)`` when `half` is not a class's.
    public static func sealAttributes(
        _ record: Data, under half: PrivateHalf, header: SlotHeader
    ) throws(SlotError) -> Data {
        let prefix = prefix(of: half)
        let key = try keys(of: half).attributes
        do {
            let box = try AES.GCM.seal(record, using: key, authenticating: prefix + header.digest)
            return prefix + box.nonce + box.ciphertext + box.tag
        } catch { throw .libraryFailure }
    }

    /// - Throws: ``SlotError/missingKey(_:epoch:)`` when another half than `half` is needed, ``SlotError/malformed``,
    ///   ``SlotError/refused``.
    public static func openAttributes(
        _ sealed: Data, with half: PrivateHalf, header: SlotHeader
    ) throws(SlotError) -> Data {
        try require(half, for: sealed)
        let key = try keys(of: half).attributes
        do {
            return try AES.GCM.open(
                AES.GCM.SealedBox(combined: sealed.dropFirst(prefixByteCount)), using: key,
                authenticating: sealed.prefix(prefixByteCount) + header.digest)
        } catch { throw .refused }
    }

    // MARK: access secret

    /// - Throws: ``SlotError/invalidAccessSecret``, ``SlotError/missingKey(_:epoch:)`` when `half` is not a class's.
    public static func wrap(
        _ accessSecret: borrowing SecretBytes, under half: PrivateHalf, header: SlotHeader
    ) throws(SlotError) -> Data {
        guard accessSecret.count == AccessSecret.byteCount else { throw .invalidAccessSecret }
        let prefix = prefix(of: half)
        return prefix
            + (try SecretMessage.seal(
                accessSecret, under: try keys(of: half).accessSecret, associatedData: prefix + header.digest))
    }

    /// - Throws: as ``openAttributes(_:with:header:)``.
    public static func unwrap(
        _ wrapped: Data, with half: PrivateHalf, header: SlotHeader
    ) throws(SlotError) -> SecretBytes {
        try require(half, for: wrapped)
        let secret = try SecretMessage.open(
            wrapped.dropFirst(prefixByteCount), under: try keys(of: half).accessSecret,
            associatedData: wrapped.prefix(prefixByteCount) + header.digest)
        guard secret.count == AccessSecret.byteCount else { throw .malformed }
        return secret
    }

    // MARK: which key

    /// The half that opens these bytes.
    public static func key(of sealed: Data) throws(SlotError) -> (role: KeyRole, epoch: UInt32) {
        var reader = SlotReader(sealed.prefix(prefixByteCount))
        guard try reader.byte() == version, let role = KeyRole(code: try reader.byte()) else { throw .malformed }
        return (role, try reader.uint32())
    }

    private static func require(_ half: PrivateHalf, for sealed: Data) throws(SlotError) {
        let key = try key(of: sealed)
        guard half.role == key.role, half.epoch == key.epoch else { throw .missingKey(key.role, epoch: key.epoch) }
    }

    private static func keys(of half: PrivateHalf) throws(SlotError) -> ItemKeys {
        guard let keys = half.itemKeys else { throw .missingKey(half.role, epoch: half.epoch) }
        return keys
    }

    private static func prefix(of half: PrivateHalf) -> Data {
        var writer = CanonicalWriter()
        writer.write(version)
        writer.write(half.role.code)
        writer.write(half.epoch)
        return Data(writer.bytes)
    }
}

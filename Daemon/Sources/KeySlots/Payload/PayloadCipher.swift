import Crypto
public import Foundation
public import SecretMemory

/// Encrypts an object's data (a keychain item's data, a right's secret) under its access secret, bound to the object.
///
/// Bytes: `version (1) || nonce (12) || ciphertext || tag (16)`, AES-256-GCM; associated data is the version and the
/// SHA-256 digest of the header. An older payload of the same object opens too; the row's authentication code says
/// which one is current.
public enum PayloadCipher {
    private static let version: UInt8 = 1

    public static func seal(
        _ payload: borrowing SecretBytes, accessSecret: borrowing SecretBytes, header: SlotHeader
    ) throws(SlotError) -> Data {
        let message = try SecretMessage.seal(
            payload, under: try key(from: accessSecret), associatedData: associatedData(of: header))
        return Data([version]) + message
    }

    /// - Throws: ``SlotError/malformed`` for an unknown version, ``SlotError/refused`` when it does not open.
    public static func open(
        _ sealed: Data, accessSecret: borrowing SecretBytes, header: SlotHeader
    ) throws(SlotError) -> SecretBytes {
        guard sealed.first == version else { throw .malformed }
        return try SecretMessage.open(
            sealed.dropFirst(), under: try key(from: accessSecret), associatedData: associatedData(of: header))
    }

    private static func key(from accessSecret: borrowing SecretBytes) throws(SlotError) -> SymmetricKey {
        guard accessSecret.count == AccessSecret.byteCount else { throw .invalidAccessSecret }
        return accessSecret.derivedKey(label: AccessSecret.payloadLabel)
    }

    private static func associatedData(of header: SlotHeader) -> Data { Data([version]) + header.digest }
}

import Crypto
public import Foundation
public import SecretMemory

/// An application password at the moment an object is made: already stretched, with the parameters to stretch it again.
public struct ApplicationPassword: ~Copyable, Sendable {
    let stretchedKey: SecretBytes
    let parameters: Data

    /// - Parameters:
    ///   - stretchedKey: the password-hashing function's output, at least 32 bytes.
    ///   - parameters: salt and cost, 1 to 255 bytes that mean nothing here; kept readable in the slot and bound to it.
    public init(stretchedKey: consuming SecretBytes, parameters: Data) {
        self.stretchedKey = stretchedKey
        self.parameters = parameters
    }
}

/// The innermost layer of a slot whose alternative has an application password:
/// AES-256-GCM under HKDF(stretched password), `nonce (12) || ciphertext || tag (16)`.
enum PasswordLayer {
    private static let label = "ostiary.slot.application-password.v1"

    static func seal(
        _ accessSecret: borrowing SecretBytes, under stretchedKey: borrowing SecretBytes, associatedData: Data
    ) throws(SlotError) -> SecretBytes {
        do {
            var message = try SecretMessage.seal(
                accessSecret, under: stretchedKey.derivedKey(label: label), associatedData: associatedData)
            return SecretBytes(taking: &message)
        } catch {
            throw .libraryFailure
        }
    }

    static func open(
        _ message: borrowing SecretBytes, under stretchedKey: borrowing SecretBytes, associatedData: Data
    ) throws(SlotError) -> SecretBytes {
        try SecretMessage.open(
            unsafe message.withUnsafeBytes { unsafe Data($0) }, under: stretchedKey.derivedKey(label: label),
            associatedData: associatedData)
    }
}

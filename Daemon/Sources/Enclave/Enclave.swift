public import Foundation
public import SecretMemory

/// The place where private keys live and are used. Keys never leave it in the clear, and only it can open what it
/// sealed.
///
/// It does what a chip does: make, open, sign, agree, decapsulate, seal, unseal. A store needs some operations
/// thousands of times, such as the codes of rows. `StoreKeys` does those, with a root secret that the enclave seals.
///
/// An enclave decides nothing about people. It opens a key for any caller with the key's authorization value. That
/// value comes out of a key slot, only after the rule's factors were proved. So "allowed" means "could be computed".
///
/// A store stays with the enclave it was made with. There is no conversion and no fallback: a blob of another kind is
/// refused with ``EnclaveError/wrongKind``.
///
/// Calls block for as long as the enclave needs (microseconds in software, up to a second in a chip); none prompts.
/// Each can throw ``EnclaveError/lockedOut(remaining:)``, ``EnclaveError/deviceLost`` and
/// ``EnclaveError/unavailable(code:)`` as well. Every implementation passes the checks of `EnclaveContract`.
public protocol Enclave: Sendable {
    /// The kind of this enclave. It is part of the identity of each key that the enclave makes.
    var kind: EnclaveKind { get }

    /// Names the device, as far as blobs need that to be found again: see `StoreKeysFile`. At most 64 bytes, not secret,
    /// empty where a file beside the store is the device.
    var device: Data { get }

    /// Who can try passcodes against a copy of the store, and how often.
    var guessing: GuessingExposure { get }

    /// Whether open keys answer so fast that callers need not use another thread. False for a chip.
    var isImmediate: Bool { get }

    /// Makes a key that opens only with `authorization` and only together with `binding`.
    ///
    /// - Parameters:
    ///   - authorization: not empty, not ending in a zero byte; see ``KeyAuthorization``.
    ///   - binding: with an ``KeyBinding/approver`` for P-256 only.
    /// - Throws: ``EnclaveError/unsupportedKey`` when this enclave makes no keys of this type. Every enclave makes P-256.
    func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> WrappedKey

    /// Makes `key` ready for use until the result is released.
    ///
    /// - Parameter session: a proof of the owner's passcode, for a key whose binding requires it; nil for other keys.
    /// - Throws: ``EnclaveError/wrongKind`` before any other check, ``EnclaveError/passcodeNeeded`` when the binding
    ///   requires a session and this one is missing or another owner's, ``EnclaveError/unreadable`` when blob, public
    ///   key or `binding` differ from those of the key's making, ``EnclaveError/refused`` when only the authorization
    ///   is wrong. A chip checks the authorization of a key with an approver only when it attests the key.
    func openKey(
        _ key: WrappedKey, authorization: borrowing SecretBytes, binding: KeyBinding, session: (any PasscodeSession)?
    ) throws(EnclaveError) -> any OpenEnclaveKey

    /// Encrypts `secret` so that only this enclave with this `authorization` gives it back. An empty authorization is
    /// allowed: the secret is then sealed to the enclave alone.
    ///
    /// - Parameters:
    ///   - secret: of a size in ``SealedSecret/byteCounts``, else ``EnclaveError/invalidSecret``.
    ///   - authorization: for a chip never a value that comes from a passcode, because guesses at it would be
    ///     unlimited. A chip's own passcode keeper seals the secrets of the passcode.
    ///   - context: the purpose of the secret. Unsealing needs it again, unchanged. It is not secret, and not stored
    ///     readable.
    func seal(
        _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> Data

    /// Gives back a secret that ``seal(_:authorization:context:)`` sealed.
    ///
    /// - Throws: ``EnclaveError/wrongKind``, ``EnclaveError/unreadable`` when the blob is damaged, of another enclave
    ///   or sealed for another context, ``EnclaveError/refused`` when only the authorization is wrong.
    func unseal(
        _ blob: Data, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> SecretBytes
}

extension Enclave {
    public var device: Data { Data() }

    /// Makes a P-256 key.
    public func makeKey(authorization: borrowing SecretBytes, binding: KeyBinding) throws(EnclaveError) -> WrappedKey {
        try makeKey(.p256, authorization: authorization, binding: binding)
    }
}

/// The limits of sealed secrets.
public enum SealedSecret {
    /// At least one byte, and at most the room in every chip's sealed objects (TPM 2.0 part 2, TPM2B_SENSITIVE_DATA:
    /// 128).
    public static let byteCounts = 1...128
}

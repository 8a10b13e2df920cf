public import Foundation
public import SecretMemory

/// Where private keys live and are used: keys never leave it in the clear, and what it seals opens in it alone.
///
/// It does what a chip does: make, open, sign, agree, decapsulate, seal, unseal. What a store needs thousands of times, such as
/// the codes of rows, is done by `StoreKeys`, whose root secret the enclave seals.
///
/// An enclave decides nothing about people: it opens a key for whoever brings the key's authorization value. That value
/// exists only after the rule's factors were proved (it comes out of a key slot), so "allowed" means "could be computed".
///
/// A store stays with the enclave it was made with. There is no conversion and no fallback: a blob of another kind is
/// refused with ``EnclaveError/wrongKind``.
///
/// Calls block for as long as the enclave needs (microseconds in software, up to a second in a chip); none prompts. Each can
/// throw ``EnclaveError/lockedOut(remaining:)``, ``EnclaveError/deviceLost`` and ``EnclaveError/unavailable(code:)`` as well.
/// Every implementation passes the checks of `EnclaveContract`.
public protocol Enclave: Sendable {
    /// What this enclave is; part of the identity of each key it makes.
    var kind: EnclaveKind { get }

    /// Who can try passcodes against a copy of the store, and how often.
    var guessing: GuessingExposure { get }

    /// Whether open keys answer so fast that nothing else need wait on a thread of its own. False for a chip.
    var isImmediate: Bool { get }

    /// Makes a key that opens only with `authorization` and only together with `binding`.
    ///
    /// - Parameter authorization: not empty, not ending in a zero byte; see ``KeyAuthorization``.
    /// - Throws: ``EnclaveError/unsupportedKey`` when this enclave makes no keys of this type. Every enclave makes P-256.
    func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> WrappedKey

    /// Makes `key` ready for use until the result is released.
    ///
    /// - Parameter session: a proof of the owner's passcode, for a key whose binding requires it; other keys need none.
    /// - Throws: ``EnclaveError/wrongKind`` before anything else is looked at, ``EnclaveError/passcodeNeeded`` when the
    ///   binding requires a session that was not brought, ``EnclaveError/unreadable`` when blob, public key or `binding` is
    ///   not what the key was made with, ``EnclaveError/refused`` when only the authorization is wrong.
    func openKey(
        _ key: WrappedKey, authorization: borrowing SecretBytes, binding: KeyBinding, session: (any PasscodeSession)?
    ) throws(EnclaveError) -> any OpenEnclaveKey

    /// Encrypts `secret` so that only this enclave with this `authorization` gives it back. An empty authorization is
    /// allowed: the secret is then sealed to the enclave alone.
    ///
    /// - Parameters:
    ///   - secret: of a size in ``SealedSecret/byteCounts``, else ``EnclaveError/invalidSecret``.
    ///   - authorization: in a chip never a value that comes from a passcode: it could be guessed at without limit. A chip's
    ///     own keeper of the passcode seals what belongs to the passcode.
    ///   - context: what the secret is for; needed again, unchanged, to unseal. Not stored readable, not secret.
    func seal(
        _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> Data

    /// Gives back what ``seal(_:authorization:context:)`` took.
    ///
    /// - Throws: ``EnclaveError/wrongKind``, ``EnclaveError/unreadable`` when the blob is damaged, of another enclave or
    ///   sealed for another context, ``EnclaveError/refused`` when only the authorization is wrong.
    func unseal(
        _ blob: Data, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> SecretBytes
}

extension Enclave {
    /// Makes a P-256 key.
    public func makeKey(authorization: borrowing SecretBytes, binding: KeyBinding) throws(EnclaveError) -> WrappedKey {
        try makeKey(.p256, authorization: authorization, binding: binding)
    }
}

/// What can be sealed.
public enum SealedSecret {
    /// As many bytes as every chip has room for in a sealed object (TPM 2.0 part 2, TPM2B_SENSITIVE_DATA: 128), and not none.
    public static let byteCounts = 1...128
}

import Crypto
public import Foundation
public import SecretMemory

/// Where private keys live and are used: keys never leave it in the clear, and what it seals opens in it alone.
///
/// An enclave decides nothing about people: it opens a key for whoever brings the key's authorization value. That value
/// exists only after the rule's factors were proved (it comes out of a key slot), so "allowed" means "could be computed".
///
/// A store stays with the enclave it was made with. There is no conversion and no fallback: a blob of another kind is
/// refused with ``EnclaveError/wrongKind``.
///
/// Calls block for as long as the enclave needs (microseconds in software, up to a second in a chip); none prompts.
/// Every implementation passes the checks of `EnclaveContract`.
public protocol Enclave: Sendable {
    /// What this enclave is; part of the identity of each key it makes.
    var kind: EnclaveKind { get }

    /// Who can try passcodes against a copy of the store, and how often.
    var guessing: GuessingExposure { get }

    /// Makes a key that opens only with `authorization` and only together with `binding`.
    ///
    /// - Parameter authorization: not empty, not ending in a zero byte; see ``KeyAuthorization``.
    /// - Throws: ``EnclaveError/unsupportedKey`` when this enclave makes no keys of this type. Every enclave makes P-256.
    func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> EnclaveKey

    /// Makes `key` ready for use until the result is released.
    ///
    /// - Throws: ``EnclaveError/wrongKind`` before anything else is looked at, ``EnclaveError/unreadable`` when blob,
    ///   public key or `binding` is not what the key was made with, ``EnclaveError/refused`` when only the
    ///   authorization is wrong.
    func openKey(
        _ key: EnclaveKey, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> any OpenEnclaveKey

    /// Encrypts `secret` so that only this enclave with this `authorization` gives it back. An empty authorization is
    /// allowed: the secret is then sealed to the enclave alone.
    ///
    /// - Parameter context: what the secret is for; needed again, unchanged, to unseal. Not stored readable, not secret.
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

    /// A 32-byte code over `message` that only this enclave can make. Rows and public halves carry one.
    ///
    /// - Parameter label: names the sort of message, so that a code for one sort is never valid for another.
    func authenticationCode(for message: Data, label: String) throws(EnclaveError) -> Data

    /// Encrypts and authenticates a record that is private but no secret, such as an item's attributes.
    func protect(_ record: Data, label: String) throws(EnclaveError) -> Data

    /// Gives back what ``protect(_:label:)`` took.
    ///
    /// - Throws: ``EnclaveError/wrongKind``, or ``EnclaveError/unreadable`` when anything else does not fit.
    func unprotect(_ blob: Data, label: String) throws(EnclaveError) -> Data

    /// A 32-byte keyed digest for columns that are searched by equality: the same for the same input in this store,
    /// and meaningless in any other.
    func digest(_ value: Data, label: String) throws(EnclaveError) -> Data
}

extension Enclave {
    /// Makes a P-256 key.
    public func makeKey(authorization: borrowing SecretBytes, binding: KeyBinding) throws(EnclaveError) -> EnclaveKey {
        try makeKey(.p256, authorization: authorization, binding: binding)
    }

    /// Whether `code` is the authentication code of `message`; takes the same time whichever byte differs.
    public func isValidAuthenticationCode(
        _ code: Data, for message: Data, label: String
    ) throws(EnclaveError) -> Bool {
        guard let expected = PrecomputedDigest(try authenticationCode(for: message, label: label)) else {
            throw .unavailable(code: 0)
        }
        return expected == code  // Between a digest and data the library compares in constant time.
    }
}

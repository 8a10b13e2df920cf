import Crypto
public import Foundation
public import SecretMemory

/// A private key that is ready for use. Anybody who holds it can use it, so drop it when the authorization ends: the
/// enclave then forgets the key.
///
/// An operation that the key's type lacks throws ``EnclaveError/unsupportedKey``.
public protocol OpenEnclaveKey: Sendable {
    /// The same as ``WrappedKey/publicKey``.
    var publicKey: Data { get }

    /// P-256: ECDSA over a digest that the caller computed.
    ///
    /// - Parameter digest: exactly 32 bytes, else ``EnclaveError/invalidDigest``.
    /// - Returns: 64 bytes, `r || s`, each 32 bytes big-endian.
    func signature(forDigest digest: Data) throws(EnclaveError) -> Data

    /// P-256 with an approver (``KeyBinding/approver``): ECDSA over a digest that the owner approved, 64 bytes, `r || s`.
    ///
    /// - Throws: ``EnclaveError/notApproved`` when the approval is of another digest or by another key. Every other operation
    ///   of such a key throws ``EnclaveError/approvalNeeded`` or ``EnclaveError/unsupportedKey``.
    func signature(forDigest digest: Data, approvedBy approval: SignatureApproval) throws(EnclaveError) -> Data

    /// P-256: ECDSA over the SHA-256 digest of `message`, 64 bytes, `r || s`. ML-DSA: over `message` itself, with an empty
    /// context (FIPS 204, algorithm 2).
    func signature(forMessage message: Data) throws(EnclaveError) -> Data

    /// ML-DSA: like ``signature(forMessage:)``, but also signs a context (FIPS 204, algorithm 2). An empty context
    /// equals none. Keys of types without contexts throw ``EnclaveError/unsupportedKey`` for any context.
    ///
    /// - Parameter context: at most 255 bytes, else ``EnclaveError/invalidContext``.
    func signature(forMessage message: Data, context: Data) throws(EnclaveError) -> Data

    /// P-256: the shared value of an ECDH agreement, unprocessed (the X coordinate, SEC 1 section 3.3.1): 32 bytes.
    ///
    /// - Parameter peerKey: 65 bytes, uncompressed X9.63. Anything else, and a point that is not on the curve, is
    ///   ``EnclaveError/invalidPeerKey``.
    func sharedSecret(withPublicKey peerKey: Data) throws(EnclaveError) -> SecretBytes

    /// ML-KEM: the shared secret in an encapsulated key, 32 bytes.
    ///
    /// - Throws: ``EnclaveError/invalidEncapsulation`` for an encapsulated key of another size.
    func sharedSecret(decapsulating encapsulated: Data) throws(EnclaveError) -> SecretBytes
}

extension OpenEnclaveKey {
    public func signature(forDigest digest: Data) throws(EnclaveError) -> Data { throw .unsupportedKey }

    public func signature(
        forDigest digest: Data, approvedBy approval: SignatureApproval
    ) throws(EnclaveError) -> Data {
        throw .unsupportedKey
    }

    public func signature(forMessage message: Data) throws(EnclaveError) -> Data {
        try signature(forDigest: Data(SHA256.hash(data: message)))
    }

    public func signature(forMessage message: Data, context: Data) throws(EnclaveError) -> Data {
        throw .unsupportedKey
    }

    public func sharedSecret(withPublicKey peerKey: Data) throws(EnclaveError) -> SecretBytes { throw .unsupportedKey }

    public func sharedSecret(decapsulating encapsulated: Data) throws(EnclaveError) -> SecretBytes {
        throw .unsupportedKey
    }
}

import Crypto
public import Foundation
public import SecretMemory

/// A private key that is ready for use. Whoever holds it can use it, so drop it when the authorization ends: the
/// enclave then forgets the key.
///
/// What a key's type does not do throws ``EnclaveError/unsupportedKey``.
public protocol OpenEnclaveKey: Sendable {
    /// As in ``WrappedKey/publicKey``.
    var publicKey: Data { get }

    /// P-256: ECDSA over a digest that the caller computed.
    ///
    /// - Parameter digest: exactly 32 bytes, else ``EnclaveError/invalidDigest``.
    /// - Returns: 64 bytes, `r || s`, each 32 bytes big-endian.
    func signature(forDigest digest: Data) throws(EnclaveError) -> Data

    /// P-256: ECDSA over the SHA-256 digest of `message`, 64 bytes, `r || s`. ML-DSA: over `message` itself, with an empty
    /// context (FIPS 204, algorithm 2).
    func signature(forMessage message: Data) throws(EnclaveError) -> Data

    /// ML-DSA: as ``signature(forMessage:)``, for a context, which is part of what is signed (FIPS 204, algorithm 2). An empty
    /// one is none. A key that knows no contexts throws ``EnclaveError/unsupportedKey``, whatever the context.
    ///
    /// - Parameter context: at most 255 bytes, else ``EnclaveError/invalidContext``.
    func signature(forMessage message: Data, context: Data) throws(EnclaveError) -> Data

    /// P-256: the shared value of an ECDH agreement, unprocessed (the X coordinate, SEC 1 section 3.3.1): 32 bytes.
    ///
    /// - Parameter peerKey: 65 bytes, uncompressed X9.63. Anything else, and a point that is not on the curve, is
    ///   ``EnclaveError/invalidPeerKey``.
    func sharedSecret(withPublicKey peerKey: Data) throws(EnclaveError) -> SecretBytes

    /// ML-KEM: the shared secret behind an encapsulated key, 32 bytes.
    ///
    /// - Throws: ``EnclaveError/invalidEncapsulation`` for one of another size.
    func sharedSecret(decapsulating encapsulated: Data) throws(EnclaveError) -> SecretBytes
}

extension OpenEnclaveKey {
    public func signature(forDigest digest: Data) throws(EnclaveError) -> Data { throw .unsupportedKey }

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

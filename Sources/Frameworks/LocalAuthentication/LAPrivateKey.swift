import Cancellations
public import Foundation
import KeyAlgorithms
import OstiaryClient
import SecretMemory
public import Security

/// The private key of a saved right (Apple's `LAPrivateKey`), P-256. It never leaves the daemon's enclave.
///
/// Every operation needs the right to be authorized and otherwise fails with ``LAError/authenticationFailed``
/// (``LAError/cause`` `right.not-authorized`). Input that no authorization could make right is refused before:
/// `errSecParam` (`NSOSStatusErrorDomain`) for an algorithm that does not fit the operation, a digest of a wrong
/// length, a malformed ciphertext or peer key. Nothing prompts.
public final class LAPrivateKey: NSObject, Sendable {
    /// The public half, usable without authorization.
    public let publicKey: LAPublicKey

    let authorization: RightAuthorization
    let rightID: Data

    init(authorization: RightAuthorization, stored: StoredRight) {
        self.authorization = authorization
        rightID = stored.id
        publicKey = LAPublicKey(x963: stored.publicKey)
        super.init()
    }

    // MARK: async

    /// Signs `data`: a message, which is hashed here so that only its digest travels, or a digest, as `algorithm` says.
    @discardableResult
    public func sign(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await BlockingCalls.run { [self] in try signature(of: data, algorithm, $0) }
    }

    /// Decrypts a ciphertext for the public key (ECIES) of at most 1 MiB.
    @discardableResult
    public func decrypt(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try await BlockingCalls.run { [self] in try plaintext(of: data, algorithm, $0) }
    }

    /// Exchanges keys with the holder of another P-256 key (ECDH).
    ///
    /// - Parameters:
    ///   - publicKey: the peer's key, `04 ‖ X ‖ Y`, 65 bytes.
    ///   - parameters: for the algorithms with key derivation, `SecKeyKeyExchangeParameter.requestedSize` (a number of
    ///     bytes, needed) and `.sharedInfo` (data). The keys may be `SecKeyKeyExchangeParameter`, `String` or
    ///     `NSString`.
    @discardableResult
    public func exchangeKeys(
        publicKey: Data, algorithm: SecKeyAlgorithm, parameters: [AnyHashable: Any]
    ) async throws -> Data {
        let parameters = Self.parsed(parameters)
        return try await BlockingCalls.run { [self] in try exchange(publicKey, algorithm, parameters.get(), $0) }
    }

    // MARK: completion handlers

    /// The same as ``sign(_:algorithm:)``.
    public func sign(
        _ data: Data, algorithm: SecKeyAlgorithm, completion: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        BlockingCalls.start({ [self] in try signature(of: data, algorithm, nil) }, completion: completion)
    }

    /// The same as ``decrypt(_:algorithm:)``.
    public func decrypt(
        _ data: Data, algorithm: SecKeyAlgorithm, completion: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        BlockingCalls.start({ [self] in try plaintext(of: data, algorithm, nil) }, completion: completion)
    }

    /// The same as ``exchangeKeys(publicKey:algorithm:parameters:)``.
    public func exchangeKeys(
        publicKey: Data, algorithm: SecKeyAlgorithm, parameters: [AnyHashable: Any],
        completion: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        let parameters = Self.parsed(parameters)
        BlockingCalls.start(
            { [self] in try exchange(publicKey, algorithm, parameters.get(), nil) }, completion: completion)
    }

    // MARK: supported algorithms

    /// Whether the key signs with `algorithm`; says nothing of authorization.
    @discardableResult
    public func canSign(using algorithm: SecKeyAlgorithm) -> Bool { can(.sign, algorithm) }

    /// Whether the key decrypts with `algorithm`; says nothing of authorization.
    @discardableResult
    public func canDecrypt(using algorithm: SecKeyAlgorithm) -> Bool { can(.decrypt, algorithm) }

    /// Whether the key exchanges keys with `algorithm`; says nothing of authorization.
    @discardableResult
    public func canExchangeKeys(using algorithm: SecKeyAlgorithm) -> Bool { can(.keyExchange, algorithm) }

    private func can(_ operation: KeyOperation, _ algorithm: SecKeyAlgorithm) -> Bool {
        algorithm.keyAlgorithm?.supports(operation) ?? false
    }

    // MARK: the operations

    private func signature(
        of data: Data, _ algorithm: SecKeyAlgorithm, _ cancellation: Cancellation?
    ) throws -> Data {
        let algorithm = try algorithm.known()
        guard case .signature(_, let input) = algorithm.kind, let digestForm = algorithm.digestForm else {
            throw KeyAlgorithmError.unsupportedAlgorithm
        }
        let digest = if case .message(let hash) = input { hash.digest(of: data) } else { data }
        _ = try GroupDigest(of: digest, algorithm: digestForm)
        return try authorization.use {
            try $0.sign(digest: digest, right: rightID, algorithm: digestForm.rawValue, cancellation: cancellation)
        }
    }

    private func plaintext(
        of ciphertext: Data, _ algorithm: SecKeyAlgorithm, _ cancellation: Cancellation?
    ) throws -> Data {
        let algorithm = try algorithm.known()
        _ = try ECIES.Envelope(ciphertext, algorithm: algorithm)
        let plaintext = try authorization.use {
            try $0.decrypt(ciphertext, right: rightID, algorithm: algorithm.rawValue, cancellation: cancellation)
        }
        return Data(exposing: plaintext)
    }

    private func exchange(
        _ peer: Data, _ algorithm: SecKeyAlgorithm, _ parameters: KeyExchangeParameters, _ cancellation: Cancellation?
    ) throws -> Data {
        let algorithm = try algorithm.known()
        _ = try KeyExchange(algorithm: algorithm, peer: peer, parameters: parameters)
        let result = try authorization.use {
            try $0.exchange(
                publicKey: peer, right: rightID, algorithm: algorithm.rawValue, requestedSize: parameters.requestedSize,
                sharedInfo: parameters.sharedInfo, cancellation: cancellation)
        }
        return Data(exposing: result)
    }

    /// Reads the parameters on the caller's thread, because the values of an untyped dictionary may not be sent to
    /// another thread.
    private static func parsed(_ parameters: [AnyHashable: Any]) -> Result<KeyExchangeParameters, KeyAlgorithmError> {
        do { return .success(try KeyExchangeParameters(parameters)) } catch { return .failure(error) }
    }
}

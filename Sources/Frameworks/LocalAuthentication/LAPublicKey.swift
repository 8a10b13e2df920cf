public import Foundation
import KeyAlgorithms
import OstiaryClient
public import Security

/// The public key of a saved right (Apple's `LAPublicKey`). Its operations ask nobody and need no authorization; they
/// are computed in this process.
public final class LAPublicKey: NSObject, Sendable {
    private let x963: Data

    init(x963: Data) {
        self.x963 = x963
        super.init()
    }

    // MARK: async

    /// The key: `04 ‖ X ‖ Y`, 65 bytes (ANSI X9.63, uncompressed).
    public var bytes: Data { get async throws { try ErrorTranslation.translating { try exported() } } }

    /// Encrypts for the holder of the private key (ECIES).
    ///
    /// - Throws: `errSecParam` (`NSOSStatusErrorDomain`) for an algorithm that does not encrypt, or for too long a
    ///   plaintext.
    @discardableResult
    public func encrypt(_ data: Data, algorithm: SecKeyAlgorithm) async throws -> Data {
        try ErrorTranslation.translating { try encrypted(data, algorithm) }
    }

    /// Returns when `signature` is one of the private key over `signedData`, and throws otherwise.
    ///
    /// - Throws: `errSecVerifyFailed`, -67808 (`NSOSStatusErrorDomain`), for a signature that does not fit;
    ///   `errSecParam` for an algorithm that does not sign, or for a digest of a wrong length.
    public func verify(_ signedData: Data, signature: Data, algorithm: SecKeyAlgorithm) async throws {
        try ErrorTranslation.translating { try verified(signedData, signature, algorithm) }
    }

    // MARK: completion handlers

    /// The same as ``bytes`` (Apple's `exportBytesWithCompletion:`).
    public func exportBytes(completion: @escaping @Sendable (Data?, (any Error)?) -> Void) {
        BlockingCalls.start({ [self] in try exported() }, completion: completion)
    }

    /// The same as ``encrypt(_:algorithm:)``.
    public func encrypt(
        _ data: Data, algorithm: SecKeyAlgorithm, completion: @escaping @Sendable (Data?, (any Error)?) -> Void
    ) {
        BlockingCalls.start({ [self] in try encrypted(data, algorithm) }, completion: completion)
    }

    /// The same as ``verify(_:signature:algorithm:)``.
    public func verify(
        _ signedData: Data, signature: Data, algorithm: SecKeyAlgorithm,
        completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        BlockingCalls.start({ [self] in try verified(signedData, signature, algorithm) }, completion: completion)
    }

    // MARK: supported algorithms

    /// Whether the key encrypts with `algorithm`.
    @discardableResult
    public func canEncrypt(using algorithm: SecKeyAlgorithm) -> Bool {
        algorithm.keyAlgorithm?.supports(.encrypt) ?? false
    }

    /// Whether the key verifies signatures of `algorithm`.
    @discardableResult
    public func canVerify(using algorithm: SecKeyAlgorithm) -> Bool {
        algorithm.keyAlgorithm?.supports(.verify) ?? false
    }

    // MARK: the operations

    private func key() throws -> P256PublicKey {
        do { return try P256PublicKey(x963: x963) } catch {
            throw OstiaryError(.unexpectedAnswer, "The daemon gave an invalid public key; run `ostiary doctor`.")
        }
    }

    private func exported() throws -> Data { try key().x963 }

    private func encrypted(_ data: Data, _ algorithm: SecKeyAlgorithm) throws -> Data {
        try ECIES.encrypt(data, to: key(), algorithm: algorithm.known())
    }

    private func verified(_ data: Data, _ signature: Data, _ algorithm: SecKeyAlgorithm) throws {
        try ECDSA.verify(signature: signature, of: data, publicKey: key(), algorithm: algorithm.known())
    }
}

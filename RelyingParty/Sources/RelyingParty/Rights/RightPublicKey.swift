import Crypto
public import Foundation

/// The public key of a right that a program saved: the server's half of a sign-in without WebAuthn.
///
/// The program signs the server's challenge with `right.key.sign(challenge, algorithm: .ecdsaSignatureMessageX962SHA256)`.
/// Take the challenge out of its ``ChallengeStore`` before, so that no signature counts twice.
public struct RightPublicKey: Sendable {
    private let key: P256.Signing.PublicKey

    /// - Parameter x963: `04`, x and y, 65 bytes: `right.key.publicKey.bytes`.
    /// - Throws: ``RightSignatureError/invalidKey``.
    public init(x963: Data) throws(RightSignatureError) {
        do { key = try P256.Signing.PublicKey(x963Representation: x963) } catch { throw .invalidKey }
    }

    /// - Parameter pem: the output of `ostiary right public-key`.
    /// - Throws: ``RightSignatureError/invalidKey``.
    public init(pem: String) throws(RightSignatureError) {
        do { key = try P256.Signing.PublicKey(pemRepresentation: pem) } catch { throw .invalidKey }
    }

    public var x963: Data { key.x963Representation }

    /// Verifies an ECDSA signature over the SHA-256 digest of `message`, in DER (X9.62).
    ///
    /// - Throws: ``RightSignatureError/signatureUnreadable``, ``RightSignatureError/signatureInvalid``.
    public func verify(_ signature: Data, of message: Data) throws(RightSignatureError) {
        let decoded: P256.Signing.ECDSASignature
        do {
            decoded = try P256.Signing.ECDSASignature(derRepresentation: signature)
        } catch {
            throw .signatureUnreadable
        }
        guard key.isValidSignature(decoded, for: message) else { throw .signatureInvalid }
    }
}

/// Why a right's signature is refused.
public enum RightSignatureError: Error, Equatable, Sendable {
    /// The bytes or the text are no point of P-256.
    case invalidKey
    /// The signature is not one in DER.
    case signatureUnreadable
    /// The signature is not one of this key over this message.
    case signatureInvalid
}

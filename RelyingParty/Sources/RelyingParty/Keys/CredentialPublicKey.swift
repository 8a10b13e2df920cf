import CanonicalCBOR
import Crypto
import CryptoExtras
public import Foundation
import MLDSA44

/// The public key of a credential. Keep it to spare its decoding when a credential signs often.
public struct CredentialPublicKey: Sendable {
    enum Key: Sendable {
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case p521(P521.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
        case rsa(_RSA.Signing.PublicKey)
        case mlDSA44(MLDSA44PublicKey)
        case mlDSA65(MLDSA65.PublicKey)
        case mlDSA87(MLDSA87.PublicKey)
    }

    public let algorithm: COSEAlgorithm
    let key: Key

    /// Reads a COSE key, as ``CredentialRecord/publicKey`` has it.
    public init(cose: Data) throws(PublicKeyError) {
        let value: CBORValue
        do {
            value = try CBORDecoder.decode([UInt8](cose)[...], .canonical)
        } catch {
            throw .notCBOR(error)
        }
        try self.init(value)
    }

    init(_ value: CBORValue) throws(PublicKeyError) {
        guard let map = value.map else { throw .notMap }
        let parameters = COSEParameters(map: map)
        let number = try parameters.integer(COSEParameters.algorithm)
        guard let algorithm = COSEAlgorithm(rawValue: number) else { throw .unsupportedAlgorithm(number) }
        self.algorithm = algorithm
        key = try parameters.key(algorithm)
    }

    /// Returns whether `signature` is one over `message`. A signature that cannot be read is none.
    func isValid(_ signature: Data, for message: SignedMessage) -> Bool {
        guard signature.count <= Limits.signatureByteCount else { return false }
        switch key {
        case .p256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: message.digest(SHA256.self))
        case .p384(let key):
            guard let signature = try? P384.Signing.ECDSASignature(derRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: message.digest(SHA384.self))
        case .p521(let key):
            guard let signature = try? P521.Signing.ECDSASignature(derRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: message.digest(SHA512.self))
        case .ed25519(let key): return key.isValidSignature(signature, for: message.bytes)
        case .rsa(let key): return RSASignature(signature, algorithm).isValid(message, key)
        case .mlDSA44(let key): return key.isValidSignature(signature, for: message.bytes)
        case .mlDSA65(let key): return key.isValidSignature(signature, for: message.bytes)
        case .mlDSA87(let key): return key.isValidSignature(signature, for: message.bytes)
        }
    }

    /// The point, `04`, x and y, if the key is one on P-256.
    var p256Point: Data? {
        if case .p256(let key) = key { key.x963Representation } else { nil }
    }
}

/// The message that an authenticator signs: its data, then the hash of the client data (WebAuthn Level 3, section 6.3.3).
struct SignedMessage {
    let authenticatorData: ArraySlice<UInt8>
    let clientDataHash: SHA256Digest

    func digest<Hash: HashFunction>(_ hash: Hash.Type) -> Hash.Digest {
        var hash = Hash()
        hash.update(data: authenticatorData)
        unsafe clientDataHash.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        return hash.finalize()
    }

    var bytes: [UInt8] { Array(authenticatorData) + clientDataHash }
}

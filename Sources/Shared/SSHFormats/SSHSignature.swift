import Crypto
import CryptoExtras
public import Foundation

/// A signature as it travels: its name, and the bytes whose form the name says.
public struct SSHSignature: Hashable, Sendable {
    public let name: String
    public let bytes: Data
    /// What stands behind these two: flags and counter of a security key (`PROTOCOL.u2f`). Empty for all others.
    public let rest: Data

    public init(name: String, bytes: Data, rest: Data = Data()) {
        (self.name, self.bytes, self.rest) = (name, bytes, rest)
    }

    /// Reads the form of RFC 4253, section 6.6: two strings. The signatures of security keys are not read.
    public init(blob: Data) throws(SSHFormatError) {
        guard blob.count <= SSHLimits.signatureByteCount else { throw .tooLarge }
        var reader = SSHReader(blob)
        name = try reader.readName()
        bytes = try reader.readString(limit: SSHLimits.signatureByteCount)
        rest = Data()
        try reader.finish()
    }

    /// A signature of a P-256 key.
    ///
    /// - Parameter raw: `r ‖ s`, 64 bytes.
    public init(p256 raw: Data) throws(SSHFormatError) {
        guard raw.count == 64 else { throw .malformed(.signature) }
        (name, rest) = (SSHKeyType.p256.name, Data())
        bytes = SSHWriter.bytes { writer in
            writer.write(positiveInteger: raw.prefix(32))
            writer.write(positiveInteger: raw.suffix(32))
        }
    }

    public var blob: Data {
        SSHWriter.bytes { writer in
            writer.write(text: name)
            writer.write(string: bytes)
            writer.write(fixed: rest)
        }
    }
}

extension SSHPublicKey {
    /// Whether `signature` is this key's over `message`. A certificate's is the key's within.
    ///
    /// Ed25519 (RFC 8709), ECDSA (RFC 5656) and RSA with SHA-256 or SHA-512 (RFC 8332) are known.
    ///
    /// - Throws: ``SSHFormatError`` for a signature of another form or kind. RSA with SHA-1 (`ssh-rsa`) and the signatures of security
    ///   keys are not supported: hosts have better ones.
    public func isValid(_ signature: SSHSignature, of message: Data) throws(SSHFormatError) -> Bool {
        switch (type, material) {
        case (.ed25519, .ed25519(let key)): try isValidEd25519(signature, of: message, key)
        case (.p256, .point(let point)), (.p384, .point(let point)), (.p521, .point(let point)):
            try isValidECDSA(signature, of: message, point)
        case (.rsa, .rsa(let exponent, let modulus)): try isValidRSA(signature, of: message, exponent, modulus)
        default: throw .unsupported(.signatureType)
        }
    }

    private func isValidEd25519(
        _ signature: SSHSignature, of message: Data, _ bytes: Data
    ) throws(SSHFormatError) -> Bool {
        guard signature.name == type.name else { throw .malformed(.signatureType) }
        guard signature.bytes.count == 64 else { throw .malformed(.signature) }
        let key: Curve25519.Signing.PublicKey
        do { key = try Curve25519.Signing.PublicKey(rawRepresentation: bytes) } catch { throw .malformed(.point) }
        return key.isValidSignature(signature.bytes, for: message)
    }

    /// The signature's bytes are two numbers, `r` and `s` (RFC 5656, section 3.1.2).
    private func isValidECDSA(
        _ signature: SSHSignature, of message: Data, _ point: Data
    ) throws(SSHFormatError) -> Bool {
        guard signature.name == type.name, let count = type.fieldByteCount else { throw .malformed(.signatureType) }
        var reader = SSHReader(signature.bytes)
        let numbers = [
            try reader.readPositiveInteger(limit: 8 * count), try reader.readPositiveInteger(limit: 8 * count),
        ]
        try reader.finish()
        guard numbers.allSatisfy({ $0.count <= count }) else { throw .malformed(.signature) }
        let raw = numbers.reduce(into: Data()) { raw, number in
            raw.append(Data(count: count - number.count))
            raw.append(number)
        }
        do {
            return switch type {
            case .p384:
                try P384.Signing.PublicKey(x963Representation: point).isValidSignature(
                    P384.Signing.ECDSASignature(rawRepresentation: raw), for: message)
            case .p521:
                try P521.Signing.PublicKey(x963Representation: point).isValidSignature(
                    P521.Signing.ECDSASignature(rawRepresentation: raw), for: message)
            default:
                try P256.Signing.PublicKey(x963Representation: point).isValidSignature(
                    P256.Signing.ECDSASignature(rawRepresentation: raw), for: message)
            }
        } catch { throw .malformed(.signature) }
    }

    private func isValidRSA(
        _ signature: SSHSignature, of message: Data, _ exponent: Data, _ modulus: Data
    ) throws(SSHFormatError) -> Bool {
        guard ["rsa-sha2-256", "rsa-sha2-512"].contains(signature.name) else { throw .unsupported(.signatureType) }
        // Old programs leave leading zeros out, as OpenSSH knows.
        guard !signature.bytes.isEmpty, signature.bytes.count <= modulus.count else { throw .malformed(.signature) }
        let padded = Data(count: modulus.count - signature.bytes.count) + signature.bytes
        let key: _RSA.Signing.PublicKey
        do { key = try _RSA.Signing.PublicKey(n: modulus, e: exponent) } catch { throw .malformed(.modulus) }
        let parsed = _RSA.Signing.RSASignature(rawRepresentation: padded)
        return signature.name == "rsa-sha2-256"
            ? key.isValidSignature(parsed, for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
            : key.isValidSignature(parsed, for: SHA512.hash(data: message), padding: .insecurePKCS1v1_5)
    }
}

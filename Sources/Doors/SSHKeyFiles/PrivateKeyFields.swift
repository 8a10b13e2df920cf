import Crypto
import Foundation
import RSAKeys
import SSHFormats
import SecretMemory

extension SSHPrivateKey {
    /// Reads a private key as it stands in key files and in requests to an agent (`PROTOCOL.key`; RFC 9987, section 3.2): its type, then
    /// the fields of that type. Of a certificate the key within follows it.
    ///
    /// - Throws: ``KeyFileError``: `damaged`, `mismatch`, `unsupported`.
    package convenience init(fieldsFrom reader: inout SecretReader) throws(KeyFileError) {
        let fields = try PrivateKeyFields(&reader)
        let handle = fields.handle
        self.init(fields.publicKey, fields.kind, secret: fields.secret, handle: handle)
    }
}

/// The parts of a private key, compared with each other.
private struct PrivateKeyFields: ~Copyable {
    let publicKey: SSHPublicKey
    let kind: SSHPrivateKey.Kind
    let secret: SecretBytes
    /// Of a security key alone.
    let handle: SecurityKeyHandle?

    init(_ reader: inout SecretReader) throws(KeyFileError) {
        do { self = try Self.read(&reader) } catch let error as KeyFileError { throw error } catch {
            throw .damaged(error as? SSHFormatError ?? .truncated)
        }
    }

    private init(
        _ publicKey: SSHPublicKey, _ kind: SSHPrivateKey.Kind, _ secret: consuming SecretBytes,
        _ handle: SecurityKeyHandle? = nil
    ) {
        (self.publicKey, self.kind) = (publicKey, kind)
        self.secret = secret
        self.handle = handle
    }

    private static func read(_ reader: inout SecretReader) throws -> PrivateKeyFields {
        let name = try reader.readText(limit: KeyFileLimits.nameByteCount)
        guard let type = SSHKeyType.allCases.first(where: { [$0.name, $0.certificateName].contains(name) }) else {
            throw KeyFileError.unsupported(keyType: name)
        }
        var certificate: SSHPublicKey?
        if name == type.certificateName {
            let read = try SSHPublicKey(blob: reader.readString(limit: SSHLimits.publicKeyByteCount))
            guard read.name == name else { throw KeyFileError.mismatch }
            certificate = read
        }
        switch type {
        case .ed25519: return try readEd25519(&reader, certificate)
        case .p256, .p384, .p521: return try readCurve(&reader, type, certificate)
        case .rsa: return try readRSA(&reader, certificate)
        case .securityKeyEd25519, .securityKeyP256: return try readSecurityKey(&reader, type, certificate)
        }
    }

    /// The public key that the fields name; with a certificate that one, if the key within is the same.
    private static func publicKey(
        _ certificate: SSHPublicKey?, _ type: SSHKeyType, _ write: (inout SSHWriter) -> Void
    ) throws -> SSHPublicKey {
        let plain = try SSHPublicKey(
            blob: SSHWriter.bytes { writer in
                writer.write(text: type.name)
                write(&writer)
            })
        guard let certificate else { return plain }
        guard certificate.isSameKey(as: plain) else { throw KeyFileError.mismatch }
        return certificate
    }

    /// The public key, then 64 bytes: the seed and the public key once more.
    private static func readEd25519(
        _ reader: inout SecretReader, _ certificate: SSHPublicKey?
    ) throws -> PrivateKeyFields {
        let point = try reader.readString(limit: 32)
        let pair = try reader.readSecret(limit: 64)
        guard pair.count == 64 else { throw SSHFormatError.malformed(.number) }
        let key = try publicKey(certificate, .ed25519) { $0.write(string: point) }
        let again = unsafe pair.withUnsafeBytes { unsafe Data($0[32...]) }
        let seed = pair.prefix(32)
        let computed = try unsafe seed.withUnsafeBytes { bytes in
            try unsafe Curve25519.Signing.PrivateKey(rawRepresentation: bytes).publicKey.rawRepresentation
        }
        guard again == point, computed == point else { throw KeyFileError.mismatch }
        return PrivateKeyFields(key, .ed25519, seed)
    }

    private static func readCurve(
        _ reader: inout SecretReader, _ type: SSHKeyType, _ certificate: SSHPublicKey?
    ) throws -> PrivateKeyFields {
        let key: SSHPublicKey
        if let certificate {
            key = certificate
        } else {
            let curve = try reader.readString(limit: KeyFileLimits.nameByteCount)
            let point = try reader.readString(limit: 2 * 66 + 1)
            key = try publicKey(nil, type) { writer in
                writer.write(string: curve)
                writer.write(string: point)
            }
        }
        let (kind, count): (SSHPrivateKey.Kind, Int) =
            switch type {
            case .p384: (.p384, 48)
            case .p521: (.p521, 66)
            default: (.p256, 32)
            }
        let number = try reader.readSecretInteger(limit: 8 * count)
        guard number.count <= count else { throw SSHFormatError.malformed(.number) }
        let padded = SecretBytes(joining: SecretBytes(zeroed: count - number.count), number)
        guard try point(of: kind, padded) == key.x963 else { throw KeyFileError.mismatch }
        return PrivateKeyFields(key, kind, padded)
    }

    /// The point that belongs to a number. A number outside of the curve's order is none of a key.
    private static func point(of kind: SSHPrivateKey.Kind, _ number: borrowing SecretBytes) throws -> Data {
        do {
            return try unsafe number.withUnsafeBytes { bytes in
                switch kind {
                case .p384: try unsafe P384.Signing.PrivateKey(rawRepresentation: bytes).publicKey.x963Representation
                case .p521: try unsafe P521.Signing.PrivateKey(rawRepresentation: bytes).publicKey.x963Representation
                default: try unsafe P256.Signing.PrivateKey(rawRepresentation: bytes).publicKey.x963Representation
                }
            }
        } catch { throw KeyFileError.mismatch }
    }

    /// Modulus and exponent (of a plain key), the private exponent, the coefficient, and the primes.
    private static func readRSA(
        _ reader: inout SecretReader, _ certificate: SSHPublicKey?
    ) throws -> PrivateKeyFields {
        let bits = SSHLimits.modulusBitCount
        let key = try certificate ?? readPublicRSA(&reader)
        let numbers = try RSAPublicNumbers(key)
        let exponent = try reader.readSecretInteger(limit: bits)
        let coefficient = try reader.readSecretInteger(limit: bits)
        let first = try reader.readSecretInteger(limit: bits)
        let second = try reader.readSecretInteger(limit: bits)
        guard numbers.modulus.count * 8 <= RSAKey.bitCounts.upperBound else {
            throw KeyFileError.unsupported(keyType: "\(SSHKeyType.rsa.name) of \(numbers.modulus.count * 8) bits")
        }
        guard
            let pair = RSAKey(
                modulus: numbers.modulus, publicExponent: numbers.exponent, privateExponent: exponent, primes: first,
                second, coefficient: coefficient)
        else { throw KeyFileError.mismatch }
        return PrivateKeyFields(key, .rsa, pair.privateKeyDER)
    }

    private static func readPublicRSA(_ reader: inout SecretReader) throws -> SSHPublicKey {
        let modulus = Data(exposing: try reader.readSecretInteger(limit: SSHLimits.modulusBitCount))
        let exponent = Data(exposing: try reader.readSecretInteger(limit: SSHLimits.modulusBitCount))
        return try publicKey(nil, .rsa) { writer in
            writer.write(positiveInteger: exponent)
            writer.write(positiveInteger: modulus)
        }
    }

    /// The key, its application, flags, handle and a reserved field (`PROTOCOL.u2f`).
    private static func readSecurityKey(
        _ reader: inout SecretReader, _ type: SSHKeyType, _ certificate: SSHPublicKey?
    ) throws -> PrivateKeyFields {
        var fields = SSHWriter()
        if type == .securityKeyEd25519 {
            fields.write(string: try reader.readString(limit: 32))
        } else if certificate == nil {
            fields.write(string: try reader.readString(limit: KeyFileLimits.nameByteCount))
            fields.write(string: try reader.readString(limit: 65))
        }
        fields.write(string: try reader.readString(limit: SSHLimits.applicationByteCount))
        let flags = try reader.readByte()
        let handle = SecurityKeyHandle(
            bytes: try reader.readString(limit: KeyFileLimits.keyHandleByteCount), flags: flags)
        _ = try reader.readString(limit: KeyFileLimits.keyHandleByteCount)
        let key = try certificate ?? publicKey(nil, type) { $0.write(fixed: fields.bytes) }
        return PrivateKeyFields(key, .securityKey, SecretBytes(zeroed: 0), handle)
    }
}

/// The numbers of an RSA key's blob (RFC 4253, section 6.6).
struct RSAPublicNumbers {
    let exponent: Data
    let modulus: Data

    init(_ key: SSHPublicKey) throws(SSHFormatError) {
        var reader = SSHReader(key.plainBlob)
        _ = try reader.readName()
        exponent = try reader.readPositiveInteger(limit: 32)
        modulus = try reader.readPositiveInteger(limit: SSHLimits.modulusBitCount)
    }
}

import Crypto
import CryptoExtras
package import Foundation

/// `TPMT_PUBLIC`: the public part of an object of the TPM.
package struct TPMPublicArea {
    private enum Number {
        static let rsa: UInt64 = 0x0001
        static let ecc: UInt64 = 0x0023
        static let null: UInt64 = 0x0010
        static let ecdaa: UInt64 = 0x001A
        static let sha1: UInt64 = 0x0004
        static let sha256: UInt64 = 0x000B
        static let sha384: UInt64 = 0x000C
        static let sha512: UInt64 = 0x000D
    }

    private enum Key {
        case rsa(modulus: ArraySlice<UInt8>, exponent: UInt64)
        case point(curve: UInt64, x: ArraySlice<UInt8>, y: ArraySlice<UInt8>)
    }

    /// The number of the name's hash, and the hash of the whole area.
    package let name: [UInt8]
    private let key: Key

    package init(_ bytes: ArraySlice<UInt8>) throws(AttestationError) {
        var reader = TPMReader(bytes, .pubArea)
        let type = try reader.number(2)
        let nameAlgorithm = try reader.number(2)
        // Attributes, and the digest of a policy.
        _ = try reader.number(4)
        _ = try reader.string()
        switch type {
        case Number.rsa: key = try Self.rsa(&reader)
        case Number.ecc: key = try Self.point(&reader)
        default: throw .tpmStatement(.keyType)
        }
        try reader.requireEnd()
        name = try Self.name(of: bytes, nameAlgorithm)
    }

    private static func name(of bytes: ArraySlice<UInt8>, _ algorithm: UInt64) throws(AttestationError) -> [UInt8] {
        let digest: [UInt8] =
            switch algorithm {
            case Number.sha1: Array(Insecure.SHA1.hash(data: bytes))
            case Number.sha256: Array(SHA256.hash(data: bytes))
            case Number.sha384: Array(SHA384.hash(data: bytes))
            case Number.sha512: Array(SHA512.hash(data: bytes))
            default: throw .tpmStatement(.nameAlgorithm)
            }
        return [UInt8(algorithm >> 8), UInt8(algorithm & 0xFF)] + digest
    }

    /// An optional cipher for objects below this one: its number, and unless that is none, key size and mode.
    private static func skipSymmetric(_ reader: inout TPMReader) throws(AttestationError) {
        if try reader.number(2) != Number.null { _ = try reader.take(4) }
    }

    /// An optional scheme: its number, and unless that is none, a hash; ECDAA has a count too.
    private static func skipScheme(_ reader: inout TPMReader) throws(AttestationError) {
        let scheme = try reader.number(2)
        if scheme != Number.null { _ = try reader.take(scheme == Number.ecdaa ? 4 : 2) }
    }

    private static func rsa(_ reader: inout TPMReader) throws(AttestationError) -> Key {
        try skipSymmetric(&reader)
        try skipScheme(&reader)
        _ = try reader.number(2)
        let exponent = try reader.number(4)
        // Zero stands for 65,537.
        return .rsa(modulus: try reader.string(), exponent: exponent == 0 ? 65537 : exponent)
    }

    private static func point(_ reader: inout TPMReader) throws(AttestationError) -> Key {
        try skipSymmetric(&reader)
        try skipScheme(&reader)
        let curve = try reader.number(2)
        try skipScheme(&reader)
        return .point(curve: curve, x: try reader.string(), y: try reader.string())
    }

    /// A point of P-256, `04`, x and y; nil for another key, and for numbers that are no point.
    package var p256Point: Data? {
        guard let point = point(ofCurve: 3, byteCount: 32) else { return nil }
        return try? P256.Signing.PublicKey(x963Representation: point).x963Representation
    }

    /// The same for P-384.
    package var p384Point: Data? {
        guard let point = point(ofCurve: 4, byteCount: 48) else { return nil }
        return try? P384.Signing.PublicKey(x963Representation: point).x963Representation
    }

    private func point(ofCurve number: UInt64, byteCount: Int) -> [UInt8]? {
        guard case .point(number, let x, let y) = key, x.count <= byteCount, y.count <= byteCount else { return nil }
        return [0x04] + Self.padded(x, byteCount: byteCount) + Self.padded(y, byteCount: byteCount)
    }

    /// The modulus of an RSA key with the exponent 65,537; nil for another key.
    package var modulus: ArraySlice<UInt8>? {
        guard case .rsa(let modulus, 65537) = key else { return nil }
        return modulus
    }

    private static func padded(_ number: ArraySlice<UInt8>, byteCount: Int) -> [UInt8] {
        [UInt8](repeating: 0, count: max(0, byteCount - number.count)) + number
    }

    /// Requires that the object is the credential's key.
    func requireKey(_ publicKey: CredentialPublicKey) throws(AttestationError) {
        switch (key, publicKey.key) {
        case (.point(3, let x, let y), .p256(let key)): try require(key.rawRepresentation, x, y, byteCount: 32)
        case (.point(4, let x, let y), .p384(let key)): try require(key.rawRepresentation, x, y, byteCount: 48)
        case (.point(5, let x, let y), .p521(let key)): try require(key.rawRepresentation, x, y, byteCount: 66)
        case (.rsa(let modulus, let exponent), .rsa(let key)):
            guard let numbers = try? key.getKeyPrimitives(), numbers.modulus.elementsEqual(modulus),
                numbers.publicExponent.reduce(UInt64(0), { $0 << 8 | UInt64($1) }) == exponent
            else { throw .keyMismatch }
        default: throw .keyMismatch
        }
    }

    /// Both coordinates, which a TPM may send without leading zeros.
    private func require(
        _ point: Data, _ x: ArraySlice<UInt8>, _ y: ArraySlice<UInt8>, byteCount: Int
    ) throws(AttestationError) {
        guard
            point.elementsEqual(Self.padded(x, byteCount: byteCount) + Self.padded(y, byteCount: byteCount))
        else { throw .keyMismatch }
    }
}

import CanonicalCBOR
import Crypto
import CryptoExtras
import Foundation
import MLDSA44

/// The parameters of a COSE key by label.
struct COSEParameters {
    static let keyType = 1
    static let algorithm = 3
    static let curve = -1
    static let x = -2
    static let y = -3
    static let modulus = -1
    static let exponent = -2
    /// The key of an "algorithm key pair", whose kind the algorithm alone tells.
    static let publicKey = -1

    let map: CBORMap

    func integer(_ label: Int) throws(PublicKeyError) -> Int {
        guard let value = map[label] else { throw .missing(label: label) }
        guard let integer = value.integer else { throw .mistyped(label: label) }
        return integer
    }

    private func bytes(_ label: Int, count: Int) throws(PublicKeyError) -> ArraySlice<UInt8> {
        let bytes = try bytes(label)
        guard bytes.count == count else { throw .length(label: label, bytes.count) }
        return bytes
    }

    private func bytes(_ label: Int) throws(PublicKeyError) -> ArraySlice<UInt8> {
        guard let value = map[label] else { throw .missing(label: label) }
        guard let bytes = value.bytes else { throw .mistyped(label: label) }
        return bytes
    }

    private func require(_ label: Int, is expected: Int) throws(PublicKeyError) {
        guard try integer(label) == expected else { throw .mismatch(label: label) }
    }

    /// WebAuthn allows no parameter besides the key's own and the algorithm (section 5.8.5).
    private func requireOnly(_ labels: Set<Int>) throws(PublicKeyError) {
        for entry in map.entries {
            guard let label = entry.key.integer, labels.contains(label) else {
                throw .unexpected(label: entry.key.integer)
            }
        }
    }

    func key(_ algorithm: COSEAlgorithm) throws(PublicKeyError) -> CredentialPublicKey.Key {
        switch algorithm {
        case .es256: .p256(try point(curve: 1, byteCount: 32) { try P256.Signing.PublicKey(x963Representation: $0) })
        case .es384: .p384(try point(curve: 2, byteCount: 48) { try P384.Signing.PublicKey(x963Representation: $0) })
        case .es512: .p521(try point(curve: 3, byteCount: 66) { try P521.Signing.PublicKey(x963Representation: $0) })
        case .edDSA: .ed25519(try ed25519())
        case .rs256, .ps256, .ps384, .ps512: .rsa(try rsa())
        case .mlDSA44:
            .mlDSA44(
                try pair(byteCount: MLDSA44PublicKey.byteCount) {
                    guard let key = MLDSA44PublicKey(rawRepresentation: $0) else { throw PublicKeyError.invalidKey }
                    return key
                })
        case .mlDSA65: .mlDSA65(try pair(byteCount: 1952) { try MLDSA65.PublicKey(rawRepresentation: $0) })
        case .mlDSA87: .mlDSA87(try pair(byteCount: 2592) { try MLDSA87.PublicKey(rawRepresentation: $0) })
        }
    }

    private func point<Key>(
        curve: Int, byteCount: Int, _ make: ([UInt8]) throws -> Key
    ) throws(PublicKeyError) -> Key {
        try require(Self.keyType, is: 2)
        try require(Self.curve, is: curve)
        let (x, y) = (try bytes(Self.x, count: byteCount), try bytes(Self.y, count: byteCount))
        try requireOnly([Self.keyType, Self.algorithm, Self.curve, Self.x, Self.y])
        do { return try make([0x04] + x + y) } catch { throw .invalidKey }
    }

    private func ed25519() throws(PublicKeyError) -> Curve25519.Signing.PublicKey {
        try require(Self.keyType, is: 1)
        try require(Self.curve, is: 6)
        let x = try bytes(Self.x, count: 32)
        try requireOnly([Self.keyType, Self.algorithm, Self.curve, Self.x])
        do { return try Curve25519.Signing.PublicKey(rawRepresentation: x) } catch { throw .invalidKey }
    }

    /// A key of the kind "algorithm key pair" (COSE, ML-DSA): its bytes in the form of FIPS 204.
    private func pair<Key>(byteCount: Int, _ make: (Data) throws -> Key) throws(PublicKeyError) -> Key {
        try require(Self.keyType, is: 7)
        let key = Data(try bytes(Self.publicKey, count: byteCount))
        try requireOnly([Self.keyType, Self.algorithm, Self.publicKey])
        do { return try make(key) } catch { throw .invalidKey }
    }

    private func rsa() throws(PublicKeyError) -> _RSA.Signing.PublicKey {
        try require(Self.keyType, is: 3)
        let modulus = try bytes(Self.modulus)
        guard Limits.rsaModulusByteCount.contains(modulus.count) else {
            throw .length(label: Self.modulus, modulus.count)
        }
        let exponent = try bytes(Self.exponent)
        guard (1...4).contains(exponent.count) else { throw .length(label: Self.exponent, exponent.count) }
        try requireOnly([Self.keyType, Self.algorithm, Self.modulus, Self.exponent])
        // The shortest form (RFC 8230, section 4), and an odd exponent above one.
        guard modulus.first != 0, exponent.first != 0, exponent.last.map({ $0 % 2 == 1 }) == true,
            Array(exponent) != [1]
        else { throw .invalidKey }
        do { return try _RSA.Signing.PublicKey(n: Array(modulus), e: Array(exponent)) } catch { throw .invalidKey }
    }
}

import Crypto
import CryptoExtras
import Foundation
import MLDSA44Signing
import RelyingParty

/// A private key of each algorithm.
enum TestKey {
    case p256(P256.Signing.PrivateKey)
    case p384(P384.Signing.PrivateKey)
    case p521(P521.Signing.PrivateKey)
    case ed25519(Curve25519.Signing.PrivateKey)
    case rsa(_RSA.Signing.PrivateKey, COSEAlgorithm)
    case mlDSA44(MLDSA44PrivateKey)
    case mlDSA65(MLDSA65.PrivateKey)
    case mlDSA87(MLDSA87.PrivateKey)

    /// The algorithms that certificates can have keys for.
    static let certified: [COSEAlgorithm] = [.es256, .edDSA, .es384, .es512, .ps256, .ps384, .ps512, .rs256]

    init(_ algorithm: COSEAlgorithm) throws {
        self =
            switch algorithm {
            case .es256: .p256(P256.Signing.PrivateKey())
            case .es384: .p384(P384.Signing.PrivateKey())
            case .es512: .p521(P521.Signing.PrivateKey())
            case .edDSA: .ed25519(Curve25519.Signing.PrivateKey())
            case .rs256, .ps256, .ps384, .ps512:
                .rsa(try _RSA.Signing.PrivateKey(keySize: .bits2048), algorithm)
            case .mlDSA44: .mlDSA44(MLDSA44PrivateKey())
            case .mlDSA65: .mlDSA65(try MLDSA65.PrivateKey())
            case .mlDSA87: .mlDSA87(try MLDSA87.PrivateKey())
            }
    }

    var algorithm: COSEAlgorithm {
        switch self {
        case .p256: .es256
        case .p384: .es384
        case .p521: .es512
        case .ed25519: .edDSA
        case .rsa(_, let algorithm): algorithm
        case .mlDSA44: .mlDSA44
        case .mlDSA65: .mlDSA65
        case .mlDSA87: .mlDSA87
        }
    }

    /// The parameters of the COSE key by label, in the order of CTAP 2.
    var parameters: [(Int, CBORItem)] {
        switch self {
        case .p256(let key): Self.point(-7, 1, Array(key.publicKey.rawRepresentation))
        case .p384(let key): Self.point(-35, 2, Array(key.publicKey.rawRepresentation))
        case .p521(let key): Self.point(-36, 3, Array(key.publicKey.rawRepresentation))
        case .ed25519(let key):
            [
                (1, .number(1)), (3, .number(-8)), (-1, .number(6)),
                (-2, .bytes(Array(key.publicKey.rawRepresentation))),
            ]
        case .rsa(let key, let algorithm): Self.rsa(key, algorithm.rawValue)
        case .mlDSA44(let key): Self.pair(-48, key.publicKey)
        case .mlDSA65(let key): Self.pair(-49, key.publicKey.rawRepresentation)
        case .mlDSA87(let key): Self.pair(-50, key.publicKey.rawRepresentation)
        }
    }

    private static func point(_ algorithm: Int, _ curve: Int, _ point: [UInt8]) -> [(Int, CBORItem)] {
        [
            (1, .number(2)), (3, .number(algorithm)), (-1, .number(curve)),
            (-2, .bytes(Array(point.prefix(point.count / 2)))), (-3, .bytes(Array(point.suffix(point.count / 2)))),
        ]
    }

    private static func pair(_ algorithm: Int, _ key: Data) -> [(Int, CBORItem)] {
        [(1, .number(7)), (3, .number(algorithm)), (-1, .bytes(Array(key)))]
    }

    private static func rsa(_ key: _RSA.Signing.PrivateKey, _ algorithm: Int) -> [(Int, CBORItem)] {
        guard let numbers = try? key.publicKey.getKeyPrimitives() else { return [] }
        return [
            (1, .number(3)), (3, .number(algorithm)), (-1, .bytes(Array(numbers.modulus))),
            (-2, .bytes(Array(numbers.publicExponent))),
        ]
    }

    var cose: [UInt8] { CBORItem.map(parameters.map { (.number($0.0), $0.1) }).encoded }

    func sign(_ message: [UInt8]) throws -> [UInt8] {
        switch self {
        case .p256(let key): try Array(key.signature(for: message).derRepresentation)
        case .p384(let key): try Array(key.signature(for: message).derRepresentation)
        case .p521(let key): try Array(key.signature(for: message).derRepresentation)
        case .ed25519(let key): try Array(key.signature(for: message))
        case .rsa(let key, .ps256): try Array(key.signature(for: SHA256.hash(data: message)).rawRepresentation)
        case .rsa(let key, .ps384): try Array(key.signature(for: SHA384.hash(data: message)).rawRepresentation)
        case .rsa(let key, .ps512): try Array(key.signature(for: SHA512.hash(data: message)).rawRepresentation)
        case .rsa(let key, _):
            try Array(
                key.signature(for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5).rawRepresentation)
        case .mlDSA44(let key): Array(key.signature(for: message))
        case .mlDSA65(let key): try Array(key.signature(for: message))
        case .mlDSA87(let key): try Array(key.signature(for: message))
        }
    }
}

package import CanonicalCBOR
import Crypto
import Foundation

/// Public P-256 keys as COSE writes them (RFC 9053).
package enum COSEKey {
    /// ECDSA with SHA-256 (RFC 9053, 2.1).
    package static let es256 = -7
    /// What key agreement of CTAP names, though it uses another derivation (CTAP 2.1, 6.5.6).
    static let keyAgreement = -25

    static func value(_ key: P256.KeyAgreement.PublicKey) -> CBORValue {
        value(point: [UInt8](key.rawRepresentation), algorithm: keyAgreement)
    }

    /// - Parameter point: the coordinates, 32 bytes each.
    package static func value(signing point: [UInt8]) -> CBORValue { value(point: point, algorithm: es256) }

    private static func value(point: [UInt8], algorithm: Int) -> CBORValue {
        .map([
            1: .number(2), 3: .number(algorithm), -1: .number(1), -2: .bytes(Array(point.prefix(32))),
            -3: .bytes(Array(point.suffix(32))),
        ])
    }

    /// The key of a client's half of a key agreement.
    ///
    /// - Throws: ``CTAPStatus/invalidParameter``, also for a point that is not on the curve.
    static func keyAgreementKey(_ map: CBORMap) throws(CTAPStatus) -> P256.KeyAgreement.PublicKey {
        let parameters = Parameters(map)
        let type = try parameters.required(1, \.integer)
        let algorithm = try parameters.required(3, \.integer)
        let curve = try parameters.required(-1, \.integer)
        let (x, y) = (try parameters.required(-2, \.byteArray), try parameters.required(-3, \.byteArray))
        guard type == 2, algorithm == keyAgreement, curve == 1, x.count == 32, y.count == 32 else {
            throw .invalidParameter
        }
        do {
            return try P256.KeyAgreement.PublicKey(rawRepresentation: x + y)
        } catch {
            throw .invalidParameter
        }
    }
}

package import Foundation
package import KeyAlgorithms

/// A public key of a curve. Also the public half of an enclave key.
package final class SoftwareECPublicKey<Curve: EllipticCurve>: KeyBacking {
    package let key: ECPublicKey<Curve>

    package init(_ key: ECPublicKey<Curve>) {
        self.key = key
    }

    package var keyType: KeyType { .ellipticCurve }
    package var keyClass: KeyClass { .publicKey }
    package var sizeInBits: Int { Curve.bitCount }
    package var summary: String { "EC public key, \(sizeInBits) bits" }

    package var attributes: [String: Any] { SoftwareKeyAttributes.all(of: self, publicKey: key.x963, bytes: key.x963) }

    package func externalRepresentation() throws -> Data { key.x963 }

    package func publicKey() throws -> any KeyBacking { self }

    package func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool {
        switch algorithm.kind {
        case .signature(.x962, .digest(nil)): operation == .verify
        case .encryption: operation == .encrypt
        default: false
        }
    }

    package func verify(_ signature: Data, of input: Data, algorithm: KeyAlgorithm) throws {
        try ECDSA.verify(signature: signature, of: input, publicKey: key, algorithm: algorithm)
    }

    package func encrypt(_ plaintext: Data, algorithm: KeyAlgorithm) throws -> Data {
        try ECIES.encrypt(plaintext, to: key, algorithm: algorithm, limit: .max)
    }

    package func isSame(as other: any KeyBacking) -> Bool {
        (other as? SoftwareECPublicKey).map { $0.key == key } ?? false
    }
}

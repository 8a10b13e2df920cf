import Crypto
package import Foundation
package import KeyAlgorithms
package import SecretMemory

/// A private key of a curve that this process holds.
package final class SoftwareECPrivateKey<Curve: EllipticCurve>: KeyBacking {
    private let signingKey: Curve.SigningKey
    private let agreementKey: Curve.AgreementKey
    private let publicHalf: SoftwareECPublicKey<Curve>

    /// A fresh key pair.
    convenience init() throws {
        try self.init(Curve.SigningKey(compactRepresentable: false))
    }

    /// Reads `04 ‖ X ‖ Y ‖ K`. Refuses a public half that does not belong to the private one.
    convenience init(x963: Data) throws {
        try self.init(Curve.SigningKey(x963Representation: x963))
    }

    private init(_ key: Curve.SigningKey) throws {
        signingKey = key
        var bytes = key.x963Representation
        defer { bytes.wipe() }
        agreementKey = try Curve.AgreementKey(x963Representation: bytes)
        publicHalf = SoftwareECPublicKey(ECPublicKey(key.publicKey))
    }

    package var keyType: KeyType { .ellipticCurve }
    package var keyClass: KeyClass { .privateKey }
    package var sizeInBits: Int { Curve.bitCount }
    package var summary: String { "EC private key, \(sizeInBits) bits" }

    package var attributes: [String: Any] {
        SoftwareKeyAttributes.all(of: self, publicKey: publicHalf.key.x963, bytes: signingKey.x963Representation)
    }

    package func externalRepresentation() throws -> Data { signingKey.x963Representation }

    package func publicKey() throws -> any KeyBacking { publicHalf }

    package func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool {
        switch algorithm.kind {
        case .signature(.x962, .digest(nil)): operation == .sign
        case .encryption: operation == .decrypt
        case .keyExchange: operation == .keyExchange
        default: false
        }
    }

    package func signature(of input: Data, algorithm: KeyAlgorithm) throws -> Data {
        let digest = try CheckedDigest(of: input, algorithm: algorithm)
        do { return try signingKey.signature(for: digest).derRepresentation } catch {
            throw KeyAlgorithmError.computationFailed
        }
    }

    package func decrypt(_ ciphertext: Data, algorithm: KeyAlgorithm) throws -> SecretBytes {
        let envelope = try ECIESEnvelope<Curve>(ciphertext, algorithm: algorithm, limit: .max)
        return try envelope.open(sharedSecret: agreementKey.sharedSecret(with: envelope.ephemeralKey))
    }

    package func exchange(
        with peer: Data, algorithm: KeyAlgorithm, parameters: KeyExchangeParameters
    ) throws -> SecretBytes {
        let exchange = try ECKeyExchange<Curve>(algorithm: algorithm, peer: peer, parameters: parameters)
        return try exchange.result(sharedSecret: agreementKey.sharedSecret(with: exchange.peer))
    }

    package func isSame(as other: any KeyBacking) -> Bool {
        // One public half belongs to one private half.
        (other as? SoftwareECPrivateKey).map { $0.publicHalf.key == publicHalf.key } ?? false
    }
}

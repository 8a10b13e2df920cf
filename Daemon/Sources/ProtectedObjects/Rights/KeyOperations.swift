import Enclave
import Foundation
import KeyAlgorithms
package import OstiaryMessages
package import Refusals
package import SecretMemory

/// The operations of an opened right's key. Inputs are checked before the key is used.
package enum KeyOperations {
    /// ML-DSA over a message, in the form of Apple's names.
    static let messageOfMLDSA = "algid:sign:ML-DSA:message"
    /// The same for a context. A name of its own, so that nothing that knows of no contexts signs without the one that is
    /// meant.
    static let messageOfMLDSAInContext = "algid:sign:ML-DSA:message:context"
    /// The longest digest.
    private static let digestByteCount = 64
    /// The longest context (FIPS 204).
    private static let contextByteCount = 255

    /// Refuses a digest or context that is none, before anything else is looked at.
    package static func requireSize(of input: borrowing SecretBytes, _ request: WireSignRequest) throws(Refusal) {
        let takesMessage = [messageOfMLDSA, messageOfMLDSAInContext].contains(request.algorithm)
        guard takesMessage || input.count <= digestByteCount else {
            throw Refusal(.tooLarge, "The request is too large; it may carry at most \(digestByteCount) bytes.")
        }
        guard request.signatureContext.isEmpty || request.algorithm == messageOfMLDSAInContext else {
            throw Refusal(.invalidParameter, "Only ML-DSA signs for a context.", cause: "key.parameter")
        }
        guard request.signatureContext.count <= contextByteCount else { throw contextTooLong }
    }

    package static let contextTooLong = Refusal(
        .invalidParameter, "The context of a signature has at most \(contextByteCount) bytes.", cause: "key.parameter")

    package static func sign(_ request: WireSignRequest, input: borrowing SecretBytes, with right: OpenedRight) throws
        -> SecretBytes
    {
        switch request.algorithm {
        case messageOfMLDSA:
            try requireMLDSA(right)
            return SecretBytes(try right.key.signature(forMessage: Data(exposing: input)))
        case messageOfMLDSAInContext:
            try requireMLDSA(right)
            return SecretBytes(
                try right.key.signature(forMessage: Data(exposing: input), context: request.signatureContext))
        default: return try sign(request, digest: input, with: right)
        }
    }

    private static func requireMLDSA(_ right: OpenedRight) throws(KeyAlgorithmError) {
        guard [.mlDSA65, .mlDSA87].contains(right.keyType) else { throw .unsupportedAlgorithm }
    }

    private static func sign(
        _ request: WireSignRequest, digest: borrowing SecretBytes, with right: OpenedRight
    ) throws -> SecretBytes {
        let algorithm = try algorithm(request.algorithm, for: .sign)
        guard algorithm.digestForm == algorithm else { throw KeyAlgorithmError.unsupportedAlgorithm }
        let digest = try GroupDigest(of: Data(exposing: digest), algorithm: algorithm)
        let signature = try right.key.signature(forDigest: digest.bytes)
        return SecretBytes(try ECDSA.encode(rawSignature: signature, for: algorithm))
    }

    package static func decrypt(
        _ request: WireDecryptRequest, ciphertext: borrowing SecretBytes, with right: OpenedRight
    ) throws -> SecretBytes {
        let algorithm = try algorithm(request.algorithm, for: .decrypt)
        let envelope = try ECIES.Envelope(Data(exposing: ciphertext), algorithm: algorithm)
        let shared = try right.key.sharedSecret(withPublicKey: envelope.ephemeralKey.x963)
        return try envelope.open(sharedSecret: shared)
    }

    package static func exchange(_ request: WireExchangeRequest, with right: OpenedRight) throws -> SecretBytes {
        let algorithm = try algorithm(request.algorithm, for: .keyExchange)
        let parameters = KeyExchangeParameters(
            requestedSize: request.requestedSize == 0 ? nil : Int(request.requestedSize), sharedInfo: request.sharedInfo
        )
        let exchange = try KeyExchange(algorithm: algorithm, peer: request.peerPublicKey, parameters: parameters)
        let shared = try right.key.sharedSecret(withPublicKey: exchange.peer.x963)
        return try exchange.result(sharedSecret: shared)
    }

    private static func algorithm(_ name: String, for operation: KeyOperation) throws -> KeyAlgorithm {
        guard let algorithm = KeyAlgorithm(rawValue: name), algorithm.supports(operation) else {
            throw KeyAlgorithmError.unsupportedAlgorithm
        }
        return algorithm
    }
}

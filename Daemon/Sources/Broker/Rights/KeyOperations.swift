import Enclave
import Foundation
import KeyAlgorithms
import OstiaryWire
import SecretMemory

/// What an opened right's key does. Inputs are checked before the key is touched.
enum KeyOperations {
    static func sign(_ request: WireSignRequest, digest: borrowing SecretBytes, with right: OpenedRight) throws -> SecretBytes {
        let algorithm = try algorithm(request.algorithm, for: .sign)
        guard algorithm.digestForm == algorithm else { throw KeyAlgorithmError.unsupportedAlgorithm }
        let digest = try GroupDigest(of: Data(exposing: digest), algorithm: algorithm)
        let signature = try right.key.signature(forDigest: digest.bytes)
        return SecretBytes(try ECDSA.encode(rawSignature: signature, for: algorithm))
    }

    static func decrypt(
        _ request: WireDecryptRequest, ciphertext: borrowing SecretBytes, with right: OpenedRight
    ) throws -> SecretBytes {
        let algorithm = try algorithm(request.algorithm, for: .decrypt)
        let envelope = try ECIES.Envelope(Data(exposing: ciphertext), algorithm: algorithm)
        let shared = try right.key.sharedSecret(withPublicKey: envelope.ephemeralKey.x963)
        return try envelope.open(sharedSecret: shared)
    }

    static func exchange(_ request: WireExchangeRequest, with right: OpenedRight) throws -> SecretBytes {
        let algorithm = try algorithm(request.algorithm, for: .keyExchange)
        let parameters = KeyExchangeParameters(
            requestedSize: request.requestedSize == 0 ? nil : Int(request.requestedSize), sharedInfo: request.sharedInfo)
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

public import Crypto
public import Foundation
public import SecretMemory

/// A key exchange whose inputs were checked, before anybody is asked for a factor. The private operation stays outside:
///
///     let exchange = try KeyExchange(algorithm: algorithm, peer: bytes, parameters: parameters)
///     let secret = try enclave.sharedSecret(exchange.peer.x963)
///     let result = try exchange.result(sharedSecret: secret)
public struct ECKeyExchange<Curve: EllipticCurve>: Sendable {
    /// The peer's point, to be multiplied with the private key.
    public let peer: ECPublicKey<Curve>
    private let derivation: Derivation?

    private struct Derivation {
        let hash: HashAlgorithm
        let byteCount: Int
        let sharedInfo: Data
    }

    /// Checks an exchange with the key whose X9.63 form (65 bytes on P-256) is `peer`.
    ///
    /// The raw algorithms ignore the parameters. The ones with key derivation need a requested size from 1 to
    /// ``KeyAlgorithmLimits/keyExchangeResult``; the shared info is hashed unchanged (unlike ECIES, which puts bytes
    /// before it). Throws ``KeyAlgorithmError/unsupportedAlgorithm`` or ``KeyAlgorithmError/invalidParameter(_:)``.
    public init(
        algorithm: KeyAlgorithm, peer: Data, parameters: KeyExchangeParameters = KeyExchangeParameters()
    ) throws(KeyAlgorithmError) {
        guard case .keyExchange(let kdf, _) = algorithm.kind else { throw .unsupportedAlgorithm }
        self.peer = try ECPublicKey<Curve>(x963: peer)
        derivation = if let kdf { try Self.derivation(hash: kdf, parameters: parameters) } else { nil }
    }

    /// The result of the exchange, out of the raw shared secret (32 bytes on P-256) of the private key and ``peer``.
    ///
    /// Throws ``KeyAlgorithmError/computationFailed`` if the shared secret has another length.
    public func result(sharedSecret: borrowing SecretBytes) throws(KeyAlgorithmError) -> SecretBytes {
        try sharedSecret.requireSharedSecretLength(of: Curve.self)
        guard let derivation else { return SecretBytes(copying: sharedSecret) }
        return X963KDF.derive(
            derivation.byteCount, from: sharedSecret, sharedInfo: derivation.sharedInfo, hash: derivation.hash)
    }

    private static func derivation(
        hash: HashAlgorithm, parameters: KeyExchangeParameters
    ) throws(KeyAlgorithmError) -> Derivation {
        guard let size = parameters.requestedSize, 1...KeyAlgorithmLimits.keyExchangeResult ~= size else {
            throw .invalidParameter(.requestedSize)
        }
        guard parameters.sharedInfo.count <= KeyAlgorithmLimits.sharedInfo else {
            throw .invalidParameter(.sharedInfo)
        }
        return Derivation(hash: hash, byteCount: size, sharedInfo: parameters.sharedInfo)
    }
}

/// A key exchange with a key of the enclave's curve.
public typealias KeyExchange = ECKeyExchange<P256>

/// The entries of `SecKeyKeyExchangeParameter`.
public struct KeyExchangeParameters: Hashable, Sendable {
    /// Length of the result in bytes; the algorithms with key derivation need it.
    public var requestedSize: Int?
    /// Bytes that both sides mix into the result.
    public var sharedInfo: Data

    public init(requestedSize: Int? = nil, sharedInfo: Data = Data()) {
        self.requestedSize = requestedSize
        self.sharedInfo = sharedInfo
    }
}

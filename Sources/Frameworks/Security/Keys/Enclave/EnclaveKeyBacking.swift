import AccessControl
import Crypto
package import Foundation
package import KeyAlgorithms
package import OstiaryClient
package import SecretMemory

/// A P-256 private key of the enclave. Its operations run in the daemon and may ask the person.
package final class EnclaveKeyBacking: KeyBacking {
    package let key: EnclaveKey
    private let use: EnclaveKeyUse
    private let publicHalf: SoftwareECPublicKey<P256>
    private let transient: TransientKey?

    /// Refuses a public key that is no point of the curve with `errSecDecode`.
    ///
    /// - Parameter transient: ends the key with this object, unless its handle is read before.
    init(
        _ key: EnclaveKey, _ authentication: ItemAuthentication, transient: TransientKey? = nil
    ) throws(StatusError) {
        guard key.kind == .p256, let point = try? ECPublicKey<P256>(x963: key.publicKey) else {
            throw StatusError(errSecDecode, "A SecKey cannot stand for this enclave key.")
        }
        self.key = key
        use = EnclaveKeyUse(key, authentication)
        publicHalf = SoftwareECPublicKey(point)
        self.transient = transient
    }

    package var keyType: KeyType { .ellipticCurve }
    package var keyClass: KeyClass { .privateKey }
    package var sizeInBits: Int { P256.bitCount }
    package var summary: String { "EC private key, \(sizeInBits) bits, in the enclave" }

    /// The handle is among them, by which the key can be found again: from now on it stays.
    package var attributes: [String: Any] {
        transient?.keep()
        var attributes: [String: Any] = key.itemAttributes.mapValues(\.object)
        attributes[kSecClass as String] = kSecClassKey as String
        attributes[kSecAttrAccessControl as String] = accessControl
        attributes[kSecAttrTokenOID as String] = EnclaveKeyHandle(keyID: key.id).bytes
        return attributes
    }

    /// The access control under which the key was made.
    package var accessControl: SecAccessControl? { ItemProtection.shown(of: key) }

    package func externalRepresentation() throws -> Data {
        throw StatusError(errSecUnimplemented, "The key never leaves the enclave.")
    }

    package func publicKey() throws -> any KeyBacking { publicHalf }

    package func supports(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool {
        switch algorithm.kind {
        case .signature(_, .digest): operation == .sign
        case .encryption: operation == .decrypt
        case .keyExchange: operation == .keyExchange
        default: false
        }
    }

    package func signature(of input: Data, algorithm: KeyAlgorithm) throws -> Data {
        _ = try GroupDigest(of: input, algorithm: algorithm)
        return try use.perform(.sign) { try $0.sign(digest: input, right: key.id, algorithm: algorithm.rawValue) }
    }

    package func decrypt(_ ciphertext: Data, algorithm: KeyAlgorithm) throws -> SecretBytes {
        _ = try ECIES.Envelope(ciphertext, algorithm: algorithm)
        return try use.perform(.decrypt) {
            try $0.decrypt(ciphertext, right: key.id, algorithm: algorithm.rawValue)
        }
    }

    package func exchange(
        with peer: Data, algorithm: KeyAlgorithm, parameters: KeyExchangeParameters
    ) throws -> SecretBytes {
        _ = try KeyExchange(algorithm: algorithm, peer: peer, parameters: parameters)
        return try use.perform(.keyExchange) {
            try $0.exchange(
                publicKey: peer, right: key.id, algorithm: algorithm.rawValue, requestedSize: parameters.requestedSize,
                sharedInfo: parameters.sharedInfo)
        }
    }

    package func isSame(as other: any KeyBacking) -> Bool { (other as? EnclaveKeyBacking)?.key.id == key.id }
}

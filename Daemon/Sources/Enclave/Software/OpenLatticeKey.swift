import Crypto
import Foundation
import SecretMemory

/// An ML-KEM or ML-DSA key in this process's memory. It keeps the seed and makes the library's key object for each use,
/// because the library does not wipe the memory of that object.
final class OpenLatticeKey: OpenEnclaveKey {
    let publicKey: Data
    private let type: EnclaveKeyType
    private let seed: SecretBytes

    /// Refuses a seed that is not the private key of `publicKey`.
    init(_ type: EnclaveKeyType, seed: consuming SecretBytes, publicKey: Data) throws(EnclaveError) {
        guard try Self.publicKey(of: type, seed: seed) == publicKey else { throw .unreadable }
        self.type = type
        self.publicKey = publicKey
        self.seed = seed
    }

    /// Size of a private key: the seed that the key is expanded from (FIPS 203 `d || z`, FIPS 204 `xi`). Nil for P-256.
    static func seedByteCount(of type: EnclaveKeyType) -> Int? {
        switch type {
        case .p256: nil
        case .mlKEM768, .mlKEM1024: 64
        case .mlDSA65, .mlDSA87: 32
        }
    }

    /// FIPS 204, algorithm 2.
    private static let contextByteCount = 255

    /// The public key of a seed; throws ``EnclaveError/unreadable`` if the bytes are no seed.
    static func publicKey(of type: EnclaveKeyType, seed: borrowing SecretBytes) throws(EnclaveError) -> Data {
        do {
            return try unsafe seed.withUnsafeBytes { seed in
                switch type {
                case .p256: throw EnclaveError.unsupportedKey
                case .mlKEM768:
                    try unsafe MLKEM768.PrivateKey(seedRepresentation: seed, publicKey: nil).publicKey.rawRepresentation
                case .mlKEM1024:
                    try unsafe MLKEM1024.PrivateKey(seedRepresentation: seed, publicKey: nil).publicKey
                        .rawRepresentation
                case .mlDSA65:
                    try unsafe MLDSA65.PrivateKey(seedRepresentation: seed, publicKey: nil).publicKey.rawRepresentation
                case .mlDSA87:
                    try unsafe MLDSA87.PrivateKey(seedRepresentation: seed, publicKey: nil).publicKey.rawRepresentation
                }
            }
        } catch {
            throw .unreadable
        }
    }

    func signature(forMessage message: Data) throws(EnclaveError) -> Data {
        try signature(forMessage: message, context: Data())
    }

    func signature(forMessage message: Data, context: Data) throws(EnclaveError) -> Data {
        guard [.mlDSA65, .mlDSA87].contains(type) else { throw .unsupportedKey }
        guard context.count <= Self.contextByteCount else { throw .invalidContext }
        do {
            return try unsafe seed.withUnsafeBytes { seed in
                switch type {
                case .mlDSA65:
                    try unsafe MLDSA65.PrivateKey(seedRepresentation: seed, publicKey: nil)
                        .signature(for: message, context: context)
                case .mlDSA87:
                    try unsafe MLDSA87.PrivateKey(seedRepresentation: seed, publicKey: nil)
                        .signature(for: message, context: context)
                case .p256, .mlKEM768, .mlKEM1024: throw EnclaveError.unsupportedKey
                }
            }
        } catch let error as EnclaveError {
            throw error
        } catch {
            throw .unavailable(code: 0)
        }
    }

    func sharedSecret(decapsulating encapsulated: Data) throws(EnclaveError) -> SecretBytes {
        do {
            return try unsafe seed.withUnsafeBytes { seed in
                switch type {
                case .mlKEM768:
                    SecretBytes(
                        try unsafe MLKEM768.PrivateKey(seedRepresentation: seed, publicKey: nil).decapsulate(
                            encapsulated))
                case .mlKEM1024:
                    SecretBytes(
                        try unsafe MLKEM1024.PrivateKey(seedRepresentation: seed, publicKey: nil).decapsulate(
                            encapsulated))
                case .p256, .mlDSA65, .mlDSA87: throw EnclaveError.unsupportedKey
                }
            }
        } catch let error as EnclaveError {
            throw error
        } catch {
            throw .invalidEncapsulation
        }
    }
}

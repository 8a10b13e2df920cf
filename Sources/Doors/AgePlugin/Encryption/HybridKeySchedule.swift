import Crypto
import Foundation
import SecretMemory

/// HPKE in base mode (RFC 9180) for key encapsulations that the library does not know: its key schedule, from the library's HKDF.
///
/// swift-crypto's `HPKE` has a closed list of encapsulations, and the hybrid of ML-KEM-768 and P-256 is not on it.
struct KeySchedule {
    /// The key and the nonce of the first message, and age has no second one.
    let key: SymmetricKey
    let nonce: Data

    /// The names of the algorithms as HPKE numbers them. The derivation is HKDF-SHA256.
    struct Suite {
        let encapsulation: UInt16
        let encryption: UInt16
        let keyByteCount: Int

        /// MLKEM768-P256 (draft-ietf-hpke-pq-03) with ChaCha20Poly1305.
        static let hybrid = Suite(encapsulation: 0x0050, encryption: 0x0003, keyByteCount: 32)

        fileprivate static let derivation: UInt16 = 0x0001
        fileprivate var identifier: Data {
            Data("HPKE".utf8)
                + Data([encapsulation, Self.derivation, encryption].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] })
        }
    }

    /// RFC 9180, section 5.1, without a pre-shared key.
    init(_ suite: Suite, sharedSecret: borrowing SecretBytes, info: Data) {
        let steps = Steps(suite: suite.identifier)
        var salt = Data(exposing: sharedSecret)
        defer { salt.wipe() }
        let context =
            Data([0]) + Data(steps.extract(salt: Data(), "psk_id_hash", Data()))
            + Data(steps.extract(salt: Data(), "info_hash", info))
        let secret = steps.extract(salt: salt, "secret", Data())
        key = steps.expand(secret, "key", context, suite.keyByteCount)
        nonce = unsafe steps.expand(secret, "base_nonce", context, 12).withUnsafeBytes { unsafe Data($0) }
    }

    /// RFC 9180, section 4.
    private struct Steps {
        private static let version = Data("HPKE-v1".utf8)
        let suite: Data

        func extract(salt: Data, _ label: String, _ input: Data) -> HashedAuthenticationCode<SHA256> {
            HKDF<SHA256>.extract(
                inputKeyMaterial: SymmetricKey(data: Self.version + suite + Data(label.utf8) + input), salt: salt)
        }

        func expand(
            _ secret: HashedAuthenticationCode<SHA256>, _ label: String, _ context: Data, _ count: Int
        ) -> SymmetricKey {
            let length = Data([UInt8(count >> 8), UInt8(count & 0xff)])
            return HKDF<SHA256>.expand(
                pseudoRandomKey: secret, info: length + Self.version + suite + Data(label.utf8) + context,
                outputByteCount: count)
        }
    }
}

/// The secret that ML-KEM-768 and P-256 give together: MLKEM768-P256 of draft-ietf-hpke-pq-03. Breaking one of them alone gives nothing.
enum HybridSecret {
    /// - Parameters:
    ///   - ephemeral: the sender's point, 65 bytes.
    ///   - recipient: the recipient's point, 65 bytes.
    static func combine(
        lattice: borrowing SecretBytes, curve: borrowing SecretBytes, ephemeral: Data, recipient: Data
    ) -> SecretBytes {
        var hash = SHA3_256()
        unsafe lattice.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        unsafe curve.withUnsafeBytes { unsafe hash.update(bufferPointer: $0) }
        hash.update(data: ephemeral + recipient + Data("MLKEM768-P256".utf8))
        return SecretBytes(SymmetricKey(data: hash.finalize()))
    }
}

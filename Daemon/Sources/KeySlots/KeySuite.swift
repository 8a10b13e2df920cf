import Crypto
import Foundation

/// The one suite of this format, and the sizes that follow from it. Another suite gets another byte, never these sizes.
///
/// X-Wing (ML-KEM-768 with X25519) as HPKE KEM: whoever copies a store today cannot open its slots with a quantum
/// computer later, at the price of larger rows; it takes no longer than P-256.
enum KeySuite {
    /// Stands in every encoding.
    static let code: UInt8 = 1
    static let hpke = HPKE.Ciphersuite.XWingMLKEM768X25519_SHA256_AES_GCM_256

    static let seedByteCount = 32
    static let publicKeyByteCount = 1216
    static let encapsulatedKeyByteCount = 1120
    /// What each sealing adds.
    static let tagByteCount = 16
    /// Of an AES-GCM message that carries its nonce.
    static let nonceByteCount = 12
}

import Crypto
import Foundation

/// The one suite of this format, and the sizes that follow from it. Another suite gets another byte, never these sizes.
///
/// X-Wing (ML-KEM-768 with X25519) as HPKE KEM: an attacker who copies a store today cannot open its slots with a
/// quantum computer later. The price is larger rows; X-Wing takes no longer than P-256.
enum KeySuite {
    /// Stands in every encoding.
    static let code: UInt8 = 1
    static let hpke = HPKE.Ciphersuite.XWingMLKEM768X25519_SHA256_AES_GCM_256

    static let seedByteCount = 32
    static let publicKeyByteCount = 1216
    static let encapsulatedKeyByteCount = 1120
    /// The bytes that each sealing adds.
    static let tagByteCount = 16
    /// The nonce of an AES-GCM message that carries it.
    static let nonceByteCount = 12
}

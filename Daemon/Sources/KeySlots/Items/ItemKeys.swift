import Crypto
import SecretMemory

/// The symmetric keys of one class key pair, derived from its private half (HKDF-SHA256, one label each). They live as long
/// as the half and are wiped with it.
struct ItemKeys: Sendable {
    let attributes: SymmetricKey
    let accessSecret: SymmetricKey

    /// Nil unless `role` is a class's.
    init?(role: KeyRole, seed: borrowing SecretBytes) {
        guard case .classKey = role else { return nil }
        attributes = seed.derivedKey(label: "ostiary.item.attributes.v1")
        accessSecret = seed.derivedKey(label: "ostiary.item.access-secret.v1")
    }
}

import Foundation
public import SecretMemory

/// The 32 random bytes that an object's slots protect. Never used raw: each use derives its own key from it with
/// HKDF-SHA256 and a label.
///
/// | use | label |
/// | --- | --- |
/// | authorization value of an enclave key | `ostiary.access-secret.enclave-key.v1` (module Enclave, `KeyAuthorization`) |
/// | an object's own secret bytes | `ostiary.access-secret.payload.v1` (``PayloadCipher``) |
public enum AccessSecret {
    public static let byteCount = 32

    static let payloadLabel = "ostiary.access-secret.payload.v1"

    /// The access secret of a new object.
    public static func random() -> SecretBytes { SecretBytes(random: byteCount) }
}

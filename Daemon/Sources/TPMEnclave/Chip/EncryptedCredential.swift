import CTSS2
import Foundation

/// A secret for the chip that has both an endorsement key and an attestation key: the file of `tpm2_makecredential`.
///
/// `BADCC0DE || version (4), 1 || TPM2B_ID_OBJECT || TPM2B_ENCRYPTED_SECRET`, numbers big-endian.
struct EncryptedCredential {
    private static let head = Data([0xba, 0xdc, 0xc0, 0xde, 0, 0, 0, 1])

    let object: TPM2B_ID_OBJECT
    let secret: TPM2B_ENCRYPTED_SECRET

    /// Nil unless all of `bytes` are one.
    init?(_ bytes: Data) {
        guard bytes.starts(with: Self.head) else { return nil }
        var (object, secret, offset) = (TPM2B_ID_OBJECT(), TPM2B_ENCRYPTED_SECRET(), Self.head.count)
        let isRead = Data(bytes).withUnsafeBytes { bytes in
            let start = bytes.bindMemory(to: UInt8.self).baseAddress
            return Tss2_MU_TPM2B_ID_OBJECT_Unmarshal(start, bytes.count, &offset, &object) == 0
                && Tss2_MU_TPM2B_ENCRYPTED_SECRET_Unmarshal(start, bytes.count, &offset, &secret) == 0
        }
        guard isRead, offset == bytes.count else { return nil }
        (self.object, self.secret) = (object, secret)
    }
}

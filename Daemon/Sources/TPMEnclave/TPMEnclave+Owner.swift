import CTSS2
public import Enclave
public import Foundation
import SecretMemory

extension TPMEnclave {
    /// Whether the chip's owner hierarchy asks for a password. Changes nothing, and counts nothing: a wrong password of the
    /// owner never brings a chip nearer to its lockout (TPM 2.0 part 1, "Dictionary Attack Protection").
    public func ownerHasPassword() throws(EnclaveError) -> Bool {
        try chip.perform(for: nil) { (connection) throws(ChipFault) in
            try connection.withPolicySession { (session) throws(ChipFault) in
                do throws(ChipFault) {
                    try connection.prove(ESYS_TR(ESYS_TR_RH_OWNER), SecretBytes(zeroed: 0), to: session)
                    return false
                } catch .wrongAuthorization {
                    return true
                }
            }
        }
    }
}

/// The name of a TPM's storage key: the digest of its public area (TPM 2.0 part 1, "Names"). It identifies the chip,
/// until its owner seed changes (`tpm2_clear`). It is not secret.
public struct StorageKeyName: Equatable, Sendable {
    public let bytes: Data

    public init(_ bytes: Data) { self.bytes = bytes }
}

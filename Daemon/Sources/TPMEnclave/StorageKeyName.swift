public import Foundation

/// The name of a TPM's storage key: the digest of its public area (TPM 2.0 part 1, "Names"). It identifies the chip,
/// until its owner seed changes (`tpm2_clear`). It is not secret.
public struct StorageKeyName: Equatable, Sendable {
    public let bytes: Data

    public init(_ bytes: Data) { self.bytes = bytes }
}

public import SecretMemory

/// The password of the hierarchy of a chip's owner. Indexes and persistent keys are made and removed with it. Give it to the calls
/// that need it and do not keep it: it is wiped with its last reference.
public final class OwnerPassword: Sendable {
    /// The longest authorization value of a TPM 2.0.
    package static let maximumByteCount = 64

    package let bytes: SecretBytes

    public init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

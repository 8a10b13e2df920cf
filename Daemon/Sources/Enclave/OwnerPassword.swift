public import SecretMemory

/// The password of the hierarchy of a chip's owner. Indexes and persistent keys are made and removed with it. It is lent to one piece
/// of work, and wiped afterwards.
public final class OwnerPassword: Sendable {
    /// The longest authorization value of a TPM 2.0.
    package static let maximumByteCount = 64

    package let bytes: SecretBytes

    private init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    /// The password that was lent to the present work; nil without one.
    @TaskLocal package static var lent: OwnerPassword?

    /// Does `work` with a password for the commands of the owner. Only requests that the work itself makes, on its own thread,
    /// get it.
    ///
    /// - Throws: ``EnclaveError/wrongOwnerPassword`` when the chip refuses the password, and the errors of `work`.
    public static func lend<Result>(
        _ password: consuming SecretBytes, to work: () throws -> Result
    ) rethrows -> Result {
        try $lent.withValue(OwnerPassword(password), operation: work)
    }
}

/// Sizes of the input for attestations, each with its reason.
public enum AttestationLimits {
    /// A challenge that nobody guesses, up to one that holds a hash and some context.
    public static let challengeByteCounts = 16...1024
    /// A credential for a chip: some 330 bytes for an RSA key of 2,048 bits.
    public static let credentialByteCount = 1024
}

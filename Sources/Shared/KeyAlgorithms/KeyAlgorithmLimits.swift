/// Every limit of this module in bytes, with its reason. Each is inclusive.
public enum KeyAlgorithmLimits {
    /// An ECIES ciphertext reaches the daemon in the tail of one frame, and a tail holds 1 MiB.
    public static let ciphertext = 1024 * 1024

    /// The size that fits into ``ciphertext`` with its ephemeral key and tag. So everything that can be encrypted can
    /// be decrypted.
    public static let plaintext = ciphertext - ECIES.overhead

    /// The longest result of a key exchange with key derivation: far above what any protocol derives at once. ANSI X9.63
    /// would allow 2³² - 1 blocks.
    public static let keyExchangeResult = 16 * 1024

    /// The shared info is hashed again for each block of output, so both limits together bound the work of one request
    /// to about 13 MiB of hashing.
    public static let sharedInfo = 16 * 1024

    /// A public key in PEM has 178 bytes; the rest is room for other line ends and blank lines.
    public static let encodedPublicKey = 1024
}

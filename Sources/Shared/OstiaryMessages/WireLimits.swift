/// Every limit of the wire, with its reason.
public enum WireLimits {
    /// The version of this protocol that is preferred: the newest of ``ProtocolVersions/ofThisBuild``.
    public static let protocolVersion = ProtocolVersions.ofThisBuild.newest
    /// Messages hold names, rules and log pages; the largest is a page of the log.
    public static let messageByteCount = 256 * 1024
    /// Tails hold payloads, such as a secret, a plaintext or a ciphertext.
    public static let tailByteCount = 1024 * 1024
    /// The secret of a right: a key, a token or a password, not a file store.
    public static let secretByteCount = 64 * 1024
    /// A command of CTAP 2.1, as long as the frames of HID can carry one. Answers have the same limit.
    public static let authenticatorCommandByteCount = 7609
    /// The number of records in one answer of the log.
    public static let logPageCount: UInt32 = 200
    /// The name of a right, in UTF-8.
    public static let identifierByteCount = 512
    /// The program's reason for asking, in UTF-8.
    public static let reasonByteCount = 2048
    /// The random bytes of the greeting's nonce. 128 random bits cannot be guessed and never repeat.
    public static let nonceByteCount = 16
    /// A door's name for its client, in UTF-8. It is shown behind the door's name.
    public static let clientLabelByteCount = 64
}

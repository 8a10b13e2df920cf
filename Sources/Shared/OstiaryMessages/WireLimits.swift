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
    /// The class of items with free attributes. Daemons know it since version 10.
    public static let freeformClass = "free"
    /// Items that one search names by their ids: a command needs a handful of secrets, and one question can still list them.
    public static let namedItemCount = 16
    /// The program's reason for asking, in UTF-8.
    public static let reasonByteCount = 2048
    /// The random bytes of the greeting's nonce. 128 random bits cannot be guessed and never repeat.
    public static let nonceByteCount = 16
    /// A door's name for its client, in UTF-8. It is shown behind the door's name.
    public static let clientLabelByteCount = 64
    /// A lease's purpose or the path of its program, in UTF-8: no path of Linux is longer.
    public static let leaseTextByteCount = 4096
    /// The objects of one lease: each keeps its opened key in locked memory, and the question names all of them.
    public static let leaseObjectCount = 12
    /// The destinations of one lease, which the question names, too.
    public static let leaseDestinationCount = 8
    /// A destination of a lease, in UTF-8: a fingerprint has 50 bytes, the name of a host at most 253.
    public static let leaseDestinationByteCount = 256
    /// Bytes that are signed for SSH: the longest message to an agent.
    public static let sshDataByteCount = 256 * 1024
    /// The sessions of one connection to an agent, as in OpenSSH.
    public static let sshBindingCount = 16
    /// A door's name for the destination, in UTF-8: what a name of DNS has.
    public static let sshHostNameByteCount = 255
}

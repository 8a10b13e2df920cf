/// Why bytes are not what a format of SSH says. Such bytes are refused whole.
public enum SSHFormatError: Error, Hashable, Sendable {
    /// The bytes end too early.
    case truncated
    /// Bytes follow the end.
    case trailingBytes
    /// A field is longer than this code reads.
    case tooLarge
    /// A field has a form or a value that its format does not have.
    case malformed(Field)
    /// A kind of key or signature that this code does not know, or does not trust, such as RSA with SHA-1.
    case unsupported(Field)

    /// The fields that are checked.
    public enum Field: Hashable, Sendable {
        case flag, text, number
        case keyType, curve, point, modulus, exponent
        case certificate
        case signatureType, signature
        case sessionID, messageNumber, method, algorithm
        case magic, namespace, hashAlgorithm, digest
        case fingerprint, base64
    }
}

/// Every limit of these formats, with its reason.
public enum SSHLimits {
    /// A whole message to an agent, as OpenSSH reads it (`AGENT_MAX_LEN` of `ssh-agent.c`): nothing that is signed can be longer.
    public static let messageByteCount = 256 * 1024
    /// A public key or certificate: a certificate with many principals, over RSA's largest key.
    public static let publicKeyByteCount = 8 * 1024
    /// RSA keys of more bits are not used: each check of a signature would take long (BoringSSL's limit is the same).
    public static let modulusBitCount = 16 * 1024
    /// RSA keys of fewer bits are not trusted.
    public static let leastModulusBitCount = 2048
    /// A signature of the largest RSA key, with its name.
    public static let signatureByteCount = 4 * 1024
    /// The exchange hash of RFC 4253, section 7.2: from SHA-1 to SHA-512.
    public static let sessionIDByteCounts = 20...64
    /// The sessions that an agent's connection is bound to, as in OpenSSH (`AGENT_MAX_SESSION_IDS`).
    public static let bindingCount = 16
    /// A user's name: more than any system has.
    public static let userByteCount = 512
    /// Names of algorithms, methods and services (RFC 4251, section 6).
    public static let nameByteCount = 64
    /// The namespace of an SSH signature. A key's constraints name none that is longer.
    public static let namespaceByteCount = 255
    /// The reserved field of an SSH signature, which is empty today.
    public static let reservedByteCount = 1024
    /// The application of a security key's key, such as `ssh:`.
    public static let applicationByteCount = 255
}

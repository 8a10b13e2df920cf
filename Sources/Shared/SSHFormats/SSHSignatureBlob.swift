public import Foundation

/// The bytes that `ssh-keygen -Y sign`, and git with it, has signed (`PROTOCOL.sshsig`, section 3). The message itself is not among
/// them, only its digest.
public struct SSHSignatureBlob: Hashable, Sendable {
    public enum HashAlgorithm: String, Hashable, Sendable {
        case sha256
        case sha512

        public var byteCount: Int { self == .sha256 ? 32 : 64 }
    }

    static let magic = Data("SSHSIG".utf8)

    /// What the signature is for, such as `git` or `file`; not empty.
    public let namespace: String
    /// Empty today; ignored, as the format says.
    public let reserved: Data
    public let hashAlgorithm: HashAlgorithm
    /// Of the message.
    public let digest: Data

    /// Reads the whole of the bytes.
    public init(_ bytes: Data) throws(SSHFormatError) {
        var reader = SSHReader(bytes)
        guard Self.resembles(bytes), try reader.read(count: Self.magic.count) == Self.magic else {
            throw .malformed(.magic)
        }
        namespace = try reader.readText(limit: SSHLimits.namespaceByteCount)
        guard !namespace.isEmpty else { throw .malformed(.namespace) }
        reserved = try reader.readString(limit: SSHLimits.reservedByteCount)
        guard let hash = HashAlgorithm(rawValue: try reader.readName()) else { throw .unsupported(.hashAlgorithm) }
        hashAlgorithm = hash
        digest = try reader.readString(limit: hash.byteCount)
        try reader.finish()
        guard digest.count == hash.byteCount else { throw .malformed(.digest) }
    }

    /// Whether bytes are of this form or a damaged one.
    static func resembles(_ bytes: Data) -> Bool { bytes.starts(with: magic) }
}

/// What an SSH client wants to have signed, as far as the bytes tell it.
public enum SSHSignedData: Hashable, Sendable {
    case userAuthentication(SSHUserAuthenticationRequest)
    case sshsig(SSHSignatureBlob)
    /// Neither. Nothing is known of the bytes.
    case unknown

    /// Looks at the bytes that are to be signed.
    ///
    /// - Throws: ``SSHFormatError`` for bytes that begin as one of the known forms and are not one. To take them for unknown would
    ///   sign a login that another parser understands.
    public static func parse(_ bytes: Data) throws(SSHFormatError) -> SSHSignedData {
        guard bytes.count <= SSHLimits.messageByteCount else { throw .tooLarge }
        if SSHSignatureBlob.resembles(bytes) { return .sshsig(try SSHSignatureBlob(bytes)) }
        if SSHUserAuthenticationRequest.resembles(bytes) {
            return .userAuthentication(try SSHUserAuthenticationRequest(bytes))
        }
        return .unknown
    }
}

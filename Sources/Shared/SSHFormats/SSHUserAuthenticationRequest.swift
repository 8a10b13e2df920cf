public import Foundation

/// The bytes that a client signs to log in (RFC 4252, section 7; `PROTOCOL`, section 3.1, for the form that names the host's key).
public struct SSHUserAuthenticationRequest: Hashable, Sendable {
    /// `publickey` of RFC 4252, or OpenSSH's form that names the host's key.
    public enum Method: String, Hashable, Sendable {
        case publicKey = "publickey"
        case hostBound = "publickey-hostbound-v00@openssh.com"
    }

    /// SSH_MSG_USERAUTH_REQUEST.
    static let messageNumber: UInt8 = 50

    public let sessionID: Data
    public let user: String
    /// `ssh-connection` for a login.
    public let service: String
    public let method: Method
    /// How the signature is made, such as `ecdsa-sha2-nistp256`.
    public let algorithm: String
    /// The key that signs, or a certificate of it.
    public let publicKey: SSHPublicKey
    /// The host's key as the client knows it; with ``Method/hostBound`` alone. The server compares it with its own.
    public let hostKey: SSHPublicKey?

    /// Reads the whole of the bytes.
    public init(_ bytes: Data) throws(SSHFormatError) {
        guard bytes.count <= SSHLimits.messageByteCount else { throw .tooLarge }
        var reader = SSHReader(bytes)
        sessionID = try reader.readString(limit: SSHLimits.messageByteCount)
        guard SSHLimits.sessionIDByteCounts.contains(sessionID.count) else { throw .malformed(.sessionID) }
        guard try reader.readByte() == Self.messageNumber else { throw .malformed(.messageNumber) }
        user = try reader.readText(limit: SSHLimits.userByteCount)
        service = try reader.readName()
        guard let method = Method(rawValue: try reader.readName()) else { throw .unsupported(.method) }
        self.method = method
        // Without a signature nothing would be signed.
        guard try reader.readFlag() else { throw .malformed(.flag) }
        algorithm = try reader.readName()
        publicKey = try SSHPublicKey(blob: try reader.readString(limit: SSHLimits.publicKeyByteCount))
        guard publicKey.type.signatureNames(certified: publicKey.isCertificate).contains(algorithm) else {
            throw .unsupported(.algorithm)
        }
        hostKey =
            method == .hostBound
            ? try SSHPublicKey(blob: try reader.readString(limit: SSHLimits.publicKeyByteCount)) : nil
        try reader.finish()
    }

    /// Whether bytes are such a request or a damaged one: a string that could be a session's id, and the message's number.
    static func resembles(_ bytes: Data) -> Bool {
        var reader = SSHReader(bytes)
        // Wider than session ids are, so that a broken request is never taken for something unknown.
        guard (try? reader.readString(limit: 1024)) != nil, let number = try? reader.readByte() else { return false }
        return number == messageNumber
    }
}

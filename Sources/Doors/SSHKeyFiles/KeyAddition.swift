import Foundation
package import SSHFormats
package import SecretMemory

/// The limits that come with a key which a program gives to an agent (RFC 9987, section 3.2.7).
package struct KeyAdditionConstraints: Sendable, Equatable {
    /// After so many seconds the agent forgets the key; nil for never.
    package var lifetime: UInt32?
    /// Whether a person confirms each use.
    package var confirms = false
    /// Empty for any.
    package var destinations: [DestinationConstraint] = []
    /// The library that speaks to the authenticator of a key, or `internal` for OpenSSH's own.
    package var securityKeyProvider: String?

    package init() {}

    /// Reads constraints up to the end of the message. One that is not known is an error, because a key without it is another key.
    package init(from reader: inout SecretReader) throws(SSHFormatError) {
        while !reader.isAtEnd {
            switch try reader.readByte() {
            case 1:
                guard lifetime == nil else { throw .malformed(.flag) }
                lifetime = try reader.readUInt32()
            case 2:
                guard !confirms else { throw .malformed(.flag) }
                confirms = true
            case 255: try readExtension(from: &reader)
            default: throw .unsupported(.flag)
            }
        }
    }

    private mutating func readExtension(from reader: inout SecretReader) throws(SSHFormatError) {
        switch try reader.readText(limit: KeyFileLimits.nameByteCount) {
        case "restrict-destination-v00@openssh.com":
            guard destinations.isEmpty else { throw .malformed(.flag) }
            destinations = try DestinationConstraint.list(try reader.readString(limit: SSHLimits.messageByteCount))
            // None would be a key without this limit.
            guard !destinations.isEmpty else { throw .malformed(.flag) }
        case "sk-provider@openssh.com":
            guard securityKeyProvider == nil else { throw .malformed(.flag) }
            securityKeyProvider = try reader.readText(limit: KeyFileLimits.pathByteCount)
        default: throw .unsupported(.flag)
        }
    }
}

/// A key that a program gives to an agent: SSH_AGENTC_ADD_IDENTITY and SSH_AGENTC_ADD_ID_CONSTRAINED without their first byte
/// (RFC 9987, section 3.2).
package struct KeyAddition: Sendable {
    package let key: CommentedKey
    package let constraints: KeyAdditionConstraints

    /// - Parameter isConstrained: whether constraints may follow the comment.
    /// - Throws: ``KeyFileError``.
    package init(_ contents: consuming SecretBytes, isConstrained: Bool) throws(KeyFileError) {
        var reader = SecretReader(contents)
        let key = try SSHPrivateKey(fieldsFrom: &reader)
        do {
            self.key = CommentedKey(key, comment: try reader.readComment())
            constraints = try isConstrained ? KeyAdditionConstraints(from: &reader) : KeyAdditionConstraints()
            try reader.finish()
        } catch { throw .damaged(error) }
    }
}

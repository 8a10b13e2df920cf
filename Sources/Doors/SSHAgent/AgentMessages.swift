package import Foundation
package import SSHFormats
import SecretMemory
import SSHKeyFiles

/// The numbers of messages to an agent (RFC 9987, section 6.1).
package enum AgentRequestNumber: UInt8, Sendable {
    case requestIdentities = 11
    case sign = 13
    case addIdentity = 17
    case removeIdentity = 18
    case removeAllIdentities = 19
    case addSmartcardKey = 20
    case removeSmartcardKey = 21
    case lock = 22
    case unlock = 23
    case addConstrainedIdentity = 25
    case addConstrainedSmartcardKey = 26
    case extended = 27
}

/// An agent's answer, and its bytes.
package enum AgentAnswer: Sendable, Equatable {
    case failure
    case success
    case identities([ListedIdentity])
    case signature(SSHSignature)
    /// An extension is known and was refused, so that the program does not take it for one that is unknown.
    case extensionFailure
    /// The answer to `query`: the names of the extensions.
    case extensions([String])
    /// Another agent's answer, as it came.
    case foreign(Data)

    /// The whole message with its length.
    package var bytes: Data {
        let body = body
        return SSHWriter.bytes { writer in
            writer.write(UInt32(body.count))
            writer.write(fixed: body)
        }
    }

    private var body: Data {
        SSHWriter.bytes { writer in
            switch self {
            case .failure: writer.write(UInt8(5))
            case .success: writer.write(UInt8(6))
            case .identities(let identities):
                writer.write(UInt8(12))
                writer.write(UInt32(identities.count))
                for identity in identities {
                    writer.write(string: identity.blob)
                    writer.write(string: identity.comment)
                }
            case .signature(let signature):
                writer.write(UInt8(14))
                writer.write(string: signature.blob)
            case .extensionFailure: writer.write(UInt8(28))
            case .extensions(let names):
                writer.write(UInt8(29))
                writer.write(text: "query")
                for name in names { writer.write(text: name) }
            case .foreign(let bytes): writer.write(fixed: bytes)
            }
        }
    }
}

/// A row of the list of keys. The blob of a foreign agent's key can be of any kind.
package struct ListedIdentity: Sendable, Equatable {
    package let blob: Data
    package let comment: Data

    package init(_ key: SSHPublicKey, comment: String) {
        (blob, self.comment) = (key.blob, Data(comment.utf8))
    }

    init(blob: Data, comment: Data) { (self.blob, self.comment) = (blob, comment) }

    /// Reads the answer of another agent (RFC 9987, section 3.5), without its length.
    package static func list(_ answer: Data) throws(SSHFormatError) -> [ListedIdentity] {
        var reader = SSHReader(answer)
        guard try reader.readByte() == 12 else { throw .malformed(.messageNumber) }
        let count = try reader.readUInt32()
        guard count <= AgentLimits.identityCount else { throw .tooLarge }
        var identities: [ListedIdentity] = []
        for _ in 0..<count {
            identities.append(
                ListedIdentity(
                    blob: try reader.readString(limit: SSHLimits.messageByteCount),
                    comment: try reader.readString(limit: SSHLimits.messageByteCount)))
        }
        try reader.finish()
        return identities
    }
}

/// SSH_AGENTC_SIGN_REQUEST without its number (RFC 9987, section 3.6).
struct SignatureRequest {
    let blob: Data
    let data: Data
    let flags: SignatureFlags

    init(_ contents: borrowing SecretBytes) throws(SSHFormatError) {
        var reader = SSHReader(Data(exposing: contents))
        blob = try reader.readString(limit: SSHLimits.messageByteCount)
        data = try reader.readString(limit: SSHLimits.messageByteCount)
        flags = SignatureFlags(rawValue: try reader.readUInt32())
        try reader.finish()
    }
}

/// How an RSA key signs; other keys have one way.
package struct SignatureFlags: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let rsaSHA256 = SignatureFlags(rawValue: 2)
    package static let rsaSHA512 = SignatureFlags(rawValue: 4)
}

/// Every limit of the agent, with its reason.
package enum AgentLimits {
    /// Keys of one list: an agent with more could not be looked through by a server, which permits six tries.
    package static let identityCount = 2048
    /// Keys that programs add. Each holds locked memory, of which a user has 8 MiB.
    package static let addedKeyCount = 1024
    /// A passphrase that locks the agent; the terminal's line is shorter.
    package static let passphraseByteCount = 4096
    /// Names of extensions (RFC 4251, section 6).
    package static let extensionByteCount = 64
    /// The longest wait after wrong passphrases, as in OpenSSH.
    package static let longestDelay: Duration = .seconds(10)
    /// The file of known hosts that names are looked up in. A larger one would hold up each signature.
    package static let knownHostsByteCount = 4 << 20
}

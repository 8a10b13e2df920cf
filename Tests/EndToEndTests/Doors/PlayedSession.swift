import CryptoKit
import Foundation
import SSHFormats

/// A host that proves its sessions to an agent, with a key that a test holds.
struct SessionHost {
    private let key = Curve25519.Signing.PrivateKey()

    /// Of the public key.
    var blob: Data {
        SSHWriter.bytes { writer in
            writer.write(text: "ssh-ed25519")
            writer.write(string: key.publicKey.rawRepresentation)
        }
    }

    /// As a question shows it.
    var fingerprint: String { get throws { try SSHPublicKey(blob: blob).fingerprint.description } }

    static func sessionID(_ number: UInt8) -> Data { Data(repeating: number, count: 32) }

    /// The message that binds a connection to a session with the host.
    ///
    /// - Parameter signed: the session that the host signed in truth.
    func binding(_ session: UInt8, forwarding: Bool = false, signing signed: UInt8? = nil) throws -> Data {
        let signature = try key.signature(for: Self.sessionID(signed ?? session))
        return SSHWriter.bytes { writer in
            writer.write(UInt8(27))
            writer.write(text: "session-bind@openssh.com")
            writer.write(string: blob)
            writer.write(string: Self.sessionID(session))
            writer.write(string: SSHSignature(name: "ssh-ed25519", bytes: signature).blob)
            writer.write(flag: forwarding)
        }
    }
}

/// A key of the agent, as a client knows it from the list.
struct ListedKey {
    private let name: String
    private let blob: Data

    /// - Parameter line: as in a file of public keys.
    init?(line: String) {
        let words = line.split(separator: " ")
        guard words.count > 1, let blob = Data(base64Encoded: String(words[1])) else { return nil }
        (name, self.blob) = (String(words[0]), blob)
    }

    /// The message that wants data signed.
    func request(_ data: Data) -> Data {
        SSHWriter.bytes { writer in
            writer.write(UInt8(13))
            writer.write(string: blob)
            writer.write(string: data)
            writer.write(UInt32(0))
        }
    }

    /// The message that wants a login signed, which names the host's key.
    func login(_ session: UInt8, to host: SessionHost, user: String = "me") -> Data {
        request(
            SSHWriter.bytes { writer in
                writer.write(string: SessionHost.sessionID(session))
                writer.write(UInt8(50))
                writer.write(text: user)
                writer.write(text: "ssh-connection")
                writer.write(text: "publickey-hostbound-v00@openssh.com")
                writer.write(flag: true)
                writer.write(text: name)
                writer.write(string: blob)
                writer.write(string: host.blob)
            })
    }
}

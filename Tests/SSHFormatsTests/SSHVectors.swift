import Foundation
import SSHFormats
import Testing

/// What OpenSSH's own programs made; the file says with which.
struct SSHVectors: Decodable {
    struct Host: Decodable {
        let key: Data
        let cert: Data
        let fp: String
        /// Over the session id, by the names that the agent was asked for.
        let sigs: [String: Data]
    }

    struct Login: Decodable, CustomTestStringConvertible {
        let name: String
        /// The contents of `session-bind@openssh.com`.
        let bind: Data
        /// The key that signs, as ssh named it to its agent.
        let key: Data
        let data: Data
        let sig: Data

        var testDescription: String { name }
    }

    let sessionID: Data
    let hosts: [String: Host]
    let logins: [Login]
    /// A P-256 key.
    let user: Data
    let userFP: String
    /// The blob of an SSH signature for namespace `git`.
    let sshsig: Data

    static let openSSH: SSHVectors = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Vectors/openssh-9.2.json")
        do {
            return try JSONDecoder().decode(SSHVectors.self, from: Data(contentsOf: file))
            // Without them no test of this module says anything, and a static value cannot throw.
        } catch { fatalError("the vectors cannot be read: \(error)") }
    }()

    /// The bytes that were signed for ``sshsig``, made from the signature's own fields.
    static func signedBlob(namespace: String, hash: String, digest: Data, reserved: Data = Data()) -> Data {
        SSHWriter.bytes { writer in
            writer.write(fixed: "SSHSIG".utf8)
            writer.write(text: namespace)
            writer.write(string: reserved)
            writer.write(text: hash)
            writer.write(string: digest)
        }
    }
}

/// The bytes of a login, field by field, so that a test can spoil each.
struct LoginFields {
    var sessionID = Data(repeating: 7, count: 32)
    var number: UInt8 = 50
    var user = Data("root".utf8)
    var service = "ssh-connection"
    var method = "publickey"
    var flag: UInt8 = 1
    var algorithm = "ecdsa-sha2-nistp256"
    var key = SSHVectors.openSSH.user
    var hostKey: Data?

    var bytes: Data {
        SSHWriter.bytes { writer in
            writer.write(string: sessionID)
            writer.write(number)
            writer.write(string: user)
            writer.write(text: service)
            writer.write(text: method)
            writer.write(flag)
            writer.write(text: algorithm)
            writer.write(string: key)
            if let hostKey { writer.write(string: hostKey) }
        }
    }

    static func with(_ change: (inout LoginFields) -> Void) -> Data {
        var fields = LoginFields()
        change(&fields)
        return fields.bytes
    }
}

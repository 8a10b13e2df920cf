import Crypto
public import Foundation
public import OstiaryMessages
public import SSHFormats

/// A host that proves itself with an Ed25519 key, as far as an agent sees it.
public struct SSHHost: Sendable {
    private let key = Curve25519.Signing.PrivateKey()

    public init() {}

    public var blob: Data {
        SSHWriter.bytes { writer in
            writer.write(text: "ssh-ed25519")
            writer.write(string: key.publicKey.rawRepresentation)
        }
    }

    public var publicKey: SSHPublicKey { get throws { try SSHPublicKey(blob: blob) } }

    /// 32 bytes.
    public var fingerprint: [UInt8] { Array(SHA256.hash(data: blob)) }

    public static func sessionID(_ number: UInt8) -> Data { Data(repeating: number, count: 32) }

    /// The binding that a client with a session at the host sends to its agent.
    ///
    /// - Parameter signed: the session that the host signed in truth.
    public func binding(_ session: UInt8, forwarding: Bool = false, signing signed: UInt8? = nil) throws
        -> WireSSHBinding
    {
        let signature = try key.signature(for: Self.sessionID(signed ?? session))
        return WireSSHBinding.with {
            ($0.hostKey, $0.sessionID, $0.isForwarding) = (blob, Self.sessionID(session), forwarding)
            $0.signature = SSHSignature(name: "ssh-ed25519", bytes: signature).blob
        }
    }
}

/// Bytes that SSH clients have signed.
public enum SSHBytes {
    /// A login with a P-256 key.
    ///
    /// - Parameter host: the key that the host-bound form names; nil for `publickey`.
    public static func login(
        _ session: UInt8, user: String = "root", service: String = "ssh-connection", by x963: Data,
        to host: SSHHost? = nil
    ) throws -> Data {
        let key = try SSHPublicKey(p256: x963).blob
        return SSHWriter.bytes { writer in
            writer.write(string: SSHHost.sessionID(session))
            writer.write(UInt8(50))
            writer.write(text: user)
            writer.write(text: service)
            writer.write(text: host == nil ? "publickey" : "publickey-hostbound-v00@openssh.com")
            writer.write(flag: true)
            writer.write(text: "ecdsa-sha2-nistp256")
            writer.write(string: key)
            if let host { writer.write(string: host.blob) }
        }
    }

    /// The bytes that `ssh-keygen -Y sign` has signed.
    public static func signature(_ namespace: String) -> Data {
        SSHWriter.bytes { writer in
            writer.write(fixed: "SSHSIG".utf8)
            writer.write(text: namespace)
            writer.write(text: "")
            writer.write(text: "sha512")
            writer.write(string: SHA512.hash(data: Data("a message".utf8)).map { $0 })
        }
    }
}

import Crypto
package import Foundation
import KeyAlgorithms
import RSAKeys
package import SSHFormats
package import SSHKeyFiles
import SecretMemory

/// Why a key cannot sign.
package enum KeySignatureError: Error, Equatable, Sendable {
    /// The private half is in an authenticator that this program does not reach.
    case inAuthenticator
    /// RSA with SHA-1, which can be forged.
    case outdatedAlgorithm
    /// The library refused the key, which it had taken before.
    case failed
}

extension SSHPrivateKey {
    /// Signs in this process's memory.
    ///
    /// - Parameters:
    ///   - flags: for RSA, SHA-256 or SHA-512 (RFC 8332).
    ///   - permitsSHA1: whether RSA signs with SHA-1 where the flags ask for nothing better.
    package func signature(
        of data: Data, _ flags: SignatureFlags, permitsSHA1: Bool
    ) throws(KeySignatureError) -> SSHSignature {
        do {
            switch kind {
            case .ed25519:
                return SSHSignature(name: SSHKeyType.ed25519.name, bytes: try signEd25519(data))
            case .p256, .p384, .p521: return try signOnCurve(data)
            case .rsa: return try signRSA(data, flags, permitsSHA1: permitsSHA1)
            case .securityKey: throw KeySignatureError.inAuthenticator
            }
        } catch let error as KeySignatureError { throw error } catch { throw .failed }
    }

    private func signEd25519(_ data: Data) throws -> Data {
        try unsafe secret.withUnsafeBytes { bytes in
            try unsafe Curve25519.Signing.PrivateKey(rawRepresentation: bytes).signature(for: data)
        }
    }

    private func signOnCurve(_ data: Data) throws -> SSHSignature {
        let (name, raw): (SSHKeyType, Data) = try unsafe secret.withUnsafeBytes { bytes in
            switch kind {
            case .p384:
                (
                    .p384,
                    try unsafe P384.Signing.PrivateKey(rawRepresentation: bytes).signature(for: data).rawRepresentation
                )
            case .p521:
                (
                    .p521,
                    try unsafe P521.Signing.PrivateKey(rawRepresentation: bytes).signature(for: data).rawRepresentation
                )
            default:
                (
                    .p256,
                    try unsafe P256.Signing.PrivateKey(rawRepresentation: bytes).signature(for: data).rawRepresentation
                )
            }
        }
        // `r` and `s` as numbers (RFC 5656, section 3.1.2).
        let numbers = SSHWriter.bytes { writer in
            writer.write(positiveInteger: raw.prefix(raw.count / 2))
            writer.write(positiveInteger: raw.suffix(raw.count / 2))
        }
        return SSHSignature(name: name.name, bytes: numbers)
    }

    private func signRSA(_ data: Data, _ flags: SignatureFlags, permitsSHA1: Bool) throws -> SSHSignature {
        let (name, hash): (String, HashAlgorithm) =
            flags.contains(.rsaSHA256)
            ? ("rsa-sha2-256", .sha256) : flags.contains(.rsaSHA512) ? ("rsa-sha2-512", .sha512) : ("ssh-rsa", .sha1)
        guard hash != .sha1 || permitsSHA1 else { throw KeySignatureError.outdatedAlgorithm }
        guard let key = RSAKey(privateKey: secret) else { throw KeySignatureError.failed }
        let signature = try key.signature(of: hash.digest(of: data), padding: .pkcs1v15, hash: hash)
        return SSHSignature(name: name, bytes: signature)
    }
}

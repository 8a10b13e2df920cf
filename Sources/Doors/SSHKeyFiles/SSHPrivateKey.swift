package import Foundation
package import SSHFormats
package import SecretMemory

/// A private key of SSH in memory for secrets, and its public half.
///
/// A key of a security key has no secret: the authenticator keeps it, and the handle names it there.
package final class SSHPrivateKey: Sendable {
    /// What the key signs with.
    package enum Kind: Equatable, Sendable {
        case ed25519, p256, p384, p521, rsa
        /// The private half is in an authenticator.
        case securityKey
    }

    /// With the certificate, if the key came with one.
    package let publicKey: SSHPublicKey
    package let kind: Kind
    /// Ed25519: the seed, 32 bytes. Curves of NIST: the number, as long as a coordinate. RSA: PKCS #1 RSAPrivateKey (DER). Empty for a
    /// security key.
    package let secret: SecretBytes
    /// Where the private half of a security key is; nil for other keys.
    package let handle: SecurityKeyHandle?

    init(
        _ publicKey: SSHPublicKey, _ kind: Kind, secret: consuming SecretBytes, handle: SecurityKeyHandle? = nil
    ) {
        (self.publicKey, self.kind) = (publicKey, kind)
        self.secret = secret
        self.handle = handle
    }

    /// The same key under a certificate, or without one.
    package func named(by publicKey: SSHPublicKey) -> SSHPrivateKey {
        SSHPrivateKey(publicKey, kind, secret: SecretBytes(copying: secret), handle: handle)
    }
}

/// Names a key in its authenticator, and says how it is used there (`PROTOCOL.u2f`). It opens nothing without the authenticator.
package struct SecurityKeyHandle: Sendable, Equatable {
    /// At most ``KeyFileLimits/keyHandleByteCount`` bytes.
    package let bytes: Data
    let flags: UInt8

    /// Whether the authenticator must verify the person (`SSH_SK_USER_VERIFICATION_REQD`).
    package var requiresVerification: Bool { flags & 1 << 2 != 0 }
}

/// A private key, and what its owner called it.
package struct CommentedKey: Sendable {
    package let key: SSHPrivateKey
    package let comment: String

    package init(_ key: SSHPrivateKey, comment: String) { (self.key, self.comment) = (key, comment) }
}

/// Why bytes are no key that this program can use.
package enum KeyFileError: Error, Equatable, Sendable {
    /// Not one of OpenSSH's private keys at all.
    case notAKeyFile
    /// A private key in another format, such as PEM. `ssh-keygen -p` writes OpenSSH's.
    case otherFormat
    /// The file ends too early, or holds something else than it says.
    case damaged(SSHFormatError)
    /// The file holds more bytes than any key.
    case tooLarge
    case encrypted(cipher: String)
    /// Encrypted in a way that no version of OpenSSH which this code knows can open.
    case unknownCipher(String)
    /// The public and the private half do not belong together.
    case mismatch
    case unsupported(keyType: String)
    /// The file holds several keys or none, which OpenSSH never writes.
    case keyCount(UInt32)
}

extension KeyFileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notAKeyFile: "it is no private key of OpenSSH"
        case .otherFormat:
            "it is a private key in another format than OpenSSH's; `ssh-keygen -p -f FILE` writes it in that format"
        case .damaged(.truncated): "it ends too early: a part of the file is missing"
        case .damaged: "it is damaged"
        case .tooLarge: "it is larger than any private key"
        case .encrypted(let cipher): "it is encrypted (\(cipher)), and its passphrase is needed"
        case .unknownCipher(let cipher): "it is encrypted by an unknown cipher or key derivation (\(cipher))"
        case .mismatch: "its private and public halves do not belong together"
        case .unsupported(let type): "keys of type \(type) are not supported"
        case .keyCount(let count): "it holds \(count) keys instead of one"
        }
    }
}

extension SSHPrivateKey {
    /// A key of its public half and of ``secret``, as a store kept them.
    ///
    /// - Throws: ``KeyFileError/unsupported(keyType:)`` for a security key, which has no private half.
    package convenience init(_ publicKey: SSHPublicKey, secret: consuming SecretBytes) throws(KeyFileError) {
        let kind: Kind =
            switch publicKey.type {
            case .ed25519: .ed25519
            case .p256: .p256
            case .p384: .p384
            case .p521: .p521
            case .rsa: .rsa
            case .securityKeyEd25519, .securityKeyP256: .securityKey
            }
        guard kind != .securityKey else { throw .unsupported(keyType: publicKey.name) }
        self.init(publicKey, kind, secret: secret)
    }
}

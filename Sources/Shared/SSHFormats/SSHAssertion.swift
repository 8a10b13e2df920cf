import Crypto
public import Foundation

/// A signature of an authenticator for OpenSSH (`PROTOCOL.u2f`): an assertion of WebAuthn without extensions, in which the SHA-256 digest of
/// the signed message stands for the client data.
public struct SSHAssertion: Hashable, Sendable {
    /// As in the authenticator data (WebAuthn 6.1).
    public let flags: UInt8
    /// The signatures of the authenticator so far.
    public let counter: UInt32
    /// Of ECDSA `r ‖ s`, of Ed25519 as it is: 64 bytes.
    public let signature: Data

    public var isUserPresent: Bool { flags & 1 != 0 }
    public var isUserVerified: Bool { flags & 1 << 2 != 0 }

    public init(flags: UInt8, counter: UInt32, signature: Data) throws(SSHFormatError) {
        guard signature.count == Self.signatureByteCount else { throw .malformed(.signature) }
        (self.flags, self.counter, self.signature) = (flags, counter, signature)
    }

    /// Reads ``bytes``.
    public init(bytes: Data) throws(SSHFormatError) {
        var reader = SSHReader(bytes)
        flags = try reader.readByte()
        counter = try reader.readUInt32()
        signature = try reader.read(count: Self.signatureByteCount)
        try reader.finish()
    }

    private static let signatureByteCount = 64

    /// Flags (1), counter (4, the highest byte first) and signature (64).
    public var bytes: Data {
        SSHWriter.bytes { writer in
            writer.write(flags)
            writer.write(counter)
            writer.write(fixed: signature)
        }
    }
}

extension SSHPublicKey {
    /// The key of a P-256 credential.
    ///
    /// - Parameters:
    ///   - x963: its point `04 ‖ X ‖ Y`.
    ///   - application: its relying party.
    public init(securityKeyP256 x963: Data, application: String) throws(SSHFormatError) {
        try self.init(
            blob: SSHWriter.bytes { writer in
                writer.write(text: SSHKeyType.securityKeyP256.name)
                writer.write(text: "nistp256")
                writer.write(string: x963)
                writer.write(text: application)
            })
    }

    /// The relying party of a security key's key; nil for other keys.
    public var application: String? {
        let fieldCount: Int
        switch type {
        case .securityKeyEd25519: fieldCount = 2
        case .securityKeyP256: fieldCount = 3
        case .ed25519, .p256, .p384, .p521, .rsa: return nil
        }
        var reader = SSHReader(plainBlob)
        for _ in 0..<fieldCount {
            guard (try? reader.readString(limit: SSHLimits.publicKeyByteCount)) != nil else { return nil }
        }
        return try? reader.readText(limit: SSHLimits.applicationByteCount)
    }

    /// Whether the key is a credential that was made for OpenSSH: its relying party is `ssh:` and the text that its user put behind. No web page has
    /// such a name. Without spaces and letters beyond ASCII it has one spelling.
    public var isCredentialForSSH: Bool {
        guard let application else { return false }
        return application.utf8.starts(with: "ssh:".utf8)
            && application.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Whether `assertion` is this key's over a message.
    ///
    /// - Parameter digest: SHA-256 of the message.
    /// - Throws: `unsupported` for a key that is in no authenticator, `malformed` for numbers that are none of a signature.
    public func isValid(_ assertion: SSHAssertion, ofDigest digest: Data) throws(SSHFormatError) -> Bool {
        guard let application else { throw .unsupported(.keyType) }
        let message = SSHWriter.bytes { writer in
            writer.write(fixed: SHA256.hash(data: Data(application.utf8)))
            writer.write(assertion.flags)
            writer.write(assertion.counter)
            writer.write(fixed: digest)
        }
        switch material {
        case .ed25519(let bytes):
            let key: Curve25519.Signing.PublicKey
            do { key = try Curve25519.Signing.PublicKey(rawRepresentation: bytes) } catch { throw .malformed(.point) }
            return key.isValidSignature(assertion.signature, for: message)
        case .point(let point):
            do {
                return try P256.Signing.PublicKey(x963Representation: point).isValidSignature(
                    P256.Signing.ECDSASignature(rawRepresentation: assertion.signature), for: message)
            } catch { throw .malformed(.signature) }
        case .rsa: throw .unsupported(.keyType)
        }
    }

    /// An assertion of this key as it travels.
    ///
    /// - Throws: `unsupported` for a key that is in no authenticator.
    public func signature(of assertion: SSHAssertion) throws(SSHFormatError) -> SSHSignature {
        let rest = SSHWriter.bytes { writer in
            writer.write(assertion.flags)
            writer.write(assertion.counter)
        }
        switch type {
        case .securityKeyEd25519: return SSHSignature(name: type.name, bytes: assertion.signature, rest: rest)
        case .securityKeyP256:
            let numbers = try SSHSignature(p256: assertion.signature).bytes
            return SSHSignature(name: type.name, bytes: numbers, rest: rest)
        case .ed25519, .p256, .p384, .p521, .rsa: throw .unsupported(.keyType)
        }
    }
}

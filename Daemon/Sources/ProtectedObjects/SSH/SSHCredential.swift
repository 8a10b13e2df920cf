import Crypto
package import ExactNames
package import Foundation
import OstiaryMessages
import PromptProtocol
package import Refusals
package import SSHFormats
package import SecretMemory

/// A credential of an authenticator that was made for OpenSSH: a passkey of this machine, or one on a security key.
package struct SSHCredential: Sendable {
    package let publicKey: SSHPublicKey
    /// `ssh:` and the text that its owner put behind.
    package let relyingParty: ExactName

    /// Reads the blob of its key.
    ///
    /// - Throws: a refusal for another relying party than OpenSSH. A signature for SSH by a website's credential would be a sign-in there.
    package init(blob: Data) throws(Refusal) {
        let key: SSHPublicKey
        do { key = try SSHPublicKey(blob: blob) } catch { throw Self.noKey }
        guard !key.isCertificate, let application = key.application else { throw Self.noKey }
        guard key.isCredentialForSSH else { throw Self.otherRelyingParty }
        (publicKey, relyingParty) = (key, ExactName(application))
    }

    package static let noKey = Refusal(
        .invalidParameter, "The key is none of a passkey or of a security key.", cause: "ssh.no-credential")

    package static let otherRelyingParty = Refusal(
        .operationNotPermitted,
        "The credential was not made for SSH, so it makes no signature for SSH. Make one with `ssh-keygen -t ecdsa-sk`.",
        cause: "ssh.relying-party")

    /// The credential's assertion over a message, in the form of OpenSSH; nil for an answer that is none: of another relying party, without
    /// anybody present, with extensions, or with a signature that is not this key's.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of the message.
    ///   - requiresVerification: whether the authenticator must have verified the person.
    package func assertion(
        _ authenticatorData: [UInt8], _ signature: [UInt8], ofDigest digest: [UInt8], requiresVerification: Bool
    ) -> SSHAssertion? {
        let head = [UInt8](SHA256.hash(data: Data(relyingParty.utf8)))
        guard authenticatorData.count == head.count + 5, authenticatorData.starts(with: head),
            let raw = rawSignature(signature),
            let assertion = try? SSHAssertion(bytes: Data(authenticatorData.dropFirst(head.count)) + raw),
            assertion.flags & Self.flagsOfMore == 0, assertion.isUserPresent,
            assertion.isUserVerified || !requiresVerification,
            (try? publicKey.isValid(assertion, ofDigest: Data(digest))) == true
        else { return nil }
        return assertion
    }

    /// An attested credential and extensions, which need more bytes than there are.
    private static let flagsOfMore: UInt8 = 1 << 6 | 1 << 7

    /// Authenticators send ECDSA's numbers in ASN.1 (WebAuthn 6.5.5).
    private func rawSignature(_ signature: [UInt8]) -> Data? {
        guard publicKey.type == .securityKeyP256 else { return Data(signature) }
        return try? P256.Signing.ECDSASignature(derRepresentation: Data(signature)).rawRepresentation
    }
}

extension SSHKey {
    /// A credential has no limits of its own, as OpenSSH makes it. It signs no unknown data. All of them have one relying party and mostly one
    /// account, so question and log name the key by its fingerprint.
    package init(_ credential: SSHCredential) {
        publicKey = credential.publicKey
        constraints = nil
        shownFingerprint = credential.publicKey.fingerprint.description
    }
}

extension SSHSigning {
    /// SHA-256 of the bytes, for an authenticator that signs a digest.
    ///
    /// - Throws: a refusal if it is not the digest that the question shows.
    package func digest(for input: borrowing SecretBytes) throws(Refusal) -> [UInt8] {
        let digest = Data(SHA256.hash(data: Data(exposing: input)))
        guard PromptSignedData(digestOnly: digest).digest == shown.digest else {
            throw Refusal(.internal, "The signed bytes are not those of the question.", cause: "ssh.digest")
        }
        return Array(digest)
    }
}

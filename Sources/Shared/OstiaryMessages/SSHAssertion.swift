public import Foundation

// Signatures for SSH by passkeys of this machine and by security keys. The daemon reads the bytes as for ``WireSSHSignRequest``.

/// Since protocol 9, for doors. Answered by ``WireDone``; the answer's tail is flags (1), counter (4, the highest byte first) and signature:
/// `r ‖ s`, or that of Ed25519 (64).
///
/// The tail is the bytes that are signed, at most ``WireLimits/sshDataByteCount``. Each signature asks.
public struct WireSSHAssertRequest: WireMessage, FieldList {
    /// The blob of the key, with its application (OpenSSH, `PROTOCOL.u2f`), without a certificate. The application begins with `ssh:`.
    public var publicKey = Data()
    /// The id of a passkey, or the key handle of a security key's credential.
    public var credentialID = Data()
    /// `platform` for a passkey of this machine, `crossPlatform` for a security key.
    public var attachment = WireAttachment.unspecified
    /// Whether a security key must verify the person itself. A passkey always does.
    public var requiresVerification = false
    /// As in ``WireSSHSignRequest``, like the next two.
    public var bindings: [WireSSHBinding] = []
    public var hostName = ""
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&publicKey)
        coder.field(&credentialID)
        coder.field(&attachment)
        coder.field(&requiresVerification)
        coder.field(&bindings)
        coder.field(&hostName)
        coder.field(&question)
    }
}

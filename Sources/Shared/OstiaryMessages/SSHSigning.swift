public import Foundation

// Signatures for SSH. The daemon reads the very bytes that it signs, and checks the limits of the key before it asks the person.

/// Since protocol 9. Answered by ``WireDone``; the answer's tail is the signature, `r ‖ s` (64 bytes).
///
/// The tail is the bytes that are signed (ECDSA with SHA-256), at most ``WireLimits/sshDataByteCount``. The key is a right's or a P-256 key
/// of a group. A right or key that confirms each signature asks now. Another one is used under the context's authorization, and
/// without one the daemon asks, and the context keeps the authorization.
public struct WireSSHSignRequest: WireMessage, FieldList {
    /// The id of a right or key.
    public var rightID = Data()
    /// 0 for a right or key that confirms each signature.
    public var contextID: UInt64 = 0
    /// The sessions that the connection to the agent is bound to, in order; at most ``WireLimits/sshBindingCount``.
    public var bindings: [WireSSHBinding] = []
    /// The door's word for the destination, such as a name of `known_hosts`; empty for none. At most
    /// ``WireLimits/sshHostNameByteCount`` bytes.
    public var hostName = ""
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&rightID)
        coder.field(&contextID)
        coder.field(&bindings)
        coder.field(&hostName)
        coder.field(&question)
    }
}

/// The contents of one `session-bind@openssh.com`.
public struct WireSSHBinding: WireMessage, FieldList {
    /// The blob of the host's key or certificate.
    public var hostKey = Data()
    public var sessionID = Data()
    /// The blob of the host's signature over the session id.
    public var signature = Data()
    public var isForwarding = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&hostKey)
        coder.field(&sessionID)
        coder.field(&signature)
        coder.field(&isForwarding)
    }
}

public import Foundation

/// What a client tells an agent about the session that it signs for (`session-bind@openssh.com`, `PROTOCOL.agent`, section 1): the host
/// proves with its key that it takes part in the session.
public struct SSHSessionBinding: Hashable, Sendable {
    public let hostKey: SSHPublicKey
    /// The exchange hash of the session's first key exchange.
    public let sessionID: Data
    public let signature: SSHSignature
    /// Whether the connection to the agent was forwarded over this session. The client alone says so.
    public let isForwarding: Bool

    /// - Throws: ``SSHFormatError`` for a key, a session id or a signature of another form. Nothing is verified.
    public init(
        hostKey: Data, sessionID: Data, signature: Data, isForwarding: Bool
    ) throws(SSHFormatError) {
        guard SSHLimits.sessionIDByteCounts.contains(sessionID.count) else { throw .malformed(.sessionID) }
        self.hostKey = try SSHPublicKey(blob: hostKey)
        self.sessionID = Data(sessionID)
        self.signature = try SSHSignature(blob: signature)
        self.isForwarding = isForwarding
    }

    /// Reads the contents of the extension, behind its name.
    public init(contents: Data) throws(SSHFormatError) {
        var reader = SSHReader(contents)
        let hostKey = try reader.readString(limit: SSHLimits.publicKeyByteCount)
        let sessionID = try reader.readString(limit: SSHLimits.sessionIDByteCounts.upperBound)
        let signature = try reader.readString(limit: SSHLimits.signatureByteCount)
        let isForwarding = try reader.readFlag()
        try reader.finish()
        try self.init(hostKey: hostKey, sessionID: sessionID, signature: signature, isForwarding: isForwarding)
    }

    /// Returns if the host's key signed the session id. Of a certificate it is the key within.
    ///
    /// - Throws: ``SSHBindingError/forged``.
    public func verify() throws(SSHBindingError) {
        let isValid: Bool
        do { isValid = try hostKey.isValid(signature, of: sessionID) } catch { throw .forged }
        guard isValid else { throw .forged }
    }
}

/// Why a binding is refused.
public enum SSHBindingError: Error, Hashable, Sendable {
    /// The host's key did not sign the session id, or in a form that is not trusted.
    case forged
    /// The session that came before was bound for a login, so the connection is at its end.
    case afterLogin
    /// The session is bound to another host's key already, or once more with another purpose.
    case repeatedSession
    case tooMany
}

/// The sessions that one connection to an agent is bound to, in order: first those that forward it, and at the end the one that logs in.
///
/// All bindings were verified. So the requests of the connection come from the last host's session, over the hosts before it.
public struct SSHBoundSessions: Hashable, Sendable {
    public private(set) var bindings: [SSHSessionBinding] = []

    public init() {}

    /// Binds in order.
    public init(_ bindings: some Sequence<SSHSessionBinding>) throws(SSHBindingError) {
        for binding in bindings { try bind(binding) }
    }

    /// Binds the connection to one more session. The same binding once more changes nothing.
    public mutating func bind(_ binding: SSHSessionBinding) throws(SSHBindingError) {
        try binding.verify()
        if let known = bindings.first(where: { $0.sessionID == binding.sessionID }) {
            guard known.hostKey.isSameKey(as: binding.hostKey), known.isForwarding == binding.isForwarding else {
                throw .repeatedSession
            }
            return
        }
        guard bindings.last?.isForwarding ?? true else { throw .afterLogin }
        guard bindings.count < SSHLimits.bindingCount else { throw .tooMany }
        bindings.append(binding)
    }

    /// Whether the requests come over a forwarded agent.
    public var isForwarded: Bool { bindings.contains(where: \.isForwarding) }

    /// The sessions that forward the connection.
    public var forwarding: [SSHSessionBinding] { bindings.filter(\.isForwarding) }

    /// The session that logs in; nil where none is bound for that.
    public var login: SSHSessionBinding? { bindings.last.flatMap { $0.isForwarding ? nil : $0 } }
}

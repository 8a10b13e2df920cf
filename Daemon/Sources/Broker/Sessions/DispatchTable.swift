import OstiaryWire

/// Where a connection stands.
enum SessionState: Equatable, Sendable {
    /// Connected, identity taken, greeting sent; the caller has not echoed the nonce.
    case connected
    case greeted
}

/// What the daemon accepts of one kind of request.
struct RequestRule: Equatable, Sendable {
    /// The only state of the connection in which it may be sent.
    let state: SessionState
    /// Whether the connection's own thread answers. Everything that asks a person, stretches a passcode or reads much runs
    /// on a thread of its own, so that the connection's end and a cancel are seen meanwhile.
    let runsInline: Bool
    /// Bytes of raw tail it may carry.
    let tailByteCount: Int
    /// Whether a terminal may be attached.
    let acceptsTerminal: Bool
}

/// Each request that a caller can send, in which state, and what it may bring along. Any program of the owner may send any
/// of them; what it then gets is decided by the rule of the object and by the grants of its own connection's contexts.
enum DispatchTable {
    static func rule(for kind: RequestKind) -> RequestRule {
        switch kind {
        case .hello: RequestRule(state: .connected, runsInline: true, tailByteCount: 0, acceptsTerminal: false)

        case .status, .cancel, .openContext, .closeContext, .deauthorize, .credentialState, .findRight, .lock:
            RequestRule(state: .greeted, runsInline: true, tailByteCount: 0, acceptsTerminal: false)
        case .setCredential: RequestRule(state: .greeted, runsInline: true, tailByteCount: 1024, acceptsTerminal: false)

        // With an authorized context these take microseconds.
        case .sign: RequestRule(state: .greeted, runsInline: true, tailByteCount: 64, acceptsTerminal: false)
        case .exchange: RequestRule(state: .greeted, runsInline: true, tailByteCount: 0, acceptsTerminal: false)
        case .decrypt:
            RequestRule(
                state: .greeted, runsInline: true, tailByteCount: WireLimits.tailByteCount, acceptsTerminal: false)
        case .readSecret: RequestRule(state: .greeted, runsInline: true, tailByteCount: 0, acceptsTerminal: false)

        case .evaluatePolicy, .authorize, .passcode, .verifyLog:
            RequestRule(state: .greeted, runsInline: false, tailByteCount: 0, acceptsTerminal: true)
        case .createRight:
            RequestRule(
                state: .greeted, runsInline: false, tailByteCount: WireLimits.secretByteCount, acceptsTerminal: true)
        case .listRights, .removeRight, .removeAllRights, .readLog, .diagnose:
            RequestRule(state: .greeted, runsInline: false, tailByteCount: 0, acceptsTerminal: false)
        }
    }
}

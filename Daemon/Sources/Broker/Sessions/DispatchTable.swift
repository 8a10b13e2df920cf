import OstiaryWire

/// Where a connection stands.
enum SessionState: Equatable, Sendable {
    /// Connected, identity taken, greeting sent; the caller has not echoed the nonce.
    case connected
    case greeted
}

/// Who answers a request. What asks a person, stretches a passcode or reads much has a thread of its own, so that the
/// connection's end and a cancel are seen meanwhile.
enum RequestThread: Equatable, Sendable {
    case connection
    case own
    /// The connection's, until it turns out that a person must be asked: then it begins anew on a thread of its own.
    case connectionUnlessAsking
}

/// What the daemon accepts of one kind of request.
struct RequestRule: Equatable, Sendable {
    /// The only state of the connection in which it may be sent.
    let state: SessionState
    let thread: RequestThread
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
        case .hello: RequestRule(state: .connected, thread: .connection, tailByteCount: 0, acceptsTerminal: false)

        case .status, .cancel, .openContext, .closeContext, .deauthorize, .credentialState, .findRight, .findKey, .lock:
            RequestRule(state: .greeted, thread: .connection, tailByteCount: 0, acceptsTerminal: false)
        case .setCredential: RequestRule(state: .greeted, thread: .connection, tailByteCount: 1024, acceptsTerminal: false)

        // With an authorized context these take microseconds.
        case .decapsulate: RequestRule(state: .greeted, thread: .connection, tailByteCount: 4096, acceptsTerminal: false)
        case .exchange: RequestRule(state: .greeted, thread: .connection, tailByteCount: 0, acceptsTerminal: false)
        case .sign, .decrypt:
            RequestRule(
                state: .greeted, thread: .connection, tailByteCount: WireLimits.tailByteCount, acceptsTerminal: false)
        case .readSecret: RequestRule(state: .greeted, thread: .connection, tailByteCount: 0, acceptsTerminal: false)

        case .evaluatePolicy, .evaluateAccessControl, .authorize, .createKey, .removeKey, .registerApplication,
            .removeApplication, .passcode, .verifyLog, .repair:
            RequestRule(state: .greeted, thread: .own, tailByteCount: 0, acceptsTerminal: true)
        case .createRight:
            RequestRule(
                state: .greeted, thread: .own, tailByteCount: WireLimits.secretByteCount, acceptsTerminal: true)
        // Most items ask for nothing; reading one takes microseconds, changing one a disk flush.
        case .findItems:
            RequestRule(state: .greeted, thread: .connectionUnlessAsking, tailByteCount: 0, acceptsTerminal: true)
        case .addItem, .updateItems:
            RequestRule(
                state: .greeted, thread: .connectionUnlessAsking, tailByteCount: ItemRequestLimits.dataByteCount,
                acceptsTerminal: true)
        case .listRights, .listApplications, .listKeys, .deleteItems, .removeRight, .removeAllRights, .readLog, .diagnose:
            RequestRule(state: .greeted, thread: .own, tailByteCount: 0, acceptsTerminal: false)
        }
    }
}

public import AccessControl
public import Cancellations
public import Foundation
package import OstiaryMessages
public import SecretMemory
import Synchronization
import UnixSocket

/// The factors that an evaluation proved, and their strength.
public struct Grant: Sendable, Equatable {
    /// The factors that were used, by their text names; empty when none was asked for.
    public let factors: [String]
    /// The label of the weakest part that decided, for example `key-bound`; empty when no factor was asked for.
    public let strength: String
    /// Biometry as an evaluated policy found it; nil for other grants, and without a sensor.
    package var biometry: WireBiometry?
}

/// The daemon's side of an `LAContext` or `LARight`. The daemon holds the proofs. They end with this object or with the
/// connection. Safe to use from several threads.
public final class AuthorizationContext: Sendable {
    /// The subject of an authorization: a stored right by its id, or a bare requirement without a key, or the store, which the
    /// passcode opens.
    public enum Subject: Sendable {
        case right(id: Data)
        case store
        /// The limits are those of the grant; a right has its own.
        case requirement(Requirement, limits: GrantLimits? = nil)
    }

    private struct Opened {
        let connection: DaemonConnection
        let client: DoorClient?
        let id: UInt64

        func call(
            _ body: WireRequest.OneOf_Body, tail: borrowing SecretBytes = SecretBytes(zeroed: 0),
            terminal: TerminalOffer? = nil, cancellation: Cancellation? = nil
        ) throws -> DaemonAnswer {
            try connection.call(body, tail: tail, terminal: terminal, for: client, cancellation: cancellation)
        }
    }

    private let client: OstiaryClient
    private let keepsFactors: Bool
    private let opened = Mutex<Opened?>(nil)

    /// The context is opened in the daemon when it is first needed.
    ///
    /// - Parameter keepsFactors: the daemon keeps proved factors for a bounded time, so that the next item, key or
    ///   evaluation under this context asks only for missing ones. A right's context keeps none.
    public init(client: OstiaryClient = .shared, keepsFactors: Bool = false) {
        self.client = client
        self.keepsFactors = keepsFactors
    }

    /// Whether calls of `other` may use the context. One that is made for a door's client is that client's alone.
    func isOpen(to other: OstiaryClient) -> Bool {
        client === other || client.actsFor == nil && other.actsFor == nil
    }

    deinit { invalidate() }

    /// Opens the context in the daemon now. A door does it when its client connects.
    package func begin() throws { _ = try open() }

    // MARK: asking

    /// Says whether `subject` could be authorized on this machine now, throwing the reason when not. Never prompts.
    public static func preflight(_ subject: Subject, client: OstiaryClient = .shared) throws {
        _ = try client.call(.authorize(request(subject) { $0.preflight = true }))
    }

    /// Says whether `policy` (raw value of `LAPolicy`) could be evaluated, throwing the reason when not. Never prompts.
    public static func preflight(policy: Int, client: OstiaryClient = .shared) throws {
        _ = try client.call(
            .evaluatePolicy(
                .with {
                    $0.policy = Int32(clamping: policy)
                    $0.preflight = true
                }))
    }

    /// Authorizes `subject`. Blocks while the person is asked.
    @discardableResult
    public func authorize(
        _ subject: Subject, interaction: Interaction, cancellation: Cancellation? = nil
    ) throws -> Grant {
        try grant(interaction, cancellation) { id in
            .authorize(
                Self.request(subject) {
                    $0.contextID = id
                    $0.question = interaction.question
                })
        }
    }

    /// Evaluates `policy` (raw value of `LAPolicy`). Blocks while the person is asked.
    @discardableResult
    public func evaluate(policy: Int, interaction: Interaction, cancellation: Cancellation? = nil) throws -> Grant {
        try grant(interaction, cancellation) { id in
            .evaluatePolicy(
                .with {
                    $0.contextID = id
                    $0.policy = Int32(clamping: policy)
                    $0.question = interaction.question
                    $0.reuseSeconds = interaction.reuseSeconds
                })
        }
    }

    /// Wipes the grants and ends the running evaluations. The context can be used again.
    public func deauthorize() {
        guard let opened = opened.withLock({ $0 }) else { return }
        // A failure means that the connection is gone, and the grants with it.
        _ = try? opened.call(.deauthorize(.with { $0.contextID = opened.id }))
    }

    /// Wipes the context in the daemon and ends the running evaluations. Does not wait.
    public func invalidate() {
        client.grantWatch.remove(self)
        guard let opened = opened.withLock({ $0.take() }) else { return }
        opened.connection.post(.closeContext(.with { $0.contextID = opened.id }), for: opened.client)
    }

    /// Calls `ended`, once and on another thread, when the grant that ``authorize(_:interaction:cancellation:)`` brought has ended:
    /// by a limit, a lock, the owner's order or the daemon's end. A door is told of its client's too, which also ends with the client.
    /// Not after ``invalidate()``.
    public func watchGrant(_ ended: @escaping @Sendable () -> Void) {
        guard let opened = opened.withLock({ $0 }) else { return ended() }
        client.grantWatch.add(self, on: opened.connection, for: opened.client, opened.id, ended)
    }

    /// Proves the factors that `accessControl` needs for `operation`. A context that keeps factors can then use objects
    /// under this access control without asking again. Blocks while the person is asked.
    @discardableResult
    public func evaluate(
        _ accessControl: AccessControl, for operation: AccessControl.Operation, interaction: Interaction,
        cancellation: Cancellation? = nil
    ) throws -> Grant {
        try grant(interaction, cancellation) { id in
            .evaluateAccessControl(
                .with {
                    $0.contextID = id
                    $0.accessControl = Data(accessControl.canonicalBytes)
                    $0.operation = UInt32(operation.rawValue)
                    $0.question = interaction.question
                })
        }
    }

    // MARK: credentials

    /// Gives the context a credential of `type` (raw value of `LACredentialType`), so that no prompt asks for it; nil takes
    /// it away.
    public func setCredential(_ credential: borrowing SecretBytes?, type: Int) throws {
        let id = try open()
        let request = WireSetCredentialRequest.with {
            $0.contextID = id.id
            $0.type = Int32(clamping: type)
        }
        switch credential {
        case .some(let secret):
            _ = try id.call(.setCredential(request), tail: secret)
        case .none:
            var removal = request
            removal.remove = true
            _ = try id.call(.setCredential(removal))
        }
    }

    /// Whether the context holds a credential of `type`.
    public func isCredentialSet(type: Int) throws -> Bool {
        guard let opened = opened.withLock({ $0 }) else { return false }
        let answer = try opened.call(
            .credentialState(
                .with {
                    $0.contextID = opened.id
                    $0.type = Int32(clamping: type)
                }))
        guard case .done(let done) = answer.body else { throw OstiaryClient.unexpected() }
        return done.isSet
    }

    // MARK: operations of an authorized context

    /// Signs a digest with the key of a right. The algorithm is a digest form, named by Apple's string.
    public func sign(digest: Data, right: Data, algorithm: String, cancellation: Cancellation? = nil) throws -> Data {
        let id = try openedForUse()
        var request = WireSignRequest()
        request.contextID = id.id
        request.rightID = right
        request.algorithm = algorithm
        return try Self.data(
            id.call(.sign(request), tail: SecretBytes(sending: digest), cancellation: cancellation))
    }

    /// Signs a message of at most 1 MiB with an ML-DSA key of the enclave, for a context of at most 255 bytes (FIPS 204).
    public func sign(message: Data, context: Data, key: Data) throws -> Data {
        let id = try openedForUse()
        let request = WireSignRequest.with {
            $0.contextID = id.id
            $0.rightID = key
            $0.algorithm = "algid:sign:ML-DSA:message:context"
            $0.signatureContext = context
        }
        return try Self.data(id.call(.sign(request), tail: SecretBytes(sending: message)))
    }

    /// Decrypts with the key of a right (ECIES). The plaintext arrives as a secret.
    public func decrypt(
        _ ciphertext: Data, right: Data, algorithm: String, cancellation: Cancellation? = nil
    ) throws -> SecretBytes {
        let id = try openedForUse()
        let request = WireDecryptRequest.with {
            $0.contextID = id.id
            $0.rightID = right
            $0.algorithm = algorithm
        }
        return try id.call(
            .decrypt(request), tail: SecretBytes(sending: ciphertext), cancellation: cancellation
        ).takeTail()
    }

    /// Exchanges keys with the key of a right (ECDH). `requestedSize` and `sharedInfo` belong to the X9.63 forms.
    public func exchange(
        publicKey: Data, right: Data, algorithm: String, requestedSize: Int?, sharedInfo: Data?,
        cancellation: Cancellation? = nil
    ) throws -> SecretBytes {
        let id = try openedForUse()
        let request = WireExchangeRequest.with {
            $0.contextID = id.id
            $0.rightID = right
            $0.algorithm = algorithm
            $0.peerPublicKey = publicKey
            $0.requestedSize = UInt32(clamping: requestedSize ?? 0)
            $0.sharedInfo = sharedInfo ?? Data()
        }
        return try id.call(.exchange(request), cancellation: cancellation).takeTail()
    }

    /// The secret that was stored with a right; throws `noSecret` when there is none.
    public func secret(ofRight right: Data, cancellation: Cancellation? = nil) throws -> SecretBytes {
        let id = try openedForUse()
        let request = WireReadSecretRequest.with {
            $0.contextID = id.id
            $0.rightID = right
        }
        return try id.call(.readSecret(request), cancellation: cancellation).takeTail()
    }

    /// Opens an encapsulated key with an ML-KEM key of the enclave; the shared secret arrives as one.
    public func decapsulate(
        _ encapsulated: Data, key: Data, cancellation: Cancellation? = nil
    ) throws -> SecretBytes {
        let id = try openedForUse()
        let request = WireDecapsulateRequest.with {
            $0.contextID = id.id
            $0.keyID = key
        }
        return try id.call(
            .decapsulate(request), tail: SecretBytes(sending: encapsulated), cancellation: cancellation
        ).takeTail()
    }

    /// The chip's statement on the key of a right, for a challenge of 16 to 1024 bytes.
    public func attestation(
        challenge: Data, right: Data, cancellation: Cancellation? = nil
    ) throws -> Data {
        let id = try openedForUse()
        let request = WireAttestRequest.with { ($0.contextID, $0.rightID) = (id.id, right) }
        return Data(
            exposing: try id.call(
                .attest(request), tail: SecretBytes(sending: challenge), cancellation: cancellation
            ).takeTail())
    }

    // MARK: the context on the daemon's side

    /// Calls on the connection that holds this context, which is opened when it is not yet.
    func call(
        tail: borrowing SecretBytes, terminal: TerminalOffer?, cancellation: Cancellation?,
        _ body: (UInt64) -> WireRequest.OneOf_Body
    ) throws -> DaemonAnswer {
        let opened = try open()
        return try opened.call(body(opened.id), tail: tail, terminal: terminal, cancellation: cancellation)
    }

    /// Opens the context on first use, and again after its connection was lost: with the connection the grants are gone.
    private func open() throws -> Opened {
        try opened.withLock { opened in
            if let current = opened, !current.connection.isLost { return current }
            let fresh = try openAgain()
            opened = fresh
            return fresh
        }
    }

    private func openAgain() throws -> Opened {
        do { return try openAgain(on: client.connection()) } catch  where DaemonConnection.isUnsent(error) {
            return try openAgain(on: client.connection())
        }
    }

    private func openAgain(on connection: DaemonConnection) throws -> Opened {
        let answer = try connection.call(.openContext(.with { $0.keepsFactors = keepsFactors }), for: client.actsFor)
        guard case .context(let context) = answer.body else { throw OstiaryClient.unexpected() }
        return Opened(connection: connection, client: client.actsFor, id: context.contextID)
    }

    /// The context, for calls that mean nothing on another one.
    private func openedForUse() throws -> Opened {
        guard let opened = opened.withLock({ $0 }) else {
            throw OstiaryError(.init(.notAuthorized), "The right is not authorized; authorize it first.")
        }
        return opened
    }

    private func grant(
        _ interaction: Interaction, _ cancellation: Cancellation?, _ body: (UInt64) -> WireRequest.OneOf_Body
    ) throws -> Grant {
        let opened = try open()
        let answer = try opened.call(
            body(opened.id), terminal: interaction.terminal, cancellation: cancellation)
        guard case .granted(let granted) = answer.body else { throw OstiaryClient.unexpected() }
        return Grant(factors: granted.factors, strength: granted.strength, biometry: granted.biometry)
    }

    private static func request(
        _ subject: Subject, _ fill: (inout WireAuthorizeRequest) -> Void
    ) -> WireAuthorizeRequest {
        .with {
            switch subject {
            case .right(let id): $0.subject = .rightID(id)
            case .store: $0.subject = .store(WireStoreSubject())
            case .requirement(let requirement, let limits):
                $0.subject = .requirement(Data(requirement.canonicalBytes))
                $0.limits = limits.map { limits in
                    .with {
                        ($0.idleSeconds, $0.hardSeconds, $0.uses) = (
                            limits.idleSeconds, limits.hardSeconds, limits.uses
                        )
                        $0.isAtTrustedPlace = limits.isAtTrustedPlace
                    }
                }
            }
            fill(&$0)
        }
    }

    private static func data(_ answer: consuming DaemonAnswer) throws -> Data {
        Data(exposing: answer.tail)
    }
}

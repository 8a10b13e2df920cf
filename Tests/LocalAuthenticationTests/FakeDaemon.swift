import AccessControl
import Cancellations
import Foundation
import LocalAuthentication
@testable import OstiaryClient
import OstiaryMessages
import SecretMemory
import Synchronization
import Testing

/// A daemon in this process that answers as a test says and records what it was asked.
final class FakeDaemon: AuthorizationService {
    enum Call: Equatable {
        case preflight, preflightPolicy(Int)
        case authorize(reason: String, isAllowed: Bool), evaluate(policy: Int, isAllowed: Bool)
        case evaluateAccess(AccessControl, AccessControl.Operation, isAllowed: Bool)
        case deauthorize, invalidate
        case sign(digest: Data, algorithm: String), decrypt(algorithm: String)
        case exchange(algorithm: String, requestedSize: Int?, sharedInfo: Data?), readSecret
        case create(identifier: String, AccessControl, secret: Data?), find(String), removeID(Data), remove(String),
            removeAll
        case setCredential(type: Int, Data?)
        case confirmAndSign(Data, algorithm: String, reason: String), confirmAndAttest(Data, reason: String)
    }

    /// What the daemon does when somebody is to be asked.
    enum Answer {
        case grant
        case refuse(OstiaryError)
        case ask(Prompt)
    }

    private struct State {
        var calls: [Call] = []
        var answers: [Answer] = []
        var preflightError: OstiaryError?
        var policyErrors: [Int: OstiaryError] = [:]
        var useError: OstiaryError?
        var rights: [String: StoredRight] = [:]
        var secrets: [Data: Data] = [:]
        var sessions: [FakeSession] = []
        var waiting: [(Call, CheckedContinuation<Void, Never>)] = []
        var environment: WireEnvironment? = .with { $0.biometry = .with { $0.type = 1 } }
        var watches: [FakeWatch] = []
        var reuse: [Double] = []
        var terminals: [Bool] = []
    }

    private let state = Mutex(State())

    init(answers: [Answer] = []) { state.withLock { $0.answers = answers } }

    var calls: [Call] { state.withLock { $0.calls } }
    /// The calls but those that a released context or right makes.
    var questions: [Call] { calls.filter { $0 != .invalidate } }
    func refusePreflight(_ error: OstiaryError?) { state.withLock { $0.preflightError = error } }
    func refusePreflight(policy: Int, _ error: OstiaryError) { state.withLock { $0.policyErrors[policy] = error } }
    func refuseUse(_ error: OstiaryError?) { state.withLock { $0.useError = error } }
    func answerNext(_ answer: Answer) { state.withLock { $0.answers.append(answer) } }

    /// Makes the owner's environment another one, and tells whoever watches it; nil for a daemon that does not answer.
    func setEnvironment(_ environment: WireEnvironment?) {
        let watches = state.withLock { state in
            state.environment = environment
            return state.watches
        }
        if let environment { for watch in watches { watch.tell(environment) } }
    }

    /// The watches that nobody has ended.
    var watchCount: Int { state.withLock { $0.watches.count { !$0.isEnded } } }

    fileprivate func requirePossible(_ policy: Int) throws {
        if let error = state.withLock({ $0.policyErrors[policy] }) { throw error }
    }

    fileprivate func noteTerminal(_ isOffered: Bool) { state.withLock { $0.terminals.append(isOffered) } }

    /// Whether each question for a right might be put on the program's terminal.
    var terminals: [Bool] { state.withLock { $0.terminals } }

    fileprivate func noteReuse(_ seconds: Double) { state.withLock { $0.reuse.append(seconds) } }

    /// What each evaluation of a policy allowed to be reused, in seconds.
    var reuse: [Double] { state.withLock { $0.reuse } }

    fileprivate func record(_ call: Call) {
        let reached = state.withLock { state in
            state.calls.append(call)
            defer { state.waiting.removeAll { $0.0 == call } }
            return state.waiting.filter { $0.0 == call }
        }
        for (_, continuation) in reached { continuation.resume() }
    }

    /// Returns when the daemon is next asked for `call`.
    func waitForNext(_ call: Call, after action: () -> Void) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiting.append((call, continuation)) }
            action()
        }
    }

    /// Does what `ostiary lock` does.
    func takeGrantsBack() { for session in state.withLock({ $0.sessions }) { session.loseGrant() } }

    /// Ends all grants, and says so.
    func endGrants() { for session in state.withLock({ $0.sessions }) { session.tellEndOfGrant() } }

    fileprivate func nextAnswer() -> Answer {
        state.withLock { $0.answers.isEmpty ? .grant : $0.answers.removeFirst() }
    }

    fileprivate func use(_ call: Call) throws {
        record(call)
        if let error = state.withLock({ $0.useError }) { throw error }
    }

    fileprivate func secret(of right: Data) throws -> Data {
        guard let secret = state.withLock({ $0.secrets[right] }) else { throw OstiaryError(.init(.noSecret), "none") }
        return secret
    }

    // MARK: AuthorizationService

    func preflight(_ subject: AuthorizationContext.Subject) throws {
        record(.preflight)
        if let error = state.withLock({ $0.preflightError }) { throw error }
    }

    func preflight(policy: Int) throws {
        record(.preflightPolicy(policy))
        try requirePossible(policy)
    }

    func environment() throws -> WireEnvironment {
        guard let environment = state.withLock({ $0.environment }) else {
            throw OstiaryError(.daemonUnavailable, "no daemon")
        }
        return environment
    }

    func watchEnvironment() -> any EnvironmentWatching {
        let watch = FakeWatch()
        let environment = state.withLock { state in
            state.watches.append(watch)
            return state.environment
        }
        if let environment { watch.tell(environment) }
        return watch
    }

    func makeSession(keepsFactors: Bool) -> any AuthorizationSession {
        let session = FakeSession(daemon: self)
        state.withLock { $0.sessions.append(session) }
        return session
    }

    func createRight(
        _ identifier: String, accessControl: AccessControl, secret: borrowing SecretBytes?
    ) throws -> StoredRight {
        let bytes: Data? =
            switch secret {
            case .some(let secret): Data(exposing: secret)
            case .none: nil
            }
        record(.create(identifier: identifier, accessControl, secret: bytes))
        let right = StoredRight(
            id: Data((0..<16).map { _ in UInt8.random(in: 0...255) }), identifier: identifier,
            accessControl: accessControl,
            publicKey: TestKey.publicKey, hasSecret: bytes != nil, createdAt: Date(), enclaveKind: "software",
            application: "test", sshConstraints: nil)
        return try state.withLock { state in
            guard state.rights[identifier] == nil else { throw OstiaryError(.init(.duplicate), "taken") }
            state.rights[identifier] = right
            state.secrets[right.id] = bytes
            return right
        }
    }

    func right(_ identifier: String) throws -> StoredRight {
        record(.find(identifier))
        guard let right = state.withLock({ $0.rights[identifier] }) else {
            throw OstiaryError(.init(.notFound), "none")
        }
        return right
    }

    func removeRight(id: Data) throws {
        record(.removeID(id))
        try state.withLock { state in
            guard let right = state.rights.values.first(where: { $0.id == id }) else {
                throw OstiaryError(.init(.notFound), "none")
            }
            state.rights[right.identifier] = nil
        }
    }

    func removeRight(_ identifier: String) throws {
        record(.remove(identifier))
        guard state.withLock({ $0.rights.removeValue(forKey: identifier) }) != nil else {
            throw OstiaryError(.init(.notFound), "none")
        }
    }

    func confirmAndSign(
        _ data: Data, right: Data, algorithm: String, interaction: Interaction, cancellation: Cancellation?
    ) throws -> Data {
        record(.confirmAndSign(data, algorithm: algorithm, reason: interaction.reason))
        if let error = state.withLock({ $0.useError }) { throw error }
        return Data("confirmed".utf8)
    }

    func confirmAndAttest(
        challenge: Data, right: Data, interaction: Interaction, cancellation: Cancellation?
    ) throws -> Data {
        record(.confirmAndAttest(challenge, reason: interaction.reason))
        if let error = state.withLock({ $0.useError }) { throw error }
        return Data("statement".utf8)
    }

    func removeAllRights() throws {
        record(.removeAll)
        state.withLock { $0.rights = [:] }
    }
}

/// A watch on the daemon's side.
final class FakeWatch: EnvironmentWatching {
    private struct State {
        var current: WireEnvironment?
        var isEnded = false
    }

    private let state = Mutex(State())
    private let changed = DispatchSemaphore(value: 0)

    var isEnded: Bool { state.withLock { $0.isEnded } }

    func tell(_ environment: WireEnvironment) {
        state.withLock { $0.current = environment }
        changed.signal()
    }

    func next(after known: WireEnvironment?) -> WireEnvironment? {
        while true {
            let (current, isEnded) = state.withLock { ($0.current, $0.isEnded) }
            if isEnded { return nil }
            if let current, current != known { return current }
            changed.wait()
        }
    }

    func end() {
        state.withLock { $0.isEnded = true }
        changed.signal()
    }
}

/// A prompt on the daemon's side, answered by the test. A cancellation answers it too, as with the real daemon.
final class Prompt: Sendable {
    private let ignoresCancellation: Bool
    private let (appearance, appeared) = AsyncStream.makeStream(of: Void.self)
    private let answered = DispatchSemaphore(value: 0)
    private let result = Mutex<OstiaryError??>(nil)

    /// With `ignoresCancellation` the answer of the person crosses the cancellation on its way.
    init(ignoresCancellation: Bool = false) { self.ignoresCancellation = ignoresCancellation }

    /// Waits until it is on the screen; for one task, once.
    func appears() async { for await _ in appearance { return } }

    func accept() { answer(nil) }
    func refuse(_ failure: WireFailureCode) { answer(OstiaryError(.init(failure), "refused")) }

    private func answer(_ error: OstiaryError?) {
        let isFirst = result.withLock { result in
            guard result == nil else { return false }
            result = .some(error)
            return true
        }
        if isFirst { answered.signal() }
    }

    fileprivate func show(_ cancellation: Cancellation?) throws {
        let ending = try cancellation?.begin { if !self.ignoresCancellation { self.refuse(.appCancel) } }
        appeared.yield()
        answered.wait()
        if let ending { cancellation?.remove(ending) }
        if let error = result.withLock({ $0 ?? nil }) { throw error }
    }
}

/// A context on the daemon's side.
final class FakeSession: AuthorizationSession {
    private let daemon: FakeDaemon
    private let isGranted = Mutex(false)
    private let credentials = Mutex<[Int: Data]>([:])

    fileprivate init(daemon: FakeDaemon) { self.daemon = daemon }

    func authorize(
        _ subject: AuthorizationContext.Subject, interaction: Interaction, cancellation: Cancellation?
    ) throws -> Grant {
        daemon.record(.authorize(reason: interaction.reason, isAllowed: interaction.isAllowed))
        if interaction.isAllowed { daemon.noteTerminal(interaction.offersTerminal) }
        return try grant(interaction, cancellation)
    }

    func evaluate(policy: Int, interaction: Interaction, cancellation: Cancellation?) throws -> Grant {
        daemon.record(.evaluate(policy: policy, isAllowed: interaction.isAllowed))
        daemon.noteReuse(interaction.reuseSeconds)
        if !isGranted.withLock({ $0 }) { try daemon.requirePossible(policy) }
        var grant = try grant(interaction, cancellation)
        grant.biometry = try? daemon.environment().biometry
        return grant
    }

    func evaluate(
        _ accessControl: AccessControl, for operation: AccessControl.Operation, interaction: Interaction,
        cancellation: Cancellation?
    ) throws -> Grant {
        daemon.record(.evaluateAccess(accessControl, operation, isAllowed: interaction.isAllowed))
        return try grant(interaction, cancellation)
    }

    let daemonContext = AuthorizationContext()

    private func grant(_ interaction: Interaction, _ cancellation: Cancellation?) throws -> Grant {
        if let ending = try cancellation?.begin({}) { cancellation?.remove(ending) }
        guard !interaction.reason.isEmpty else { throw OstiaryError(.init(.emptyReason), "no reason") }
        if isGranted.withLock({ $0 }) { return Self.grant }
        guard interaction.isAllowed else { throw OstiaryError(.init(.notInteractive), "no prompt") }
        switch daemon.nextAnswer() {
        case .grant: break
        case .refuse(let error): throw error
        case .ask(let prompt): try prompt.show(cancellation)
        }
        isGranted.withLock { $0 = true }
        return Self.grant
    }

    private static let grant = Grant(factors: ["passcode"], strength: "key-bound")

    func loseGrant() { isGranted.withLock { $0 = false } }

    private let watcher = Mutex<(@Sendable () -> Void)?>(nil)

    func watchGrant(_ ended: @escaping @Sendable () -> Void) { watcher.withLock { $0 = ended } }

    func tellEndOfGrant() {
        loseGrant()
        watcher.withLock { $0.take() }?()
    }

    func deauthorize() {
        daemon.record(.deauthorize)
        isGranted.withLock { $0 = false }
    }

    func invalidate() {
        daemon.record(.invalidate)
        isGranted.withLock { $0 = false }
    }

    func setCredential(_ credential: borrowing SecretBytes?, type: Int) throws {
        guard type == LACredentialType.applicationPassword.rawValue else {
            throw OstiaryError(.init(.invalidParameter), "type")
        }
        let bytes: Data? =
            switch credential {
            case .some(let secret): Data(exposing: secret)
            case .none: nil
            }
        daemon.record(.setCredential(type: type, bytes))
        credentials.withLock { $0[type] = bytes }
    }

    func isCredentialSet(type: Int) throws -> Bool { credentials.withLock { $0[type] != nil } }

    private func checkGrant() throws {
        guard isGranted.withLock({ $0 }) else { throw OstiaryError(.init(.notAuthorized), "not authorized") }
    }

    func sign(digest: Data, right: Data, algorithm: String, cancellation: Cancellation?) throws -> Data {
        try daemon.use(.sign(digest: digest, algorithm: algorithm))
        try checkGrant()
        return try TestKey.signature(ofSHA256: digest)
    }

    func decrypt(
        _ ciphertext: Data, right: Data, algorithm: String, cancellation: Cancellation?
    ) throws -> SecretBytes {
        try daemon.use(.decrypt(algorithm: algorithm))
        try checkGrant()
        return try TestKey.decrypt(ciphertext, algorithm: algorithm)
    }

    func exchange(
        publicKey: Data, right: Data, algorithm: String, requestedSize: Int?, sharedInfo: Data?,
        cancellation: Cancellation?
    ) throws -> SecretBytes {
        try daemon.use(.exchange(algorithm: algorithm, requestedSize: requestedSize, sharedInfo: sharedInfo))
        try checkGrant()
        return SecretBytes(Data(repeating: 7, count: requestedSize ?? 32))
    }

    func secret(ofRight right: Data, cancellation: Cancellation?) throws -> SecretBytes {
        try daemon.use(.readSecret)
        try checkGrant()
        return SecretBytes(try daemon.secret(of: right))
    }

    func attestation(challenge: Data, right: Data, cancellation: Cancellation?) throws -> Data {
        try checkGrant()
        return challenge + right
    }
}

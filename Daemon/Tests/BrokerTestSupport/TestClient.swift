public import AccessControl
import Crypto
public import Foundation
public import OstiaryMessages
import OstiaryWire
public import SecretMemory
public import UnixSocket

/// What the broker answered instead of what was asked for.
public struct Refused: Error, Equatable, CustomStringConvertible {
    public let code: WireFailureCode?
    public let cause: String
    public let explanation: String
    public let retryAfter: Duration

    public var description: String { "\(code.map { "\($0)" } ?? "unknown code") (\(cause)): \(explanation)" }
}

/// The code of what `body` was refused with; nil when it was carried out. Other errors are thrown.
public func refusal(_ body: () throws -> Void) throws -> WireFailureCode? {
    do {
        try body()
        return nil
    } catch let refused as Refused { return refused.code }
}

/// A program that speaks the wire's protocol, one request at a time.
public final class TestClient {
    private let socket: UnixSocket
    private var reader: FrameReader
    private var lastID: UInt64 = 0
    /// What the broker greeted with.
    public let nonce: Data

    public init(socketPath: String) throws {
        socket = try UnixSocket.connect(to: socketPath)
        reader = FrameReader(socket: socket)
        let greeting = try reader.next(WireGreeting.self).message
        nonce = greeting.nonce
        try done(
            .hello(
                .with {
                    $0.protocolVersion = WireLimits.protocolVersion
                    $0.nonce = greeting.nonce
                }))
    }

    deinit { socket.shutdown() }

    /// Ends the connection.
    public func end() { socket.shutdown() }

    // MARK: one request

    /// Sends a request and waits for its answer.
    @discardableResult
    public func call(
        _ body: WireRequest.OneOf_Body, tail: borrowing SecretBytes = SecretBytes(zeroed: 0)
    ) throws -> (body: WireReply.OneOf_Body, tail: Data) {
        let id = try send(body, tail: tail)
        let answer = try answer()
        guard answer.id == id else { throw UnexpectedAnswer() }
        if let refused = answer.refused { throw refused }
        return (answer.body, answer.tail)
    }

    /// Sends a request without waiting for its answer; returns its id.
    @discardableResult
    public func send(
        _ body: WireRequest.OneOf_Body, tail: borrowing SecretBytes = SecretBytes(zeroed: 0)
    ) throws -> UInt64 {
        lastID += 1
        try send(body, id: lastID, tail: tail)
        return lastID
    }

    /// Sends a request with an id of the caller's choice.
    public func send(
        _ body: WireRequest.OneOf_Body, id: UInt64, tail: borrowing SecretBytes = SecretBytes(zeroed: 0)
    ) throws {
        try FrameWriter.send(
            WireRequest.with {
                $0.id = id
                $0.body = body
            }, tail: tail, on: socket)
    }

    /// Sends a request for a client, as a door does; returns its id.
    ///
    /// - Parameters:
    ///   - process: a pidfd of the client.
    ///   - terminal: the client's, if it is asked there.
    @discardableResult
    public func send(
        _ body: WireRequest.OneOf_Body, for process: SharedDescriptor, on terminal: SharedDescriptor? = nil,
        tail: Data = Data()
    ) throws -> UInt64 {
        lastID += 1
        let request = WireRequest.with {
            ($0.id, $0.body) = (lastID, body)
            $0.onBehalf = .with { $0.descriptors = terminal == nil ? [.process] : [.process, .terminal] }
        }
        let descriptors = [process.number] + (terminal.map { [$0.number] } ?? [])
        try FrameWriter.send(request, tail: SecretBytes(bytes: tail), descriptors: descriptors, on: socket)
        return lastID
    }

    /// Waits for the next answer, whichever request it belongs to.
    public func answer() throws -> (id: UInt64, body: WireReply.OneOf_Body, tail: Data, refused: Refused?) {
        let frame = try reader.next(WireReply.self)
        let reply = frame.message
        guard let body = reply.body else { throw UnexpectedAnswer() }
        return (reply.id, body, frame.tail.withUnsafeBytes { Data($0) }, Self.refused(body))
    }

    private static func refused(_ body: WireReply.OneOf_Body) -> Refused? {
        guard case .failure(let failure) = body else { return nil }
        return Refused(
            code: WireFailureCode(rawValue: Int(failure.code)), cause: failure.cause, explanation: failure.explanation,
            retryAfter: .seconds(failure.retryAfterSeconds))
    }

    public struct UnexpectedAnswer: Error { public init() {} }

    private func done(_ body: WireRequest.OneOf_Body) throws {
        guard case .done = try call(body).body else { throw UnexpectedAnswer() }
    }

    public static let question = WireQuestion.with { $0.reason = "a test" }

    // MARK: rights

    @discardableResult
    public func create(
        _ name: String, _ accessControl: AccessControl, secret: String? = nil, replace: Bool = false
    ) throws -> WireRight {
        let request = WireCreateRightRequest.with {
            $0.identifier = name
            $0.accessControl = Data(accessControl.canonicalBytes)
            $0.replace = replace
            $0.hasSecret_p = secret != nil
            $0.question = Self.question
        }
        guard case .right(let right) = try call(.createRight(request), tail: SecretBytes(text: secret ?? "")).body
        else {
            throw UnexpectedAnswer()
        }
        return right
    }

    public func find(_ name: String) throws -> WireRight {
        guard case .right(let right) = try call(.findRight(.with { $0.identifier = name })).body else {
            throw UnexpectedAnswer()
        }
        return right
    }

    public func list(ofAllApplications: Bool = false) throws -> [WireRight] {
        var (rights, cursor): ([WireRight], Data) = ([], Data())
        repeat {
            let request = WireListRightsRequest.with { ($0.ofAllApplications, $0.cursor) = (ofAllApplications, cursor) }
            guard case .rights(let page) = try call(.listRights(request)).body else { throw UnexpectedAnswer() }
            rights += page.rights
            cursor = page.next
        } while !cursor.isEmpty
        return rights
    }

    public func remove(_ name: String) throws { try done(.removeRight(.with { $0.which = .identifier(name) })) }

    public func remove(id: Data) throws { try done(.removeRight(.with { $0.which = .rightID(id) })) }

    public func removeAll() throws { try done(.removeAllRights(.init())) }

    // MARK: contexts

    public func openContext(keepingFactors: Bool = false) throws -> UInt64 {
        let request = WireOpenContextRequest.with { $0.keepsFactors = keepingFactors }
        guard case .context(let opened) = try call(.openContext(request)).body else { throw UnexpectedAnswer() }
        return opened.contextID
    }

    /// Authorizes a right in a context and returns the names of the factors that were proved.
    @discardableResult
    public func authorize(
        rightID: Data, in context: UInt64, preflight: Bool = false, interactive: Bool = true
    ) throws -> [String] {
        let request = WireAuthorizeRequest.with {
            $0.contextID = context
            $0.subject = .rightID(rightID)
            $0.preflight = preflight
            $0.question = Self.question
            $0.question.interactionNotAllowed = !interactive
        }
        switch try call(.authorize(request)).body {
        case .granted(let granted): return granted.factors
        case .done where preflight: return []
        default: throw UnexpectedAnswer()
        }
    }

    /// Authorizes a requirement that no right is behind.
    @discardableResult
    public func authorize(
        _ requirement: Requirement, in context: UInt64, interactive: Bool = true, limits: WireGrantLimits? = nil
    ) throws -> [String] {
        let request = WireAuthorizeRequest.with {
            $0.limits = limits
            $0.contextID = context
            $0.subject = .requirement(Data(requirement.canonicalBytes))
            $0.question = Self.question
            $0.question.interactionNotAllowed = !interactive
        }
        guard case .granted(let granted) = try call(.authorize(request)).body else { throw UnexpectedAnswer() }
        return granted.factors
    }

    public func authorize(_ right: WireRight, in context: UInt64) throws -> [String] {
        try authorize(rightID: right.rightID, in: context)
    }

    /// Authorizes a right by its name in a new context, which is returned.
    @discardableResult
    public func authorize(_ name: String) throws -> UInt64 {
        let context = try openContext()
        try authorize(rightID: find(name).rightID, in: context)
        return context
    }

    /// How the owner can be authenticated; waits until that is another state than `known`.
    public func environment(after known: WireEnvironment? = nil) throws -> WireEnvironment {
        guard case .environment(let state) = try call(.environment(.with { $0.known = known })).body else {
            throw UnexpectedAnswer()
        }
        return state
    }

    /// Throws what a policy would be refused with.
    public func preflight(policy: Int32) throws {
        try done(.evaluatePolicy(.with { ($0.policy, $0.preflight) = (policy, true) }))
    }

    /// Evaluates a policy and returns the names of the factors that were proved.
    @discardableResult
    public func evaluatePolicy(
        _ policy: Int32, in context: UInt64, reusing seconds: Double = 0, question: WireQuestion = question
    ) throws -> [String] {
        let request = WireEvaluatePolicyRequest.with {
            $0.contextID = context
            $0.policy = policy
            $0.question = question
            $0.reuseSeconds = seconds
        }
        guard case .granted(let granted) = try call(.evaluatePolicy(request)).body else { throw UnexpectedAnswer() }
        return granted.factors
    }

    /// Proves what an access control asks for an operation; returns the names of the factors that this stands on.
    @discardableResult
    public func evaluate(
        _ accessControl: AccessControl, _ operation: AccessControl.Operation, in context: UInt64,
        interactive: Bool = true
    ) throws -> [String] {
        let request = WireEvaluateAccessControlRequest.with {
            $0.contextID = context
            $0.accessControl = Data(accessControl.canonicalBytes)
            $0.operation = UInt32(operation.rawValue)
            $0.question = Self.question
            $0.question.interactionNotAllowed = !interactive
        }
        guard case .granted(let granted) = try call(.evaluateAccessControl(request)).body else {
            throw UnexpectedAnswer()
        }
        return granted.factors
    }

    public func close(_ context: UInt64) throws { try done(.closeContext(.with { $0.contextID = context })) }

    public func deauthorize(_ context: UInt64) throws { try done(.deauthorize(.with { $0.contextID = context })) }

    public func setApplicationPassword(_ password: String, in context: UInt64) throws {
        _ = try call(.setCredential(.with { $0.contextID = context }), tail: SecretBytes(text: password))
    }

    // MARK: uses

    /// Signs a fixed challenge and returns whether the signature verifies under the right's public key.
    public func sign(_ right: WireRight, in context: UInt64) throws -> Bool {
        let digest = SHA256.hash(data: Data("challenge".utf8))
        let request = WireSignRequest.with {
            $0.contextID = context
            $0.rightID = right.rightID
            $0.algorithm = "algid:sign:ECDSA:digest-X962:SHA256"
        }
        let signature = try call(.sign(request), tail: SecretBytes(bytes: Array(digest))).tail
        return try P256.Signing.PublicKey(x963Representation: right.publicKey)
            .isValidSignature(P256.Signing.ECDSASignature(derRepresentation: signature), for: digest)
    }

    /// Signs `data` with a right that confirms each signature.
    public func confirmAndSign(
        _ data: Data, with right: WireRight, _ algorithm: String = "algid:sign:ECDSA:message-X962:SHA256"
    ) throws -> Data {
        let request = WireConfirmedSignRequest.with {
            ($0.rightID, $0.algorithm, $0.question) = (right.rightID, algorithm, Self.question)
        }
        return try call(.confirmedSign(request), tail: SecretBytes(bytes: data)).tail
    }

    public func secret(of right: WireRight, in context: UInt64) throws -> String {
        let answer = try call(
            .readSecret(
                .with {
                    $0.contextID = context
                    $0.rightID = right.rightID
                }))
        return String(decoding: answer.tail, as: UTF8.self)
    }

    /// Key exchange with a fresh key; returns whether both sides have the same secret.
    public func exchange(_ right: WireRight, in context: UInt64) throws -> Bool {
        let peer = P256.KeyAgreement.PrivateKey()
        let request = WireExchangeRequest.with {
            $0.contextID = context
            $0.rightID = right.rightID
            $0.algorithm = "algid:keyexchange:ECDH"
            $0.peerPublicKey = peer.publicKey.x963Representation
        }
        let shared = try call(.exchange(request)).tail
        let expected = try peer.sharedSecretFromKeyAgreement(
            with: P256.KeyAgreement.PublicKey(x963Representation: right.publicKey))
        return expected.withUnsafeBytes { Data($0) } == shared
    }

    public func decrypt(_ ciphertext: Data, with right: WireRight, in context: UInt64) throws -> Data {
        let request = WireDecryptRequest.with {
            $0.contextID = context
            $0.rightID = right.rightID
            $0.algorithm = "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM"
        }
        return try call(.decrypt(request), tail: SecretBytes(bytes: ciphertext)).tail
    }

    // MARK: enclave keys

    public func createKey(
        _ kind: WireKeyKind, _ accessControl: AccessControl, in context: UInt64 = 0, group: String = "",
        asking: Bool = true, awaitsItem: Bool = false
    ) throws -> WireKey {
        let request = WireCreateKeyRequest.with {
            $0.kind = kind
            $0.accessControl = Data(accessControl.canonicalBytes)
            $0.shownAccessControl = Data("shown".utf8)
            $0.accessGroup = group
            $0.awaitsItem = awaitsItem
            $0.use.contextID = context
            if asking { $0.use.question = Self.question }
        }
        guard case .key(let key) = try call(.createKey(request)).body else { throw UnexpectedAnswer() }
        return key
    }

    public func findKey(_ id: Data) throws -> WireKey {
        guard case .key(let key) = try call(.findKey(.with { $0.keyID = id })).body else { throw UnexpectedAnswer() }
        return key
    }

    public func removeKey(_ id: Data) throws { try done(.removeKey(.with { $0.keyID = id })) }

    /// Removes a key whichever program's it is.
    public func removeKeyOfAnyGroup(_ id: Data, interactive: Bool = true) throws {
        try done(
            .removeKey(
                .with {
                    $0.keyID = id
                    $0.ofAnyGroup = true
                    $0.question = Self.question
                    $0.question.interactionNotAllowed = !interactive
                }))
    }

    /// The keys of all programs.
    public func listKeys() throws -> [WireListedKey] {
        var (keys, offset): ([WireListedKey], UInt32) = ([], 0)
        repeat {
            guard case .keys(let page) = try call(.listKeys(.with { $0.offset = offset })).body else {
                throw UnexpectedAnswer()
            }
            keys += page.keys
            offset = page.next
        } while offset != 0
        return keys
    }

    /// The groups with keys that no item refers to.
    public func unusedKeys(group: String = "", since time: Double? = nil) throws -> [WireUnusedKeyGroup] {
        try pruneKeys(group: group, since: time, removes: false).groups
    }

    /// Destroys the unused keys of a group; returns how many.
    @discardableResult
    public func removeUnusedKeys(group: String, since time: Double? = nil) throws -> Int {
        Int(try pruneKeys(group: group, since: time, removes: true).removedCount)
    }

    private func pruneKeys(group: String, since time: Double?, removes: Bool) throws -> WireUnusedKeys {
        let request = WirePruneKeysRequest.with {
            $0.accessGroup = group
            $0.unusedSince = time
            $0.removes = removes
            $0.question = Self.question
        }
        guard case .unusedKeys(let keys) = try call(.pruneKeys(request)).body else { throw UnexpectedAnswer() }
        return keys
    }

    public func sign(
        _ message: Data, _ algorithm: String, for signatureContext: Data = Data(), with key: WireKey, in context: UInt64
    ) throws -> Data {
        let request = WireSignRequest.with {
            $0.contextID = context
            $0.rightID = key.keyID
            $0.algorithm = algorithm
            $0.signatureContext = signatureContext
        }
        return try call(.sign(request), tail: SecretBytes(bytes: message)).tail
    }

    public func decapsulate(_ encapsulated: Data, with key: WireKey, in context: UInt64) throws -> Data {
        let request = WireDecapsulateRequest.with {
            $0.contextID = context
            $0.keyID = key.keyID
        }
        return try call(.decapsulate(request), tail: SecretBytes(bytes: encapsulated)).tail
    }

    // MARK: the owner's requests

    public func passcode(_ action: WirePasscodeAction) throws {
        try done(
            .passcode(
                .with {
                    $0.action = action
                    $0.question = Self.question
                }))
    }

    public func lock() throws { try done(.lock(.init())) }

    public func status() throws -> WireStatus {
        guard case .status(let status) = try call(.status(.init())).body else { throw UnexpectedAnswer() }
        return status
    }

    public func diagnosis() throws -> WireDiagnosis {
        guard case .diagnosis(let diagnosis) = try call(.diagnose(.init())).body else { throw UnexpectedAnswer() }
        return diagnosis
    }

    public func repair() throws -> [WireRelisting] {
        guard case .repair(let repair) = try call(.repair(.with { $0.question = Self.question })).body else {
            throw UnexpectedAnswer()
        }
        return repair.lists
    }

    /// The whole audit log.
    public func log() throws -> [WireLogRecord] {
        var records: [WireLogRecord] = []
        while true {
            let request = WireReadLogRequest.with {
                $0.firstIndex = UInt64(records.count)
                $0.limit = WireLimits.logPageCount
            }
            guard case .logPage(let page) = try call(.readLog(request)).body else { throw UnexpectedAnswer() }
            records += page.records
            if page.records.isEmpty || UInt64(records.count) >= page.recordCount { return records }
        }
    }

    /// - Parameter interactive: whether the passcode may be asked for, which the seals need.
    public func verifyLog(interactive: Bool) throws -> WireLogVerdict {
        let request = WireVerifyLogRequest.with {
            $0.question = Self.question
            $0.question.interactionNotAllowed = !interactive
        }
        guard case .logVerdict(let verdict) = try call(.verifyLog(request)).body else { throw UnexpectedAnswer() }
        return verdict
    }
}

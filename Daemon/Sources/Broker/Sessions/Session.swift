import Auditing
import CLinuxShims
import Callers
import Enclave
import Foundation
import Glibc
import Logging
import Opening
import OstiaryMessages
import OstiaryWire
import OwnerKeys
import Owners
import Passkeys
import ProtectedObjects
import Refusals
import SecretMemory
import Synchronization
import Threading
import UnixSocket
import Vault

/// One connection: greets, reads requests, answers the fast ones at once and hands the slow ones to threads of their own.
///
/// The connection's thread never waits for a person, so it notices when the caller goes away; what the caller was asked and
/// granted goes with it.
final class Session: Sendable {
    /// Of the user whom the program runs as.
    let account: OwnerAccount
    let caller: CallerProcess
    let contexts: ContextTable
    let draftKeys = DraftKeys()
    let browserAuthenticator = BrowserAuthenticator()
    /// The list of unused keys whose pages the program reads; nil behind the last page.
    let unusedKeys = Mutex<UnusedKeyListing?>(nil)
    let grantEnds: GrantEnds
    private let socket: UnixSocket
    private let broker: Broker
    private let greeting: WireGreeting
    private let slow: SlowRequests
    /// Ends a reading of the connection's own thread when the connection ends.
    private let ownReading = RequestCancellation()
    private let sending = NSLock()
    /// Held while a slow request becomes a watch.
    private let watching = NSLock()
    private let standing = Mutex(Standing())

    private struct Standing {
        var state = SessionState.connected
        /// The version of the protocol that both sides agreed on; the oldest one before.
        var version = ProtocolVersions.ofThisBuild.oldest
    }

    init(socket: UnixSocket, broker: Broker) throws {
        self.socket = socket
        self.broker = broker
        try socket.attachSenderCredentials()
        try socket.setSendTimeout(seconds: SessionLimits.sendSeconds)
        let userID = try socket.peerCredentials().userID
        guard let account = broker.account(ofUser: userID) else { throw CallerError.foreignUser(userID) }
        self.account = account
        caller = try CallerProcess(
            connectedTo: socket, expectedUser: userID, owner: account.id.ownerID, applications: account.applications)
        slow = SlowRequests(
            quota: broker.slowRequests, readings: broker.readings, program: caller.program.ofOwner)
        grantEnds = GrantEnds(of: caller.program, trail: account.trail, thread: broker.grantEnds)
        contexts = ContextTable(
            clock: broker.clock, lifetime: broker.configuration.contextLifetime, ended: grantEnds.report)
        greeting = WireGreeting(
            .ofThisBuild, random: Data(exposing: SecretBytes(random: WireLimits.nonceByteCount)))
    }

    /// Serves the connection until it has ended and nothing that it asked for is still being done.
    func run() {
        let exit = closeAtExitOfCaller()
        defer {
            if let exit { ExitWatch.shared.cancel(exit) }
            end()
        }
        do {
            try greet()
            var reader = FrameReader(
                socket: socket, expecting: caller.credentials,
                handshakeSeconds: Double(SessionLimits.handshakeSeconds))
            reader.read(in: version)
            while true {
                let frame = try reader.next(WireRequest.self, bodyByteCount: frameLimit)
                guard let request = IncomingRequest(frame) else { throw FrameReadError.frame(.malformed) }
                let hadGreeted = hasGreeted
                try handle(request)
                if hasGreeted, !hadGreeted {
                    reader.endHandshake()
                    reader.read(in: version)
                }
            }
        } catch  where Self.isOrdinaryEnd(error) {
            // The program closed its end, or exited without waiting for an answer.
        } catch FrameReadError.foreignSender {
            account.trail.refuseConnection(of: caller.program, because: "foreign-sender")
        } catch {
            broker.log.notice(
                "a connection ended", metadata: ["cause": "\(error)", "pid": "\(caller.credentials.processID)"])
        }
    }

    /// Before it greets, a program makes the daemon allocate next to nothing.
    private var frameLimit: Int { hasGreeted ? .max : SessionLimits.greetingByteCount }

    /// Whether this is the connection that was greeted with `nonce`.
    func isGreeted(with nonce: Data) -> Bool { hasGreeted && nonce == greeting.nonce }

    private var hasGreeted: Bool { standing.withLock { $0.state } != .connected }
    private var version: UInt32 { standing.withLock { $0.version } }

    private static func isOrdinaryEnd(_ error: any Error) -> Bool {
        switch error {
        case FrameReadError.closed: true
        case FrameReadError.system(let error), FrameWriteError.system(let error):
            [EPIPE, ECONNRESET].contains(error.code)
        default: false
        }
    }

    /// Ends the connection when the process that made it ends: a child may have kept the socket, and with it what was opened.
    private func closeAtExitOfCaller() -> UInt64? {
        guard let exit = caller.makeExitDescriptor(of: socket) else {
            close()  // It has ended already, or this process is out of descriptors.
            return nil
        }
        let watch = ExitWatch.shared.watch(exit) { [weak self] in self?.close() }
        if watch == nil { close() }
        return watch
    }

    /// Ends the connection from another thread; ``run()`` returns.
    func close() {
        socket.shutdown()
        ownReading.cancel(.connectionEnded)
    }

    /// Ends what was granted and what the person is being asked, which need not be for a context: the passcode may be about
    /// to be changed.
    func endAllGrants() {
        contexts.endAllGrants()
        browserAuthenticator.forget()
        slow.cancelQuestions(.locked)
    }

    private func end() {
        socket.shutdown()
        _ = broker.watches.take(of: self)
        slow.cancelAll(.connectionEnded)
        contexts.wipe()
        browserAuthenticator.forget()
        grantEnds.close()
        slow.wait()
    }

    // MARK: the handshake

    private func greet() throws { try FrameWriter.send(greeting, on: socket) }

    /// The echo proves that the process that the kernel named at connect is the one that speaks.
    private func accept(_ hello: WireHello) throws(Refusal) {
        guard greeting.versions.contains(hello.protocolVersion) else {
            throw Self.unknownVersion(hello.protocolVersion, of: greeting.versions)
        }
        guard hello.nonce == greeting.nonce else { throw Refusal(.malformed, "The greeting's nonce was not echoed.") }
        try verifyCaller()
        standing.withLock { $0 = Standing(state: .greeted, version: hello.protocolVersion) }
    }

    private static func unknownVersion(_ version: UInt32, of own: ProtocolVersions) -> Refusal {
        let advice =
            version < own.oldest
            ? "The program is older: upgrade it, or build it again with the Ostiary that is installed."
            : "The daemon is older: upgrade Ostiary, and restart the daemon."
        return Refusal(.versionMismatch, "The program speaks protocol \(version), this daemon \(own). \(advice)")
    }

    /// The caller must still be who it was, at each release; otherwise the connection and its grants end.
    func verifyCaller() throws(Refusal) {
        do { try caller.verifyUnchanged() } catch {
            account.trail.refuseConnection(of: caller.program, because: "caller-\(error)")
            close()
            throw Refusal(
                .callerChanged, "The calling process exited or executed another program; connect again.",
                cause: "caller.\(error)")
        }
    }

    // MARK: requests

    private func handle(_ request: IncomingRequest) throws {
        do {
            try admit(request)
            if case .hello(let hello) = request.body {
                try accept(hello)
                return try send(.done, to: request.id)
            }
            switch request.row.thread {
            case .connection: try answer(request)
            case .own: try startSlow(request)
            case .ownForReading: try read(request)
            case .waiting: try slow.startWaiting(request.id) { [self] in answerSlowly(request, $0) }
            case .connectionUnlessEnclaveIsSlow:
                if broker.enclave.isImmediate { try answer(request) } else { try startSlow(request) }
            case .connectionUnlessAsking:
                do { try answer(request) } catch is PersonNeeded {
                    guard !request.row.withholdsQuestion else { throw Refusal.questionNeeded }
                    try startSlow(request)
                } catch is OwnThreadNeeded { try read(request) }
            case .ownUntilWaiting: try startWatch(request)
            }
        } catch let refusal as Refusal {
            try send(refusal, to: request.id)
            if refusal.code == .callerChanged || refusal.code == .versionMismatch { throw refusal }
        }
    }

    private func admit(_ request: IncomingRequest) throws {
        let row = request.row
        guard request.id != 0 else { throw Refusal(.malformed, "Request id 0 is not allowed.") }
        guard !slow.isRunning(request.id), !broker.watches.isWaiting(request.id, in: self) else {
            throw Refusal(.malformed, "The request id is in use.")
        }
        guard row.state == standing.withLock({ $0.state }) else {
            throw Refusal(.outOfOrder, "The request is not allowed at this point of the connection.")
        }
        guard request.tail.count <= row.tailByteCount else {
            throw Refusal(.tooLarge, "The request is too large; it may carry at most \(row.tailByteCount) bytes.")
        }
        guard row.acceptsTerminal || request.terminal == nil else {
            throw Refusal(.malformed, "The request takes no descriptor.")
        }
    }

    private func answer(_ request: IncomingRequest) throws {
        if case .cancel(let cancel) = request.body {
            try self.cancel(cancel.requestID)
            try send(.done, to: request.id)
        } else {
            try send(broker.answer(exchange(request)), to: request.id)
        }
    }

    private func exchange(_ request: IncomingRequest, _ cancellation: RequestCancellation? = nil) -> Exchange {
        Exchange(request: request, session: self, cancellation: cancellation)
    }

    /// Answers a request that reads much. Without a thread of its own it is not refused: this connection then waits for it.
    private func read(_ request: IncomingRequest) throws {
        request.mayReadMuch = true
        let isStarted = slow.startReading(request.id) { [self] cancellation in
            finish(request.id, with: slowReply(to: request, cancellation, isReading: true))
            broker.environmentMayHaveChanged(of: account)
        }
        guard !isStarted else { return }
        do { try asRequester(ownReading) { try answer(request) } } catch is PersonNeeded {
            guard !request.row.withholdsQuestion else { throw Refusal.questionNeeded }
            try startSlow(request)
        }
    }

    private func startSlow(_ request: IncomingRequest) throws {
        request.mayReadMuch = true
        try slow.start(request.id) { [self] cancellation in
            answerSlowly(request, cancellation)
            broker.environmentMayHaveChanged(of: account)
        }
    }

    private func answerSlowly(_ request: IncomingRequest, _ cancellation: RequestCancellation) {
        finish(request.id, with: slowReply(to: request, cancellation))
    }

    private func finish(_ id: UInt64, with reply: consuming Reply) {
        do { try send(reply, to: id) { slow.finish(id) } } catch {
            close()  // The answer cannot be sent: the connection's thread ends the rest.
        }
    }

    private func slowReply(
        to request: IncomingRequest, _ cancellation: RequestCancellation, isReading: Bool = false
    ) -> Reply {
        do {
            var reply: Reply?
            try asRequester(cancellation) {
                reply =
                    isReading
                    ? try readingReply(to: request, cancellation)
                    : try broker.answer(exchange(request, cancellation))
            }
            return reply.take()!
        } catch {
            return Reply(.failure(RefusalMapping.refusal(for: error).message))
        }
    }

    /// A reading asks nobody. One that must ask begins again, as a request that does.
    private func readingReply(to request: IncomingRequest, _ cancellation: RequestCancellation) throws -> Reply {
        do { return try broker.answer(exchange(request)) } catch is PersonNeeded {}
        guard !request.row.withholdsQuestion else { throw Refusal.questionNeeded }
        var reply: Reply?
        try slow.asking(request.id) { reply = try broker.answer(exchange(request, cancellation)) }
        return reply.take()!
    }

    /// Runs `body`, which may wait for its turns as this program, until it is cancelled.
    private func asRequester(_ cancellation: RequestCancellation, _ body: () throws -> Void) throws {
        let requester = StretchRequester(program: caller.program.ofOwner, cancellation: cancellation)
        try StretchRequester.$current.withValue(requester, operation: body)
    }

    // MARK: watching the environment

    private func startWatch(_ request: IncomingRequest) throws {
        guard case .environment(let body) = request.body, let known = body.known else { return try startSlow(request) }
        try slow.start(request.id) { [self] cancellation in
            let changes = account.environmentChanges.withLock { $0 }
            let reply = slowReply(to: request, cancellation)
            guard case .environment(known) = reply.body else { return finish(request.id, with: reply) }
            let watch = EnvironmentWatch(session: self, requestID: request.id, known: known)
            do throws(Refusal) { try leave(watch, cancellation, after: changes) } catch {
                finish(request.id, with: Reply(.failure(error.message)))
            }
        }
    }

    /// The request is no slow one any more, and a watch.
    private func leave(
        _ watch: EnvironmentWatch, _ cancellation: RequestCancellation, after changes: EnvironmentChanges
    ) throws(Refusal) {
        // A cancel finds the one or the other.
        watching.lock()
        defer { watching.unlock() }
        slow.finish(watch.requestID)
        try cancellation.check()
        try broker.leave(watch, after: changes)
    }

    private func cancel(_ id: UInt64) throws {
        watching.lock()
        slow.cancel(id, .caller)
        let watch = broker.watches.take(of: self, requestID: id)
        watching.unlock()
        if watch != nil { try send(RequestCancellation.refusal(.caller), to: id) }
    }

    /// Answers a watch that was taken, on a thread that may wait for the program.
    func answer(_ watch: EnvironmentWatch, with environment: WireEnvironment) {
        do {
            try verifyCaller()
            try send(Reply(.environment(environment)), to: watch.requestID)
        } catch {
            close()  // The caller is another one, or takes no answer: the connection's thread ends the rest.
        }
    }

    // MARK: answers

    private func send(_ refusal: Refusal, to id: UInt64) throws {
        try send(Reply(.failure(refusal.message)), to: id)
    }

    /// - Parameter beforeSending: runs when it is this answer's turn. A slow request ends there: not later, because a
    ///   program that has the answer may use the id again, and not sooner, because answers that wait count against the
    ///   limit.
    private func send(_ reply: consuming Reply, to id: UInt64, beforeSending: () -> Void = {}) throws {
        var message = WireReply()
        message.id = id
        message.body = reply.body
        sending.lock()
        defer { sending.unlock() }
        beforeSending()
        try FrameWriter.send(message, tail: reply.tail, in: version, on: socket)
    }
}

import Auditing
import CLinuxShims
package import Callers
package import Foundation
import Glibc
import Logging
import OstiaryMessages
import OstiaryWire
package import Owners
package import Passkeys
import ProcessFacts
package import ProtectedObjects
import Refusals
import SecretMemory
package import Synchronization
import Threading
package import UnixSocket
import Vault

/// One connection: greets, reads requests, answers the fast ones at once and hands the slow ones to threads of their own.
///
/// The connection's thread never waits for a person, so it notices when the caller goes away; what the caller was asked and
/// granted goes with it.
package final class Session: Sendable {
    /// The account of the user for whom the program is served.
    package var account: OwnerAccount { stay.account }
    package let caller: CallerProcess
    package let contexts: ContextTable
    let draftKeys = DraftKeys()
    package let browserAuthenticator = BrowserAuthenticator()
    /// The list whose pages the program reads; nil behind the last page.
    package let kept = Mutex<(any KeptListing)?>(nil)
    /// Work that spans several requests of the connection, and ends with it.
    package let attachment = Mutex<(any SessionAttachment)?>(nil)
    package let grantEnds: GrantEnds
    private let stay: OwnerStay
    private let socket: UnixSocket
    let services: SessionServices
    private let handler: any RequestHandler
    private let greeting: WireGreeting
    let slow: SlowRequests
    /// The clients of a door; every other program has none.
    let clients: DoorClients
    /// The connection's contexts and those of its clients have different numbers.
    private let contextNumbers = ContextNumbers()
    /// Ends the wait for a turn on the connection's own thread when the connection ends.
    private let ownReading = RequestCancellation()
    private let isFinishing = Atomic(false)
    private let isClosed = Atomic(false)
    private let sending = NSLock()
    /// Held while a slow request becomes a watch.
    private let watching = NSLock()
    private let standing = Mutex(Standing())

    private struct Standing {
        var state = SessionState.connected
        /// The version of the protocol that both sides agreed on; the oldest one before.
        var version = ProtocolVersions.ofThisBuild.oldest
    }

    /// - Parameter stay: the stay of the program's owner; it lasts as long as the session.
    package init(
        socket: UnixSocket, of stay: OwnerStay, services: SessionServices, handler: any RequestHandler
    ) throws {
        self.socket = socket
        self.stay = stay
        self.services = services
        self.handler = handler
        try socket.attachSenderCredentials()
        try socket.setSendTimeout(seconds: SessionLimits.sendSeconds)
        let account = stay.account
        caller = try CallerProcess(
            connectedTo: socket, owner: account.id.ownerID, applications: account.applications,
            facts: services.facts)
        slow = SlowRequests(
            quota: services.slowRequests, readings: services.readings, program: caller.program.ofOwner)
        grantEnds = GrantEnds(trail: account.trail, thread: services.grantEnds)
        contexts = services.makeContexts(
            contextNumbers, of: caller.program.ofOwner, ended: grantEnds.reporter(of: caller.program))
        clients = DoorClients(quota: services.clients)
        greeting = WireGreeting(
            .ofThisBuild, random: Data(exposing: SecretBytes(random: WireLimits.nonceByteCount)))
    }

    /// Contexts of a client.
    func makeContexts(of program: CallerProgram) -> ContextTable {
        services.makeContexts(contextNumbers, of: program.ofOwner, ended: grantEnds.reporter(of: program))
    }

    /// The connected program and the clients that it acts for, with their grants.
    package var holders: [GrantHolder] {
        [GrantHolder(caller: caller, contexts: contexts)]
            + clients.all.map { GrantHolder(caller: $0.caller, contexts: $0.contexts) }
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
                handshakeSeconds: Double(SessionLimits.handshakeSeconds), takesFile: true)
            reader.read(in: version)
            while true {
                let frame = try reader.next(WireRequest.self, bodyByteCount: frameLimit)
                let request = try IncomingRequest(frame)
                let hadGreeted = hasGreeted
                try handle(request)
                if hasGreeted, !hadGreeted {
                    reader.endHandshake(
                        takesClients: version >= Self.versionOfDoors,
                        takesFiles: version >= Self.versionOfFiles)
                    reader.read(in: version)
                }
            }
        } catch  where Self.isOrdinaryEnd(error) {
            // The program closed its end, or exited without waiting for an answer; or the daemon ends, and requests run still.
            if isFinishing.load(ordering: .sequentiallyConsistent), !isClosed.load(ordering: .sequentiallyConsistent) {
                slow.wait()
            }
        } catch FrameReadError.foreignSender {
            account.trail.refuseConnection(of: caller.program, because: "foreign-sender")
        } catch {
            services.callerLines.write(
                .notice, "a connection ended", of: caller.credentials.userID,
                ["cause": "\(error)", "pid": "\(caller.credentials.processID)"])
        }
    }

    /// The version of the protocol with which clients came.
    private static let versionOfDoors: UInt32 = 8
    /// The version of the protocol with which programs pass their files.
    private static let versionOfFiles: UInt32 = 9

    /// Before it greets, a program makes the daemon allocate next to nothing.
    private var frameLimit: Int { hasGreeted ? .max : SessionLimits.greetingByteCount }

    /// Whether this is the connection that was greeted with `nonce`.
    package func isGreeted(with nonce: Data) -> Bool { hasGreeted && nonce == greeting.nonce }

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
        guard let exit = caller.exitDescriptor else {
            close()  // It has ended already, or this process is out of descriptors.
            return nil
        }
        let watch = ExitWatch.shared.watch(exit) { [weak self] in self?.close() }
        if watch == nil { close() }
        return watch
    }

    /// Ends the connection from another thread; ``run()`` returns.
    func close() {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        socket.shutdown()
        ownReading.cancel(.connectionEnded)
        if isFinishing.load(ordering: .sequentiallyConsistent) { slow.cancelAll(.connectionEnded) }
    }

    /// Takes no more requests, from another thread. Those that were sent before are answered, and ``run()`` returns.
    func finish() {
        isFinishing.store(true, ordering: .sequentiallyConsistent)
        slow.cancelWaiting(.connectionEnded)
        socket.shutdownReceiving()
    }

    /// Ends what was granted and what the person is being asked, which need not be for a context: the passcode may be about
    /// to be changed.
    package func endAllGrants() {
        for holder in holders { holder.contexts.endAllGrants() }
        browserAuthenticator.forget()
        slow.cancelQuestions(.locked)
    }

    /// As ``endAllGrants()``, but open questions of the connected program go on: one of them led to this end. Questions of its clients
    /// end.
    func endGrantsBesidesOwnQuestions() {
        for holder in holders { holder.contexts.endAllGrants() }
        for client in clients.all { slow.cancelAll(of: client, .locked) }
    }

    private func end() {
        socket.shutdown()
        _ = services.environment.watches.take(of: self)
        services.itemWatches.remove(self)
        slow.cancelAll(.connectionEnded)
        contexts.wipe()
        clients.removeAll()
        browserAuthenticator.forget()
        grantEnds.close()
        slow.wait()
        attachment.withLock { $0.take() }?.sessionHasEnded()
        // A request that was past its cancellation became a watch since, which would keep the session and the account.
        _ = services.environment.watches.take(of: self)
    }

    // MARK: the handshake

    private func greet() throws { try FrameWriter.send(greeting, on: socket) }

    /// The echo proves that the process that the kernel named at connect is the one that speaks.
    private func accept(_ hello: WireHello, _ file: SharedDescriptor?) throws(Refusal) {
        guard greeting.versions.contains(hello.protocolVersion) else {
            throw Self.unknownVersion(hello.protocolVersion, of: greeting.versions)
        }
        guard hello.nonce == greeting.nonce else { throw Refusal(.malformed, "The greeting's nonce was not echoed.") }
        if let file {
            guard hello.protocolVersion >= Self.versionOfFiles else {
                throw Refusal(.malformed, "No file goes with a greeting of this version.")
            }
            guard caller.offer(file) else {
                account.trail.refuseConnection(of: caller.program, because: "caller-file")
                throw Refusal(
                    .callerChanged, "The passed file is not the one that the calling process executes; connect again.",
                    cause: "caller.file")
            }
        }
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

    /// The caller must still be who it was, at each release; otherwise the connection and its grants end. While nobody can tell, the request
    /// alone is refused: what the daemon looks through may be gone for a moment.
    ///
    /// - Parameter wholly: whether the process is looked at itself, and not at its memory alone.
    func verifyCaller(wholly: Bool = false) throws(Refusal) {
        do throws(CallerError) { try caller.verifyUnchanged(wholly: wholly) } catch {
            account.trail.refuseConnection(of: caller.program, because: "caller-\(error)")
            guard error.isLasting else { throw Self.unknownCaller(error) }
            close()
            throw Refusal(
                .callerChanged, "The calling process exited or executed another program; connect again.",
                cause: "caller.\(error)")
        }
    }

    private static func unknownCaller(_ error: CallerError) -> Refusal {
        Refusal(
            .programUnverified,
            "The daemon cannot see just now whether the calling process is the one that connected; try again.",
            cause: "caller.\(error)")
    }

    // MARK: requests

    private func handle(_ request: IncomingRequest) throws {
        do {
            try admit(request)
            if case .hello(let hello) = request.body {
                try accept(hello, request.file)
                return try send(.done, to: request.id)
            }
            request.stay = try client(of: request)
            switch request.row.thread {
            case .connection: try answer(request)
            case .own: try startSlow(request)
            case .ownForReading: try read(request)
            case .waiting: try startWaiting(request)
            case .connectionUnlessEnclaveIsSlow:
                if services.isEnclaveImmediate { try answer(request) } else { try startSlow(request) }
            case .connectionUnlessAsking:
                do { try answerOrAsk(request) } catch is OwnThreadNeeded { try read(request) }
            case .ownUntilWaiting: try startWatch(request)
            case .connectionUntilWaiting: do { try answer(request) } catch is LeftWaiting {}
            }
        } catch let refusal as Refusal {
            try send(refusal, to: request.id)
            if refusal.code == .callerChanged || refusal.code == .versionMismatch { throw refusal }
        }
    }

    private func startWaiting(_ request: IncomingRequest) throws {
        try slow.startWaiting(request.id) { [self] in answerSlowly(request, $0) }
        // It may have been sent before the end and read behind it. Nobody would end its wait.
        if isFinishing.load(ordering: .sequentiallyConsistent) { slow.cancelWaiting(.connectionEnded) }
    }

    private func admit(_ request: IncomingRequest) throws {
        let row = request.row
        guard request.id != 0 else { throw Refusal(.malformed, "Request id 0 is not allowed.") }
        guard !slow.isRunning(request.id), !services.environment.watches.isWaiting(request.id, in: self),
            !services.itemWatches.isWaiting(request.id, in: self)
        else {
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
        guard row.acceptsFile || request.file == nil else {
            throw Refusal(.malformed, "The request takes no file.")
        }
    }

    private func answer(_ request: IncomingRequest) throws {
        if case .cancel(let cancel) = request.body {
            try self.cancel(cancel.requestID)
            try send(.done, to: request.id)
        } else {
            try send(reply(to: exchange(request, endedBy: ownReading)), to: request.id)
        }
    }

    /// - Parameter asks: whether the request's thread may wait for a person.
    private func exchange(
        _ request: IncomingRequest, endedBy end: RequestCancellation, asks: Bool = false
    ) -> Exchange {
        Exchange(request: request, session: self, cancellation: asks ? end : nil, end: end)
    }

    private func reply(to exchange: Exchange) throws -> Reply {
        do throws(NotAnswered) { return try handler.answer(exchange) } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .personNeeded: throw PersonNeeded()
            case .ownThreadNeeded: throw OwnThreadNeeded()
            case .leftWaiting: throw LeftWaiting()
            }
        }
    }

    /// Answers a request that reads much. Without a thread of its own it is not refused: this connection then waits for it. For a
    /// client it is refused, because all clients of the door would wait.
    private func read(_ request: IncomingRequest) throws {
        request.mayReadMuch = true
        let isStarted = slow.startReading(request.id, for: request.client) { [self] cancellation in
            finish(request.id, with: slowReply(to: request, cancellation, isReading: true))
            services.environment.mayHaveChanged(of: account)
        }
        guard !isStarted else { return cancelRequests(ofEnded: request.client) }
        guard request.client == nil else { throw DoorRefusal.tooManyReadings }
        try answerOrAsk(request)
    }

    private func answerOrAsk(_ request: IncomingRequest) throws {
        try withoutPerson(for: request) {
            try answer(request)
        } again: {
            try startSlow(request)
        }
    }

    /// Does `work`, which asks nobody. If it needs a person, the request begins again with `again`, or is refused if it
    /// withholds its question.
    private func withoutPerson<Result: ~Copyable>(
        for request: IncomingRequest, _ work: () throws -> Result, again: () throws -> Result
    ) throws -> Result {
        do { return try work() } catch is PersonNeeded {
            guard !request.row.withholdsQuestion else { throw Refusal.questionNeeded }
            return try again()
        }
    }

    private func startSlow(_ request: IncomingRequest) throws {
        request.mayReadMuch = true
        try slow.start(request.id, for: request.client) { [self] cancellation in
            answerSlowly(request, cancellation)
            services.environment.mayHaveChanged(of: account)
        }
        cancelRequests(ofEnded: request.client)
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
            return isReading
                ? try readingReply(to: request, cancellation)
                : try reply(to: exchange(request, endedBy: cancellation, asks: true))
        } catch let refusal as Refusal {
            return Reply(.failure(refusal.message))
        } catch {
            return Reply(.failure(handler.refusal(for: error, ofUser: caller.credentials.userID).message))
        }
    }

    /// A reading asks nobody. One that must ask begins again, as a request that does.
    private func readingReply(to request: IncomingRequest, _ cancellation: RequestCancellation) throws -> Reply {
        try withoutPerson(for: request) {
            try reply(to: exchange(request, endedBy: cancellation))
        } again: {
            var reply: Reply?
            try slow.asking(request.id, for: request.client) {
                reply = try self.reply(to: exchange(request, endedBy: cancellation, asks: true))
            }
            return reply.take()!
        }
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
        try services.environment.leave(watch, after: changes)
    }

    private func cancel(_ id: UInt64) throws {
        watching.lock()
        slow.cancel(id, .caller)
        let watch = services.environment.watches.take(of: self, requestID: id)
        watching.unlock()
        let isTaken = watch != nil || services.itemWatches.cancel(id, of: self)
        if isTaken { try send(RequestCancellation.refusal(.caller), to: id) }
    }

    /// Answers the request of a watch that was taken, on a thread that may wait for the program.
    func answer(_ requestID: UInt64, with body: WireReply.OneOf_Body) {
        do {
            do throws(Refusal) { try verifyCaller() } catch {
                guard error.code != .callerChanged else { throw error }
                return try send(error, to: requestID)
            }
            try send(Reply(body), to: requestID)
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

/// A program that holds grants, and the contexts that hold them.
package struct GrantHolder {
    package let caller: CallerProcess
    package let contexts: ContextTable
}

import Cancellations
import Dispatch
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import SecretMemory
import Synchronization
import UnixSocket

/// The daemon's answer to one request.
struct DaemonAnswer: ~Copyable {
    private let message: WireReply
    let tail: SecretBytes

    init(_ frame: consuming IncomingFrame<WireReply>) {
        message = frame.message
        tail = frame.takeTail()
    }

    /// The request that it answers.
    var id: UInt64 { message.id }
    /// An answer without one is a refusal that says nothing.
    var body: WireReply.OneOf_Body { message.body ?? .failure(WireFailure()) }

    consuming func takeTail() -> SecretBytes { tail }
}

/// How long a daemon may give no sign of life while calls wait.
struct AnswerPatience {
    /// After so many seconds without an answer it is asked for a sign of life.
    var silence: Double = 60
    /// So many silences in a row end the connection. A single request that keeps the daemon from answering any other on the
    /// connection takes far less.
    var silences = 5

    /// All of it, in whole seconds.
    var seconds: Int { max(1, Int((silence * Double(silences)).rounded(.up))) }
}

/// One connection to the daemon, on which several calls can be under way at once.
///
/// There is no reading thread: one of the callers that wait reads for all and hands the role on when its own answer has
/// come. For a single caller that saves two thread switches per call, which is most of the time a call takes.
@safe
final class DaemonConnection: Sendable {
    private let socket: UnixSocket
    // SAFETY: only the thread that holds the reading role (`Calls.hasReader`) touches it.
    private nonisolated(unsafe) var frames: FrameReader
    /// One thread sends at a time. A lock of Foundation's would load Foundation and ICU into each program that asks Ostiary.
    private let sending = Mutex(())
    private let calls = Mutex(Calls())
    private let greeted = Mutex(Greeted())
    private let patience: AnswerPatience
    private let location: DaemonLocation
    /// The process that the daemon answers.
    private let process = getpid()

    private struct Greeted {
        var nonce = Data()
        /// The version of the protocol that this program chose.
        var version = ProtocolVersions.ofThisBuild.oldest
    }

    private struct Calls {
        var nextID: UInt64 = 1
        var waiting: [UInt64: Call] = [:]
        var hasReader = false
        var failure: OstiaryError?
    }

    /// Connects, checks that the server belongs to an expected user, and greets.
    ///
    /// - Parameter greetingSeconds: time for the daemon to greet. It needs milliseconds, and far longer only on a machine
    ///   that is out of memory.
    init(
        to location: DaemonLocation, greetingSeconds: Int = 30, patience: AnswerPatience = AnswerPatience()
    ) throws {
        self.patience = patience
        self.location = location
        socket = try UnixSocket.connect(to: location.socketPath)
        let server = try socket.peerCredentials()
        guard location.serverIDs.contains(server.userID) else { throw location.foreignServer(server.userID) }
        unsafe frames = FrameReader(socket: socket)
        // A daemon that hangs must not hang every program that asks it.
        try socket.setReceiveTimeout(seconds: greetingSeconds)
        try sayHello()
        try socket.setReceiveTimeout(seconds: 0)
        try socket.setSendTimeout(seconds: patience.seconds)
        unsafe frames.expectAnswers(silentFor: patience.silence)
    }

    /// Whether a call failed because the daemon ended, or this process is a child that inherited the connection. The
    /// daemon would treat the child's bytes as an attack on its parent.
    var isLost: Bool { isInherited || calls.withLock { $0.failure != nil } }

    /// What the daemon greeted with: it names this connection to the daemon, and nobody else knows it.
    var nonce: Data { greeted.withLock { $0.nonce } }

    private var isInherited: Bool { getpid() != process }

    /// Sends a request and waits for its answer; a failure that the daemon answers is thrown.
    ///
    /// - Parameters:
    ///   - tail: bytes that travel raw behind the message.
    ///   - terminal: for a prompt.
    ///   - file: a program's file. It goes only to a daemon that takes files.
    ///   - client: the client that a door makes the request for; nil for this program itself.
    ///   - cancellation: ends the request early, from any thread.
    func call(
        _ body: WireRequest.OneOf_Body, tail: borrowing SecretBytes = SecretBytes(zeroed: 0),
        terminal: TerminalOffer? = nil, file: @autoclosure () -> SharedDescriptor? = nil,
        for client: DoorClient? = nil, cancellation: Cancellation? = nil
    ) throws -> DaemonAnswer {
        try requireKnown(body, for: client)
        let call = try register()
        let ending = try cancellation?.begin { [weak self] in self?.cancel(call.id) }
        defer { if let ending { cancellation?.remove(ending) } }
        do {
            let passed = takesFiles ? file() : nil
            try send(body, id: call.id, tail: tail, terminal: terminal, file: passed, for: client)
        } catch {
            _ = calls.withLock { $0.waiting.removeValue(forKey: call.id) }
            throw error
        }
        // A cancellation before the request was on its way was told of a request that the daemon did not know yet.
        if cancellation?.isCancelled == true { cancel(call.id) }
        let answer = try wait(for: call)
        if case .failure(let failure) = answer.body { throw OstiaryError(failure) }
        return answer
    }

    /// Sends a request whose answer nobody needs, without waiting.
    func post(_ body: WireRequest.OneOf_Body, for client: DoorClient? = nil) {
        // A request that an older daemon does not know ends nothing there.
        guard (try? requireKnown(body, for: client)) != nil else { return }
        guard let call = try? register() else { return }  // A lost connection has already ended what this would end.
        _ = calls.withLock { $0.waiting.removeValue(forKey: call.id) }
        // As above.
        _ = try? send(body, id: call.id, tail: SecretBytes(zeroed: 0), terminal: nil, file: nil, for: client)
    }

    /// Ends the connection, from any thread; the calls under way throw.
    func end() { socket.shutdown() }

    private func cancel(_ id: UInt64) {
        post(.cancel(.with { $0.requestID = id }))
    }

    // MARK: greeting

    private func sayHello() throws {
        let greeting: WireGreeting
        do { greeting = try unsafe frames.next(WireGreeting.self).message } catch FrameReadError.system(let error)
            where error.code == EAGAIN
        {
            throw OstiaryError(.daemonUnavailable, "The daemon does not answer; \(location.restartAdvice)")
        } catch { throw lost(error) }
        guard let version = ProtocolVersions.ofThisBuild.newestCommon(with: greeting.versions) else {
            throw Self.noCommonVersion(with: greeting.versions)
        }
        greeted.withLock { $0 = Greeted(nonce: greeting.nonce, version: version) }
        unsafe frames.read(in: version)
        let hello = WireHello.with {
            $0.protocolVersion = version
            $0.nonce = greeting.nonce
        }
        // A program whose file cannot be read has none to pass, and can only be known by its path.
        _ = try call(.hello(hello), file: Self.file(at: "/proc/self/exe"))
    }

    /// The version of the protocol with which programs pass files.
    private static let versionOfFiles: UInt32 = 9

    /// A file for the daemon to read; nil when this program cannot read it either.
    static func file(at path: String) -> SharedDescriptor? {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }

    /// Whether the daemon takes files. A user's own daemon opens them itself.
    private var takesFiles: Bool {
        guard case .system = location else { return false }
        return greeted.withLock { $0.version } >= Self.versionOfFiles
    }

    private static func noCommonVersion(with daemon: ProtocolVersions) -> OstiaryError {
        let own = ProtocolVersions.ofThisBuild
        let advice =
            daemon.newest < own.oldest
            ? "The daemon is older: upgrade Ostiary, and restart the daemon."
            : "The program is older: upgrade it, or build it again with the Ostiary that is installed."
        return OstiaryError(
            .init(.versionMismatch), "The daemon speaks protocol \(daemon), this program \(own). \(advice)")
    }

    // MARK: one call

    private final class Call: @unchecked Sendable {
        // SAFETY: (@unchecked) the variables are only touched under the lock of `calls`.
        let id: UInt64
        var result: DaemonAnswer?
        /// Made when the call begins to wait for another thread, which one that reads for itself never does.
        var wakeUp: DispatchSemaphore?
        init(id: UInt64) { self.id = id }
    }

    private func register() throws -> Call {
        guard !isInherited else { throw Self.lost }
        return try calls.withLock { calls in
            if let failure = calls.failure { throw failure }
            let call = Call(id: calls.nextID)
            calls.nextID += 1
            calls.waiting[call.id] = call
            return call
        }
    }

    private func send(
        _ body: WireRequest.OneOf_Body, id: UInt64, tail: borrowing SecretBytes, terminal: TerminalOffer?,
        file: SharedDescriptor?, for client: DoorClient?
    ) throws {
        var request = WireRequest()
        request.id = id
        request.body = body
        guard let client else {
            let own = terminal?.own()
            defer { withExtendedLifetime((own, file)) {} }
            return try send(request, tail: tail, descriptors: [own?.number, file?.number].compactMap(\.self))
        }
        let passed = client.passed(asks: terminal != nil)
        request.onBehalf = passed.behalf
        try send(request, tail: tail, descriptors: passed.descriptors)
    }

    private func send(_ request: WireRequest, tail: borrowing SecretBytes, descriptors: [CInt]) throws {
        do {
            try sending.withLock { _ in
                let version = greeted.withLock { $0.version }
                try FrameWriter.send(request, tail: tail, descriptors: descriptors, in: version, on: socket)
            }
        } catch FrameWriteError.frame(.tooLarge) {
            throw OstiaryError.tooLargeRequest
        } catch {
            fail(Self.lost)
            throw Self.unsent
        }
    }

    /// Throws when the daemon would not know the request, or would overlook a part of it.
    private func requireKnown(_ body: WireRequest.OneOf_Body, for client: DoorClient?) throws {
        let version = greeted.withLock { $0.version }
        let needed = max(body.oldestVersion, client == nil ? 0 : WireRequest.clientVersion)
        guard version < needed else { return }
        throw OstiaryError(
            .init(.versionMismatch),
            "This needs protocol \(needed), and the daemon speaks \(version): upgrade Ostiary, and restart the daemon.")
    }

    /// The next step of a call that has been sent.
    private enum Turn: ~Copyable {
        case take(DaemonAnswer)
        case read
        case wait(DispatchSemaphore)
    }

    private func wait(for call: Call) throws -> DaemonAnswer {
        while true {
            switch try turn(of: call) {
            case .take(let answer): return answer
            case .read: return try read(until: call)
            case .wait(let wakeUp): wakeUp.wait()
            }
        }
    }

    private func turn(of call: Call) throws -> Turn {
        try calls.withLock { calls in
            if let answer = call.result.take() { return .take(answer) }
            if let failure = calls.failure { throw failure }
            guard calls.hasReader else {
                calls.hasReader = true
                return .read
            }
            let wakeUp = call.wakeUp ?? DispatchSemaphore(value: 0)
            call.wakeUp = wakeUp
            return .wait(wakeUp)
        }
    }

    /// Reads for all until the answer to `call` has come or the connection is lost, then gives the reading role up.
    private func read(until call: Call) throws -> DaemonAnswer {
        do {
            while true {
                let answer = try nextAnswer()
                if answer.id == call.id {
                    endReading(for: call)
                    return answer
                }
                deliver(answer)
            }
        } catch {
            fail(error)
            endReading(for: call)
            throw error
        }
    }

    /// Waits for the next answer of the daemon. A question to a person may take long, so time alone ends no call: after each silence
    /// the daemon is asked for a sign of life, which it gives while it waits for people. A daemon that gives none is stuck.
    private func nextAnswer() throws(OstiaryError) -> DaemonAnswer {
        for silences in 1... {
            do throws(FrameReadError) { return DaemonAnswer(try unsafe frames.next(WireReply.self)) } catch {
                guard error == .silent else { throw lost(error) }
            }
            guard silences < patience.silences else { break }
            post(.heldGrants(WireHeldGrantsRequest()))
        }
        throw stuck
    }

    /// Hands the reading role to a call that waits; one that has not begun to wait takes it by itself.
    private func endReading(for call: Call) {
        let next = calls.withLock { calls in
            calls.waiting[call.id] = nil
            calls.hasReader = false
            return calls.waiting.isEmpty ? nil : calls.waiting.values.lazy.compactMap(\.wakeUp).first
        }
        next?.signal()
    }

    /// Hands an answer to the call that waits for it; an answer nobody waits for any more is dropped.
    private func deliver(_ answer: consuming DaemonAnswer) {
        let id = answer.id
        var box: DaemonAnswer? = consume answer
        let wakeUp = calls.withLock { calls in
            let call = calls.waiting.removeValue(forKey: id)
            call?.result = box.take()
            return call?.wakeUp
        }
        wakeUp?.signal()
    }

    private func fail(_ error: OstiaryError) {
        let waiting = calls.withLock { calls in
            if calls.failure == nil { calls.failure = error }
            let waiting = calls.waiting.values.compactMap(\.wakeUp)
            calls.waiting = [:]
            return waiting
        }
        for wakeUp in waiting { wakeUp.signal() }
    }

    /// The daemon went away.
    static let lost = OstiaryError(
        .connectionLost,
        "The connection to the daemon is lost, and its grants ended. Authorize again; `ostiary doctor` says more.")

    private var stuck: OstiaryError {
        OstiaryError(
            .daemonUnavailable,
            "The daemon gives no sign of life any more; \(location.restartAdvice) Its grants end with it.")
    }

    /// The daemon had gone before the request was sent: nothing of it happened, and it can be made again on a new connection.
    private static let unsent = OstiaryError(.connectionLost, lost.explanation, cause: "request.unsent")

    static func isUnsent(_ error: any Error) -> Bool { (error as? OstiaryError)?.cause == unsent.cause }

    private func lost(_ error: FrameReadError) -> OstiaryError {
        OstiaryError(.connectionLost, Self.lost.explanation, cause: "\(error)")
    }
}

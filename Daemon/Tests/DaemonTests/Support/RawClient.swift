import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import SecretMemory
import Testing
import UnixSocket

/// A client that sends what it is told, right or wrong.
final class RawClient {
    private let reading: UnixSocket
    private let writing: UnixSocket
    private var reader: FrameReader
    private var lastID: UInt64 = 0
    /// What speaks for this client; it lives as long as the client does.
    private let process: AnyObject?
    /// Answers that came while another one was waited for.
    private var early: [Answer] = []

    /// An answer that does not come within this time fails the test.
    private static let patienceSeconds = 30

    /// - Parameter writing: where to send, when that is not the connection itself, and the process that takes it from
    ///   there.
    init(_ connection: UnixSocket, sendingOn writing: UnixSocket? = nil, to process: AnyObject? = nil) throws {
        reading = connection
        self.process = process
        self.writing = writing ?? connection
        reader = FrameReader(socket: connection)
        try connection.setReceiveTimeout(seconds: Self.patienceSeconds)
    }

    // MARK: sending

    func send(bytes: [UInt8], descriptor: CInt = -1) throws {
        try bytes.withUnsafeBytes { try writing.send($0, descriptor: descriptor) }
    }

    func send(_ message: some FrameMessage, tail: [UInt8] = [], descriptors: [CInt] = []) throws {
        try FrameWriter.send(message, tail: Self.secret(tail), descriptors: descriptors, on: writing)
    }

    /// Sends a request and returns its id, the next one unless another is named.
    @discardableResult
    func send(
        _ body: WireRequest.OneOf_Body, id: UInt64? = nil, tail: [UInt8] = [], descriptor: CInt = -1
    ) throws -> UInt64 {
        try send(body, for: nil, id: id, tail: tail, descriptors: descriptor == -1 ? [] : [descriptor])
    }

    /// Sends a request for a client, as a door does.
    @discardableResult
    func send(
        _ body: WireRequest.OneOf_Body, for client: WireOnBehalf?, id: UInt64? = nil, tail: [UInt8] = [],
        descriptors: [CInt]
    ) throws -> UInt64 {
        lastID += 1
        let request = WireRequest.with {
            $0.id = id ?? lastID
            $0.body = body
            $0.onBehalf = client
        }
        try send(request, tail: tail, descriptors: descriptors)
        return request.id
    }

    private static func secret(_ bytes: [UInt8]) -> SecretBytes {
        var secret = SecretBytes(zeroed: bytes.count)
        secret.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
        return secret
    }

    /// Sends no more; what was answered can still be read.
    func closeSending() { _ = shutdown(writing.number, CInt(SHUT_WR)) }

    /// Ends the connection, whoever else holds it.
    func close() {
        reading.shutdown()
        writing.shutdown()
    }

    // MARK: receiving

    /// The daemon's first frame.
    func greeting() throws -> WireGreeting { try reader.next(WireGreeting.self).message }

    /// The next answer.
    func answer() throws -> Answer {
        if !early.isEmpty { return early.removeFirst() }
        return Answer(try reader.next(WireReply.self))
    }

    /// Whether something can be read, or is read already, within these milliseconds.
    func hasAnswer(within milliseconds: CInt) -> Bool {
        var polled = pollfd(fd: reading.number, events: Int16(POLLIN), revents: 0)
        return !early.isEmpty || poll(&polled, 1, milliseconds) > 0
    }

    /// The answer to a request.
    func answer(to id: UInt64) throws -> Answer {
        if let index = early.firstIndex(where: { $0.id == id }) { return early.remove(at: index) }
        while true {
            let answer = Answer(try reader.next(WireReply.self))
            if answer.id == id { return answer }
            early.append(answer)
        }
    }

    /// Reads until the daemon ends the connection; the answers that it gave before.
    func answersUntilEnd() throws -> [Answer] {
        var answers: [Answer] = []
        while true {
            do throws(FrameReadError) { answers.append(Answer(try reader.next(WireReply.self))) } catch {
                switch error {
                case .closed: return early + answers
                // The daemon closed while bytes that it will not read were on their way.
                case .system(let error) where error.code == ECONNRESET: return early + answers
                default: throw error
                }
            }
        }
    }

    /// Whether the daemon ended the connection; waits for it.
    var isEndedByDaemon: Bool { get throws { try answersUntilEnd().isEmpty } }

    // MARK: requests

    /// What the daemon greeted with, once this has greeted.
    private(set) var nonce = Data()

    func greet() throws {
        let greeting = try greeting()
        nonce = greeting.nonce
        let answer = try ask(
            .hello(
                .with {
                    $0.protocolVersion = WireLimits.protocolVersion
                    $0.nonce = greeting.nonce
                }))
        try #require(answer.refusal == nil, "the daemon did not accept the greeting")
    }

    /// Sends a request and waits for its answer.
    func ask(_ body: WireRequest.OneOf_Body, tail: [UInt8] = [], descriptor: CInt = -1) throws -> Answer {
        try answer(to: send(body, tail: tail, descriptor: descriptor))
    }

    func status() throws -> WireStatus {
        guard case .status(let status)? = try ask(.status(WireStatusRequest())).body else { throw UnexpectedAnswer() }
        return status
    }

    func openContext() throws -> UInt64 {
        guard case .context(let opened)? = try ask(.openContext(WireOpenContextRequest())).body else {
            throw UnexpectedAnswer()
        }
        return opened.contextID
    }

    /// The records of the audit log.
    func log() throws -> [WireLogRecord] {
        var records: [WireLogRecord] = []
        while true {
            let request = WireReadLogRequest.with {
                $0.firstIndex = UInt64(records.count) + 1
                $0.limit = WireLimits.logPageCount
            }
            guard case .logPage(let page)? = try ask(.readLog(request)).body else { throw UnexpectedAnswer() }
            guard !page.records.isEmpty else { return records }
            records += page.records
        }
    }

    struct UnexpectedAnswer: Error {}
}

/// What the daemon answered.
struct Answer: Sendable {
    let id: UInt64
    let body: WireReply.OneOf_Body?
    let tail: [UInt8]

    init(_ frame: consuming IncomingFrame<WireReply>) {
        id = frame.message.id
        body = frame.message.body
        tail = frame.tail.withUnsafeBytes { Array($0) }
    }

    var failure: WireFailure? { if case .failure(let failure)? = body { failure } else { nil } }

    /// Why it was refused; nil when it was carried out.
    var refusal: WireFailureCode? { failure.map { WireFailureCode(rawValue: Int($0.code)) ?? .unspecified } }

    var cause: String { failure?.cause ?? "" }

    /// The factors that were proved, when it says that something was granted.
    var factors: [String]? { if case .granted(let granted)? = body { granted.factors } else { nil } }

    var right: WireRight? { if case .right(let right)? = body { right } else { nil } }

    var isDone: Bool { if case .done? = body { true } else { false } }
}

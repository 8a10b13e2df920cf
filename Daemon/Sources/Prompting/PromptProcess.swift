import Foundation
import Glibc
import HelperProcesses
import PromptProtocol
import SecretMemory
import UnixSocket

/// A running `ostiary-prompt` or `ostiary-sheet`, from this side of its pipes.
///
/// The connection to it carries updates to the prompt, one in each message. It is open while the prompt is needed.
struct PromptProcess: ~Copyable {
    private let helper: Helper
    private let secret: Descriptor
    private let reply: Descriptor
    private var lastWord: Word = .none

    /// How long a prompt may take to end by itself, for closing a dialog and restoring the terminal.
    private static let endPatienceMilliseconds: CInt = 1000

    /// Starts the prompt with a cleared environment and exactly its descriptors.
    ///
    /// - Parameters:
    ///   - road: how a program that can put the question is reached.
    ///   - stop: a descriptor that ends the wait for the prompt's process when it is readable.
    init(
        _ road: HelperRoad, request: PromptRequest, terminal: CInt?, display: SheetDisplay?, stoppedBy stop: CInt
    ) throws {
        let requestPipe = try PipeEnds()
        try Self.write(request.encoded(), to: requestPipe.writer)
        let secretPipe = try PipeEnds()
        // A prompt that says that a secret is complete has written all of it: nobody waits for the rest.
        guard fcntl(secretPipe.reader.number, F_SETFL, O_NONBLOCK) == 0 else { throw SystemCallError("fcntl") }
        let replyPipe = try PipeEnds()
        let numbers = [
            PromptDescriptor.request: requestPipe.reader.number, PromptDescriptor.secret: secretPipe.writer.number,
            PromptDescriptor.reply: replyPipe.writer.number, PromptDescriptor.terminal: terminal ?? -1,
            PromptDescriptor.display: display?.socket?.number ?? -1,
            PromptDescriptor.cookies: display?.cookies?.number ?? -1,
        ]
        let given = GivenDescriptors(connection: PromptDescriptor.control, count: PromptDescriptor.count) {
            numbers[$0] ?? -1
        }
        var additions = [HelperEnvironment.programFolders]
        if case .sheet(let options) = request.frontEnd { additions += options.environment }
        helper = try Helper(road, addingToEnvironment: additions, giving: given, stoppedBy: stop)
        secret = secretPipe.reader
        reply = replyPipe.reader
    }

    /// The encoded request is smaller than a pipe, so one write takes it all and does not wait.
    private static func write(_ bytes: Data, to descriptor: borrowing Descriptor) throws {
        let number = descriptor.number
        try unsafe bytes.withUnsafeBytes { bytes in
            guard unsafe Glibc.write(number, bytes.baseAddress!, bytes.count) == bytes.count else {
                throw SystemCallError("write")
            }
        }
    }

    /// The prompt's message on its reply pipe.
    private enum Word: Equatable {
        case none
        case reply(PromptReply)
        /// It hung up, or sent a byte that is no reply.
        case silence

        var isLast: Bool {
            switch self {
            case .none: false
            case .reply(let reply): reply.isLast
            case .silence: true
            }
        }
    }

    /// Whether a word is waiting, or the prompt has hung up.
    var hasWord: Bool { Self.isReadable(reply.number, within: 0) }

    /// Reads the prompt's next word, which must be waiting; nil when it said none. Most words are its last one
    /// (``PromptReply/isLast``), unless ``ask(again:)`` follows.
    mutating func readWord() -> PromptReply? {
        if case .none = lastWord { lastWord = Self.nextWord(from: reply.number) }
        guard case .reply(let word) = lastWord else { return nil }
        if !word.isLast { lastWord = .none }
        return word
    }

    private static func nextWord(from descriptor: CInt) -> Word {
        var byte: UInt8 = 0
        let count = unsafe withUnsafeMutableBytes(of: &byte) { unsafe read(descriptor, into: $0) }
        guard count == 1, let word = PromptReply(rawValue: byte) else { return .silence }
        return .reply(word)
    }

    /// Takes the secret of a prompt that has said `entered` and stays; nil if it is not complete.
    ///
    /// - Parameter factor: the factor of the question.
    func takeSecret(askedFor factor: PromptFactor?) -> SecretBytes? {
        guard lastWord == .reply(.entered), case .entered(let secret) = Self.readSecret(self.secret.number, of: factor)
        else { return nil }
        return secret
    }

    /// Puts the question again, after the answer was wrong; false if the prompt does not take it.
    mutating func ask(again question: PromptQuestion) -> Bool {
        // One that has cancelled may still be there for a moment.
        guard !hasSaid(.cancelled), updates.send(.again(question)) else { return false }
        lastWord = .none
        return true
    }

    /// Whether the prompt has said this word since its last one. Does not wait.
    mutating func hasSaid(_ word: PromptReply) -> Bool {
        if lastWord == .reply(.entered), Self.isReadable(reply.number, within: 0) {
            lastWord = Self.nextWord(from: reply.number)
        }
        return lastWord == .reply(word)
    }

    /// The channel for updates. Use it only before ``finish(askedFor:)``.
    var updates: PromptUpdates { PromptUpdates(descriptor: helper.descriptor) }

    /// Readable, or hung up, when the prompt said a word or died.
    var replyDescriptor: CInt { reply.number }

    /// Ends the prompt if it has not ended yet, waits until it and its dialog are gone, and returns its last reply.
    ///
    /// - Parameter factor: the factor of the question. A passcode is read into memory of its own.
    consuming func finish(askedFor factor: PromptFactor?) -> PromptEnd {
        let (replyNumber, secretNumber) = (reply.number, secret.number)
        var word = lastWord
        helper.hangUp()
        while !word.isLast {
            // A prompt without a last word in this time is stuck.
            guard Self.isReadable(replyNumber, within: Self.endPatienceMilliseconds) else { break }
            word = Self.nextWord(from: replyNumber)
        }
        helper.end()
        guard case .reply(let reply) = word else { return .silent }
        return reply == .entered ? Self.readSecret(secretNumber, of: factor) : .reply(reply)
    }

    /// Ends the prompt and its dialog at once, whatever they do. Their memory is freed later: a window has much of it. One that the
    /// daemon may not kill loses its connection, and ends a moment later.
    consuming func kill() { helper.kill() }

    /// Removes a window, because something else is shown next. The daemon cannot kill a program of another account: it waits until
    /// that is gone, for a bounded time, so that no two questions stand on one display.
    consuming func removeWindow() {
        guard helper.isSpawned else {
            helper.end()
            return
        }
        helper.kill()
    }

    private static func isReadable(_ descriptor: CInt, within milliseconds: CInt) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var count = unsafe poll(&polled, 1, milliseconds)
        while count < 0, errno == EINTR { count = unsafe poll(&polled, 1, milliseconds) }
        return count > 0
    }

    /// Reads the typed secret. Our prompt never sends more than a field holds.
    private static func readSecret(_ descriptor: CInt, of factor: PromptFactor?) -> PromptEnd {
        var header: (UInt8, UInt8) = (0, 0)
        guard unsafe withUnsafeMutableBytes(of: &header, { unsafe read(descriptor, into: $0) }) == 2 else {
            return .silent
        }
        let size = Int(header.0) << 8 | Int(header.1)
        guard (1...PromptLimits.secretByteCount).contains(size) else { return .silent }
        var buffer = factor == .passcode ? SecretBytes(zeroedForPasscode: size) : SecretBytes(zeroed: size)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, into: $0) }
        return count == size ? .entered(buffer) : .silent
    }

    /// Reads until the buffer is full, or nothing more is there; returns the number of bytes.
    private static func read(_ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        while filled < buffer.count {
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress! + filled, buffer.count - filled)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            filled += count
        }
        return filled
    }
}

extension SheetDisplay {
    fileprivate var socket: UnixSocket? { if case .wayland(let socket) = self { socket } else { nil } }

    fileprivate var cookies: SharedDescriptor? {
        if case .x11(_, .copy(let cookies)) = self { cookies } else { nil }
    }
}

/// How a prompt's process ended.
enum PromptEnd: ~Copyable {
    case entered(SecretBytes)
    case reply(PromptReply)
    /// It was killed, or sent something that is no reply.
    case silent
}

/// Sends messages to a prompt.
struct PromptUpdates: Sendable {
    let descriptor: CInt

    /// Sends a message. Drops it and returns false if the prompt does not read or has ended, so that nobody waits for it.
    @discardableResult
    func send(_ message: PromptControl) -> Bool {
        guard let bytes = try? message.encoded() else { return false }
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe Glibc.send(descriptor, bytes.baseAddress!, bytes.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
                == bytes.count
        }
    }
}

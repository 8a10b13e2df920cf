import Foundation
import Glibc
import PromptProtocol
import SecretMemory
import Threading
import UnixSocket

/// A running `ostiary-prompt` or `ostiary-sheet`, from this side of its pipes.
struct PromptProcess: ~Copyable {
    private let process: ChildProcess
    private let secret: Descriptor
    private let reply: Descriptor
    /// Open while the prompt is needed. It carries updates to the prompt, one in each message.
    private let control: Descriptor
    private var lastWord: Word = .none

    /// How long a prompt may take to end by itself, for closing a dialog and restoring the terminal.
    private static let endPatienceMilliseconds: CInt = 1000

    /// Starts the prompt with a cleared environment, exactly its descriptors, and in a session of its own.
    init(program: String, request: PromptRequest, terminal: CInt?, display: CInt?) throws {
        let requestPipe = try PipeEnds()
        try Self.write(request.encoded(), to: requestPipe.writer)
        let secretPipe = try PipeEnds()
        let replyPipe = try PipeEnds()
        let controlEnds = try ChannelEnds()
        var descriptors = [CInt](repeating: -1, count: Int(PromptDescriptor.count))
        descriptors[Int(PromptDescriptor.request)] = requestPipe.reader.number
        descriptors[Int(PromptDescriptor.secret)] = secretPipe.writer.number
        descriptors[Int(PromptDescriptor.reply)] = replyPipe.writer.number
        descriptors[Int(PromptDescriptor.control)] = controlEnds.program.number
        descriptors[Int(PromptDescriptor.terminal)] = terminal ?? -1
        descriptors[Int(PromptDescriptor.display)] = display ?? -1
        var environment = Self.environment
        if case .sheet(let options) = request.frontEnd { environment += options.environment }
        process = try ChildProcess(
            program: program, environment: environment, descriptors: descriptors, leadsSession: true)
        secret = secretPipe.reader
        reply = replyPipe.reader
        control = controlEnds.daemon
    }

    /// Without this setting, Swift's crash reporter would print registers and the memory that they point to.
    private static let environment = ["SWIFT_BACKTRACE=enable=no", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"]

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
    }

    /// Reads the prompt's next word, which must be waiting; nil when it said none. Every word but `shown` is its last.
    mutating func readWord() -> PromptReply? {
        if case .none = lastWord { lastWord = Self.nextWord(from: reply.number) }
        guard case .reply(let word) = lastWord else { return nil }
        if word == .shown { lastWord = .none }
        return word
    }

    private static func nextWord(from descriptor: CInt) -> Word {
        var byte: UInt8 = 0
        let count = unsafe withUnsafeMutableBytes(of: &byte) { unsafe read(descriptor, into: $0) }
        guard count == 1, let word = PromptReply(rawValue: byte) else { return .silence }
        return .reply(word)
    }

    /// The channel for updates. Use it only before ``finish(askedFor:)``.
    var updates: PromptUpdates { PromptUpdates(descriptor: control.number) }

    /// Readable, or hung up, when the prompt said a word or died.
    var replyDescriptor: CInt { reply.number }

    /// Ends the prompt if it has not ended yet, waits until it and its dialog are gone, and returns its last reply.
    ///
    /// - Parameter factor: the factor of the question. A passcode is read into memory of its own.
    consuming func finish(askedFor factor: PromptFactor?) -> PromptEnd {
        let (replyNumber, secretNumber) = (reply.number, secret.number)
        var word = lastWord
        Self.close(control)
        while word == .none || word == .reply(.shown) {
            // A prompt without a last word in this time is stuck.
            guard Self.isReadable(replyNumber, within: Self.endPatienceMilliseconds) else { break }
            word = Self.nextWord(from: replyNumber)
        }
        process.killAndReap(withGroup: true)
        guard case .reply(let reply) = word else { return .silent }
        return reply == .entered ? Self.readSecret(secretNumber, of: factor) : .reply(reply)
    }

    /// Ends the prompt and its dialog at once, whatever they do. Their memory is freed later: a window has much of it.
    consuming func kill() {
        Threads.start("ostiary-reaper", process.kill(withGroup: true))
    }

    private static func isReadable(_ descriptor: CInt, within milliseconds: CInt) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var count = unsafe poll(&polled, 1, milliseconds)
        while count < 0, errno == EINTR { count = unsafe poll(&polled, 1, milliseconds) }
        return count > 0
    }

    private static func close(_ descriptor: consuming Descriptor) {}

    /// Reads the typed secret. Our prompt never sends more than a field holds.
    private static func readSecret(_ descriptor: CInt, of factor: PromptFactor?) -> PromptEnd {
        let size = PromptLimits.secretByteCount + 1
        var buffer = factor == .passcode ? SecretBytes(zeroedForPasscode: size) : SecretBytes(zeroed: size)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, into: $0) }
        guard (1...PromptLimits.secretByteCount).contains(count) else { return .silent }
        return .entered(buffer.prefix(count))
    }

    /// Reads until the buffer is full or all writers have closed; returns the number of bytes.
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

/// How a prompt's process ended.
enum PromptEnd: ~Copyable {
    case entered(SecretBytes)
    case reply(PromptReply)
    /// It was killed, or sent something that is no reply.
    case silent
}

/// Sends updates to a prompt.
struct PromptUpdates: Sendable {
    let descriptor: CInt

    /// Sends an update. Drops it if the prompt does not read or has ended, so that nobody waits for it.
    func send(_ update: PromptUpdate) {
        guard let message = try? update.encoded() else { return }
        unsafe message.withUnsafeBytes { bytes in
            _ = unsafe Glibc.send(descriptor, bytes.baseAddress!, bytes.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
    }
}

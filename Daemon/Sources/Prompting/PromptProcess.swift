import Foundation
import Glibc
import PromptProtocol
import SecretMemory
import UnixSocket

/// A running `ostiary-prompt`, from this side of its pipes.
struct PromptProcess: ~Copyable {
    private let process: ChildProcess
    private let secret: Descriptor
    private let reply: Descriptor
    /// Open as long as the prompt is wanted.
    private let control: Descriptor

    /// How long a prompt may take to end by itself; it must end a dialog and restore the terminal meanwhile.
    private static let endPatienceMilliseconds: CInt = 1000

    /// Starts the prompt with a cleared environment, exactly its descriptors, and in a session of its own.
    init(program: String, request: PromptRequest, terminal: CInt?) throws {
        let requestPipe = try PipeEnds()
        try Self.write(request.encoded(), to: requestPipe.writer)
        let secretPipe = try PipeEnds()
        let replyPipe = try PipeEnds()
        let controlPipe = try PipeEnds()
        var descriptors = [CInt](repeating: -1, count: Int(PromptDescriptor.count))
        descriptors[Int(PromptDescriptor.request)] = requestPipe.reader.number
        descriptors[Int(PromptDescriptor.secret)] = secretPipe.writer.number
        descriptors[Int(PromptDescriptor.reply)] = replyPipe.writer.number
        descriptors[Int(PromptDescriptor.control)] = controlPipe.reader.number
        descriptors[Int(PromptDescriptor.terminal)] = terminal ?? -1
        process = try ChildProcess(
            program: program, environment: Self.environment, descriptors: descriptors, leadsSession: true)
        secret = secretPipe.reader
        reply = replyPipe.reader
        control = controlPipe.writer
    }

    /// Swift's crash reporter would print registers, and the memory that these point at.
    private static let environment = ["SWIFT_BACKTRACE=enable=no", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"]

    /// The encoded request is smaller than a pipe, so one write takes it all and does not wait.
    private static func write(_ bytes: Data, to descriptor: borrowing Descriptor) throws {
        let number = descriptor.number
        try unsafe bytes.withUnsafeBytes { bytes in
            guard unsafe Glibc.write(number, bytes.baseAddress!, bytes.count) == bytes.count else { throw SystemCallError("write") }
        }
    }

    /// Readable, or hung up, once the prompt said its last word or died.
    var replyDescriptor: CInt { reply.number }

    /// Ends the prompt if it has not ended yet, waits until it and its dialog are gone, and returns what it said last.
    consuming func finish() -> PromptEnd {
        let (replyNumber, secretNumber) = (reply.number, secret.number)
        Self.close(control)
        var polled = pollfd(fd: replyNumber, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&polled, 1, Self.endPatienceMilliseconds) < 0, errno == EINTR {}
        process.killAndReap(withGroup: true)
        var byte: UInt8 = 0
        let count = unsafe withUnsafeMutableBytes(of: &byte) { unsafe Self.read(replyNumber, into: $0) }
        guard count == 1, let reply = PromptReply(rawValue: byte) else { return .silent }
        return reply == .entered ? Self.readSecret(secretNumber) : .reply(reply)
    }

    private static func close(_ descriptor: consuming Descriptor) {}

    /// Reads what was typed. More than a field takes does not come from our prompt.
    private static func readSecret(_ descriptor: CInt) -> PromptEnd {
        var buffer = SecretBytes(zeroed: PromptLimits.secretByteCount + 1)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, into: $0) }
        guard (1...PromptLimits.secretByteCount).contains(count) else { return .silent }
        return .entered(buffer.prefix(count))
    }

    /// Reads until the buffer is full or, all writers being gone, the end; returns the number of bytes.
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
    /// It was killed, or said something else than a prompt says.
    case silent
}

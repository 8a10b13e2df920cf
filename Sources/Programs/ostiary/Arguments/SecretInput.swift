import ArgumentParser
import Glibc
import OstiaryMessages
import SecretMemory
import UnixSocket

/// Where the secret of a command comes from: a file, a pipe, or a person who types it unseen. Never an argument: those are
/// visible to others.
struct SecretInput: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the secret from this file, - for standard input. Without this option the command asks on the "
                + "terminal or reads the pipe.", valueName: "file"))
    var secret: InputFile?

    /// The bytes of the secret, at least one.
    func read(prompt: String) throws -> SecretBytes { try Self.read(secret, prompt: prompt) }

    static func read(_ secret: InputFile?, prompt: String) throws -> SecretBytes {
        if secret == nil, StreamDescriptor.standardInput.isTerminal {
            let typed = try SecretPrompt.read(prompt, limit: WireLimits.secretByteCount)
            guard !typed.isEmpty else { throw CommandError.emptySecret(name: "what was typed") }
            return typed
        }
        let file = secret ?? .standardInput
        let bytes = try file.secretBytes(limit: WireLimits.secretByteCount)
        guard !bytes.isEmpty else { throw CommandError.emptySecret(name: file.name) }
        return bytes
    }
}

/// Asks on the controlling terminal without showing the typed text.
enum SecretPrompt {
    private enum Key {
        static let interrupt: UInt8 = 0x03
        static let endOfTransmission: UInt8 = 0x04
        static let erase: Set<UInt8> = [0x08, 0x7f]
        static let eraseLine: UInt8 = 0x15
        static let lineEnd: Set<UInt8> = [0x0a, 0x0d]
    }

    /// One line, without its end. The terminal is as before when this returns, whichever way.
    static func read(_ prompt: String, limit: Int) throws -> SecretBytes {
        let terminal = try open()
        var settings = termios()
        guard unsafe tcgetattr(terminal.number, &settings) == 0 else { throw unreadable("tcgetattr") }
        var hidden = settings
        // The keys that end a program come as bytes: a program that they ended would leave the terminal mute.
        hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard unsafe tcsetattr(terminal.number, TCSAFLUSH, &hidden) == 0 else { throw unreadable("tcsetattr") }
        defer { _ = unsafe tcsetattr(terminal.number, TCSAFLUSH, &settings) }
        let stream = StreamDescriptor(number: terminal.number)
        try show(prompt + ": ", on: stream)
        defer { try? show("\n", on: stream) }  // The line that the person ended was not shown; nothing depends on it.
        return try line(from: stream, limit: limit)
    }

    private static func line(from stream: StreamDescriptor, limit: Int) throws -> SecretBytes {
        var secret = SecretBytes(zeroed: limit)
        let count = try unsafe secret.withUnsafeMutableBytes { (buffer) throws in
            var (count, key) = (0, UInt8(0))
            while true {
                let isRead = try readKey(&key, from: stream)
                switch key {
                case _ where !isRead || Key.lineEnd.contains(key), Key.endOfTransmission: return count
                case Key.interrupt: throw CommandError.cancelled
                case Key.eraseLine: count = 0
                case _ where Key.erase.contains(key): unsafe eraseCharacter(&count, in: buffer)
                default:
                    guard count < limit else { throw CommandError.inputTooLarge(name: "what was typed", limit: limit) }
                    unsafe buffer[count] = key
                    count += 1
                }
            }
        }
        return secret.prefix(count)
    }

    private static func readKey(_ key: inout UInt8, from stream: StreamDescriptor) throws -> Bool {
        do {
            return try unsafe withUnsafeMutableBytes(of: &key) { (bytes) throws(SystemCallError) in
                try unsafe stream.read(into: bytes, subject: "the terminal") == 1
            }
        } catch { throw CommandError.unreadableInput(error) }
    }

    /// Takes back one character of UTF-8: its continuation bytes and the byte before them.
    private static func eraseCharacter(_ count: inout Int, in buffer: UnsafeMutableRawBufferPointer) {
        while count > 0 {
            count -= 1
            guard unsafe buffer[count] & 0xc0 == 0x80 else { return }
        }
    }

    private static func show(_ text: String, on stream: StreamDescriptor) throws {
        var text = text
        do {
            try text.withUTF8 { bytes in
                try unsafe stream.write(UnsafeRawBufferPointer(bytes), subject: "the terminal")
            }
        } catch { throw unreadable("write") }
    }

    private static func open() throws -> Descriptor {
        do {
            return try Descriptor(
                unsafe Glibc.open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC), from: "open", subject: "the terminal")
        } catch { throw CommandError.unreadableInput(error) }
    }

    private static func unreadable(_ call: String) -> CommandError {
        .unreadableInput(SystemCallError(call, subject: "the terminal"))
    }
}

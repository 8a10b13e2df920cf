public import Foundation
import Glibc

/// One run of a program on a pseudo-terminal that is its controlling terminal, with a person who answers its prompts.
public struct PlayedTerminal {
    public let status: Int32
    /// Everything that appeared.
    public let screen: String

    /// Whether `text` appeared, on however many lines: where a line of a prompt ends depends on the length of what it
    /// names.
    public func shows(_ text: String) -> Bool {
        screen.filter { !$0.isWhitespace }.contains(text.filter { !$0.isWhitespace })
    }

    /// - Parameters:
    ///   - answers: what is typed at each prompt in turn, without the line end; more prompts than answers are left
    ///     alone.
    ///   - timeout: seconds after which the program is killed.
    ///   - act: what the test does while the first prompt stands, before it is answered.
    public init(
        _ program: URL, _ arguments: [String], answers: [String] = [], in daemon: PrivateDaemon, timeout: Double = 60,
        atFirstPrompt act: ((StandingQuestion) throws -> Void)? = nil
    ) throws {
        let (terminal, other) = try Self.openTerminal()
        let process = Process()
        // setsid(1) makes its standard input the controlling terminal of a new session; Process cannot.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--ctty", "--wait", program.path] + arguments
        process.environment = daemon.environment
        process.currentDirectoryURL = daemon.folder
        let side = FileHandle(fileDescriptor: other, closeOnDealloc: false)
        (process.standardInput, process.standardOutput, process.standardError) = (side, side, side)
        do { try Self.run(process) } catch {
            for side in [terminal, other] { close(side) }
            throw error
        }
        close(other)
        let played = Result { try Self.play(terminal, answers, until: Date().addingTimeInterval(timeout), act) }
        // Without its terminal what still runs there is hung up. Killing setsid alone would leave it, and `Process` waits for
        // whatever inherited its descriptors.
        close(terminal)
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        screen = try played.get()
        status = process.terminationStatus
    }

    /// Starts `process` with no signal blocked and with Ctrl-C not ignored, because a program inherits both: a worker
    /// thread blocks most signals, and a shell without job control ignores Ctrl-C in what it starts in the background.
    static func run(_ process: Process) throws {
        var (none, before) = (sigset_t(), sigset_t())
        pthread_sigmask(SIG_SETMASK, &none, &before)
        let interruption = signal(SIGINT, SIG_DFL)
        defer {
            signal(SIGINT, interruption)
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        try process.run()
    }

    /// Types an answer whenever the screen has come to rest at a prompt; ends when the last program has left the
    /// terminal.
    private static func play(
        _ terminal: CInt, _ answers: [String], until deadline: Date, _ act: ((StandingQuestion) throws -> Void)?
    ) throws -> String {
        var (screen, answered, remaining) = ([UInt8](), 0, answers[...])
        var hasActed = false
        var buffer = [UInt8](repeating: 0, count: 4096)
        while Date() < deadline {
            var waiting = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
            if poll(&waiting, 1, isHidingInput(terminal) ? 10 : 150) > 0 {
                let count = read(terminal, &buffer, buffer.count)
                guard count > 0 else { break }
                screen += buffer[..<count]
            } else if screen.count > answered, isAtPrompt(screen) {
                if !hasActed { try act?(StandingQuestion(terminal: terminal)) }
                hasActed = true
                guard let answer = remaining.popFirst() else { continue }
                answered = screen.count
                let typed = Array((answer + "\n").utf8)
                _ = write(terminal, typed, typed.count)
            }
        }
        return String(decoding: screen, as: UTF8.self)
    }

    /// Whether what is typed is not shown: then the prompt has thrown away what was typed before it, and reads.
    fileprivate static func isHidingInput(_ terminal: CInt) -> Bool {
        var settings = termios()
        return tcgetattr(terminal, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) == 0
    }

    private static func isAtPrompt(_ screen: [UInt8]) -> Bool {
        let line = String(decoding: screen.suffix(300), as: UTF8.self).split(separator: "\n").last ?? ""
        // ssh-add names the file behind the word.
        return ["asscode: ", "assword: ", "Type yes to go on: "].contains { line.hasSuffix($0) }
            || line.contains("assphrase") && line.hasSuffix(": ")
            || line.contains("try again for") && line.hasSuffix(": ")
    }

    /// Both sides of a new pseudo-terminal (ptmx(4)); Swift's Glibc module shows neither posix_openpt nor ptsname.
    static func openTerminal() throws -> (CInt, CInt) {
        let (setLock, getNumber): (UInt, UInt) = (0x4004_5431 /* TIOCSPTLCK */, 0x8004_5430 /* TIOCGPTN */)
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number): (CInt, CInt) = (0, 0)
        guard terminal >= 0, ioctl(terminal, setLock, &lock) == 0, ioctl(terminal, getNumber, &number) == 0 else {
            throw TestSupportError("There is no pseudo-terminal to be had.")
        }
        let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard other >= 0 else { throw TestSupportError("The pseudo-terminal cannot be opened.") }
        return (terminal, other)
    }
}

/// A question on a played terminal that nobody has answered.
public struct StandingQuestion {
    fileprivate let terminal: CInt

    /// Whether it stands: as long as it does, the terminal does not show what is typed.
    public var isShown: Bool { PlayedTerminal.isHidingInput(terminal) }

    /// Waits until it is gone.
    ///
    /// - Returns: how long that took; nil if it stood all the time.
    public func waitUntilGone(for limit: Duration) -> Duration? {
        let begin = ContinuousClock.now
        while isShown {
            guard ContinuousClock.now - begin < limit else { return nil }
            usleep(1_000)
        }
        return ContinuousClock.now - begin
    }
}

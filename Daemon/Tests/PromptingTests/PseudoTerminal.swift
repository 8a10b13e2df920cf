import CLinuxShims
import Foundation
import Glibc
import Prompting
import SecretMemory
import Synchronization
import Testing
import UnixSocket

/// A pseudo-terminal whose keyboard and screen the test has in hand.
final class PseudoTerminal: Sendable {
    private let masterDescriptor: Mutex<SharedDescriptor?>
    let slave: SharedDescriptor
    let path: String
    private let transcript = Mutex("")

    private static let unlock: UInt = 0x4004_5431  // TIOCSPTLCK
    private static let number: UInt = 0x8004_5430  // TIOCGPTN
    private static let exclusive: UInt = 0x8004_5440  // TIOCGEXCL

    init() throws {
        let master = try Descriptor(Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), from: "open")
        var (locked, number): (CInt, CInt) = (0, 0)
        guard ioctl(master.number, Self.unlock, &locked) == 0, ioctl(master.number, Self.number, &number) == 0 else {
            throw SystemCallError("ioctl")
        }
        path = "/dev/pts/\(number)"
        slave = try Self.open(path)
        masterDescriptor = Mutex(SharedDescriptor(master))
    }

    static func open(_ path: String, _ mode: CInt = O_RDWR) throws -> SharedDescriptor {
        SharedDescriptor(try Descriptor(Glibc.open(path, mode | O_NOCTTY | O_CLOEXEC), from: "open", subject: path))
    }

    var master: SharedDescriptor { masterDescriptor.withLock { $0! } }

    /// The line hangs up.
    func hangUp() { masterDescriptor.withLock { $0 = nil } }

    func type(_ text: String) { type(Array(text.utf8)) }

    func type(_ bytes: [UInt8]) {
        let count = bytes.withUnsafeBytes { write(master.number, $0.baseAddress!, $0.count) }
        #expect(count == bytes.count)
    }

    /// Everything shown so far.
    var screen: String {
        readAvailable(waitMilliseconds: 0)
        return transcript.withLock { $0 }
    }

    /// Waits until `text` was shown; fails the test after ten seconds.
    func waitFor(_ text: String, _ location: SourceLocation = #_sourceLocation) {
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while ContinuousClock.now < end {
            if transcript.withLock({ $0.contains(text) }) { return }
            readAvailable(waitMilliseconds: 50)
        }
        Issue.record("\(text) was not shown; shown was: \(screen.debugDescription)", sourceLocation: location)
    }

    func clearScreen() {
        readAvailable(waitMilliseconds: 0)
        transcript.withLock { $0 = "" }
    }

    private func readAvailable(waitMilliseconds: CInt) {
        let master = masterDescriptor.withLock { $0 }
        guard let master else { return }
        var polled = pollfd(fd: master.number, events: Int16(POLLIN), revents: 0)
        var wait = waitMilliseconds
        while poll(&polled, 1, wait) > 0, polled.revents & Int16(POLLIN) != 0 {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(master.number, &bytes, bytes.count)
            guard count > 0 else { return }
            transcript.withLock { $0 += String(decoding: bytes[..<count], as: UTF8.self) }
            wait = 0
        }
    }

    var isAsBefore: Bool { echoes && !isExclusive }

    var echoes: Bool {
        var settings = termios()
        return tcgetattr(slave.number, &settings) == 0
            && settings.c_lflag & tcflag_t(ECHO | ICANON | ISIG) == tcflag_t(ECHO | ICANON | ISIG)
    }

    var isExclusive: Bool {
        var exclusive: CInt = 0
        return ioctl(slave.number, Self.exclusive, &exclusive) == 0 && exclusive != 0
    }
}

/// A process in a session of its own whose controlling terminal is a pseudo-terminal: what a program in a terminal window is.
final class CallerProcess: Sendable {
    let processID: pid_t
    private let isReaped = Mutex(false)

    /// Runs `script` in a shell after it took the terminal; waits until the script says `ready`.
    init(on terminal: PseudoTerminal, script: String = "echo ready; exec sleep 600") throws {
        let command = "exec 0<>\(terminal.path) 1>&0 2>&0; \(script)"
        let arguments = [strdup("bash"), strdup("-c"), strdup(command), nil]
        let environment = [strdup("PATH=/usr/bin:/bin"), nil]
        defer { (arguments + environment).forEach { free($0) } }
        var child: pid_t = 0
        let code = ostiary_spawn("/bin/bash", arguments, environment, [-1, -1, -1], 3, 1, "/", &child)
        guard code == 0 else { throw SystemCallError("posix_spawn", subject: "/bin/bash", code: code) }
        processID = child
        terminal.waitFor("ready")
        terminal.clearScreen()
    }

    deinit { end() }

    func signal(_ number: CInt) { _ = kill(processID, number) }

    /// Kills and reaps it.
    func end() {
        isReaped.withLock { isReaped in
            guard !isReaped else { return }
            kill(processID, SIGKILL)
            kill(-processID, SIGKILL)
            while waitpid(processID, nil, 0) < 0, errno == EINTR {}
            isReaped = true
        }
    }

    var isRunning: Bool { ProcessStatus(of: processID).map { !$0.isDead } ?? false }

    func caller(
        _ terminal: SharedDescriptor?, userID: UInt32 = getuid(), program: String = "/usr/bin/asker"
    ) throws -> PromptCaller {
        let status = try #require(ProcessStatus(of: processID))
        return PromptCaller(
            processID: processID, startTime: status.startTime, userID: userID, program: program, terminal: terminal)
    }
}

/// What a question came to, in a form that can be compared.
enum Ending: Equatable {
    case entered(String, PromptFactor)
    case confirmed, cancelled, fallback, timedOut
    case interrupted(PromptInterruption)
    case unavailable(PromptUnavailability)
    case stillAsking

    init(_ outcome: consuming PromptOutcome) {
        switch consume outcome {
        case .entered(let secret):
            let factor = secret.factor
            guard let bytes = secret.take(for: factor) else { fatalError("a secret is handed over for its own factor") }
            self = .entered(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, factor)
        case .confirmed: self = .confirmed
        case .cancelled: self = .cancelled
        case .fallback: self = .fallback
        case .timedOut: self = .timedOut
        case .interrupted(let interruption): self = .interrupted(interruption)
        case .unavailable(let reason): self = .unavailable(reason)
        }
    }
}

/// A question that is being put in a thread of its own.
final class Asking: Sendable {
    let cancellation: PromptCancellation
    private let ending = Mutex<Ending>(.stillAsking)
    private let done = DispatchSemaphore(value: 0)

    init(_ prompter: any Prompter, _ question: PromptQuestion, on caller: PromptCaller) throws {
        cancellation = try PromptCancellation()
        Thread.detachNewThread { [self] in
            let ending = Ending(prompter.ask(question, on: caller, cancellation: cancellation))
            self.ending.withLock { $0 = ending }
            done.signal()
        }
    }

    /// What it came to, within ten seconds.
    func wait(seconds: Double = 10) -> Ending {
        if done.wait(timeout: .now() + seconds) == .success { done.signal() }
        return ending.withLock { $0 }
    }
}

extension PromptQuestion {
    static let passcode = PromptQuestion(
        .enterPasscode, object: DisplayText("GitHub token"), operation: DisplayText("read"),
        reason: DisplayText("to push"))
}

/// Where the programs of this build lie.
enum Build {
    static let prompt = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("ostiary-prompt").path
}

/// The prompts that this process has started and not reaped.
func runningPrompts() -> [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.filter { processID in
        guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8) else { return false }
        guard let end = text.range(of: " (ostiary-prompt) ") else { return false }
        let fields = text[end.upperBound...].split(separator: " ")
        return fields[0] != "Z" && fields[1] == "\(getpid())"
    }
}

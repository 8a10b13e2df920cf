import CLinuxShims
import ExactNames
import Foundation
import Glibc
import ProcessFacts
import Prompting
import PromptProtocol
import Settings
import TerminalTestSupport
import Testing
import UnixSocket

/// Everything that starts processes, one at a time: the tests look for "the" prompt.
@Suite(.serialized, .timeLimit(.minutes(10)))
enum RealPromptTests {}

extension RealPromptTests {
    @Suite struct TerminalPromptTests {
        let terminal: PseudoTerminal
        let process: CallerProcess

        init() throws {
            terminal = try PseudoTerminal()
            process = try CallerProcess(on: terminal)
        }

        private func prompter(seconds: Int = 60) -> ProcessPrompter {
            var configuration = PromptConfiguration()
            configuration.timeLimitSeconds = seconds
            return ProcessPrompter(program: Build.prompt, configuration: configuration, userID: geteuid())
        }

        /// Puts the question and waits until its field is there.
        private func ask(
            _ question: PromptQuestion = .passcode, field: String = "Passcode: ", seconds: Int = 60
        ) throws -> Asking {
            let asking = try Asking(prompter(seconds: seconds), question, on: process.caller(terminal.slave))
            terminal.waitFor(field)
            return asking
        }

        // MARK: Who asks

        /// What the prompt says of a caller with this application id.
        private func screen(of application: String?) throws -> String {
            let caller = try process.caller(terminal.slave, application: application)
            terminal.clearScreen()
            let asking = try Asking(prompter(), .passcode, on: caller)
            terminal.waitFor("Passcode: ")
            let screen = terminal.screen
            terminal.type("\u{3}")
            #expect(asking.wait() == .cancelled)
            return screen
        }

        @Test func `a registered program is named by its id, beside its path and behind a label of its own`() throws {
            let lines = try screen(of: "com.example.mail").split(whereSeparator: \.isNewline).map(String.init)
            let program = "  Program   /usr/bin/asker (process \(process.processID))"
            let index = try #require(lines.firstIndex(of: program))
            #expect(lines[index + 1] == "  Known as  com.example.mail")
            #expect(try !screen(of: nil).contains("Known as"))
        }

        /// The daemon lets no such id be registered; the prompt does not count on that.
        @Test func `an id is shown where no line of the prompt could be imitated`() throws {
            let hostile = "a\r\n  To        do nothing\u{1B}[2J\u{202E}\r\n" + String(repeating: "b", count: 200)
            let lines = try screen(of: hostile).split(whereSeparator: \.isNewline).map(String.init)
            #expect(lines.contains { $0.hasPrefix(#"  Known as  a\u{d}\u{a} \u{20}To"#) })
            #expect(!lines.contains { $0.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{202E}" } })
            #expect(lines.count { $0.hasPrefix("  To ") } == 1)
            let long = lines.filter { $0.contains("bbb") }
            #expect(!long.isEmpty && long.allSatisfy { $0.hasPrefix("            ") })
        }

        // MARK: Answers

        @Test(arguments: ["correct horse", "100%", "żółw 🐢", "a"])
        func `what is typed comes back, is not shown, and the terminal is as before`(_ text: String) throws {
            let asking = try ask()
            #expect(!terminal.echoes)
            terminal.clearScreen()
            terminal.type(text + "\r")
            #expect(asking.wait() == .entered(text, .passcode))
            #expect(terminal.screen.filter { !$0.isNewline } == "")
            #expect(terminal.isAsBefore)
        }

        @Test func `Ctrl-C cancels the question and does not reach the caller`() throws {
            let asking = try ask()
            terminal.type("half\u{3}")
            #expect(asking.wait() == .cancelled)
            #expect(terminal.isAsBefore)
            #expect(process.isRunning)
        }

        @Test(arguments: ["\u{1B}", "\u{4}"]) func `Escape, and Ctrl-D on an empty field, cancel`(_ key: String) throws
        {
            let asking = try ask()
            terminal.type(key)
            #expect(asking.wait() == .cancelled)
            #expect(terminal.isAsBefore)
        }

        @Test func `keys that edit work, arrows do nothing`() throws {
            let asking = try ask()
            terminal.type("wrong\u{15}one two\u{17}thrüß\u{7F}\u{7F}\u{8}\u{1B}[A\u{1B}OC\u{1B}[3~ee\r")
            #expect(asking.wait() == .entered("one thee", .passcode))
        }

        @Test func `Enter on an empty field does not count as an answer`() throws {
            let asking = try ask()
            terminal.type("\r\rx\r")
            #expect(asking.wait() == .entered("x", .passcode))
        }

        @Test func `more than a field takes is refused, not cut off`() throws {
            let asking = try ask()
            for _ in 0..<5 { terminal.type(String(repeating: "x", count: 205)) }
            terminal.type("\r")
            terminal.waitFor("Too long: at most 1024 bytes.")
            terminal.type("short\r")
            #expect(asking.wait() == .entered("short", .passcode))
        }

        @Test func `Tab chooses the fallback where one is offered`() throws {
            let question = PromptQuestion(
                .enterPasscode, operation: DisplayText("read"), cancelTitle: DisplayText("Not now"),
                fallbackTitle: DisplayText("Use the recovery key"))
            let asking = try ask(question)
            let lines = terminal.screen.split(whereSeparator: \.isNewline)
            #expect(lines.contains("  Tab       “Use the recovery key”") && lines.contains("  Ctrl-C    “Not now”"))
            #expect(terminal.screen.contains("Ctrl-C: Cancel. Tab: another way."))
            terminal.type("\t")
            #expect(asking.wait() == .fallback)
            #expect(terminal.isAsBefore)
        }

        @Test func `Tab does nothing where no fallback is offered`() throws {
            let asking = try ask()
            terminal.type("a\tb\r")
            #expect(asking.wait() == .entered("ab", .passcode))
        }

        @Test(arguments: [
            ("yes", Ending.confirmed), ("no", .cancelled), ("Yes!", .cancelled), ("yess\u{7F}", .confirmed),
        ])
        func `a confirmation takes nothing but yes`(_ text: String, _ ending: Ending) throws {
            let question = PromptQuestion(
                .confirmation(warning: DisplayText("All items are destroyed.")), operation: DisplayText("remove"))
            let asking = try ask(question, field: "Type yes to go on: ")
            #expect(terminal.screen.contains("All items are destroyed."))
            terminal.type(text + "\r")
            #expect(asking.wait() == ending)
        }

        // MARK: What is shown

        @Test func `the question names who asks, for what, and why`() throws {
            let question = PromptQuestion(
                .enterPasscode, objects: PromptObjects(DisplayText("GitHub token")), operation: DisplayText("read"),
                reason: DisplayText("to push"), notice: DisplayText("Wrong passcode."), triesLeft: 3)
            let asking = try ask(question)
            for text in [
                "Ostiary asks for your passcode.", "/usr/bin/asker (process \(process.processID))", "GitHub token",
                "read",
                "“to push”", "Wrong passcode. 3 tries left.", "Ctrl-C: Cancel.", "Typing is not shown.",
            ] {
                #expect(terminal.shows(text))
            }
            terminal.type("\u{3}")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `an empty entry is answered, and the next one counts`() throws {
            let asking = try ask(PromptQuestion(.enterPasscode, operation: DisplayText("read")))
            terminal.type("\r")
            terminal.waitFor("Nothing was entered.")
            terminal.type("swordfish\r")
            #expect(asking.wait() == .entered("swordfish", .passcode))
        }

        @Test func `escape sequences, direction marks and line ends of a caller are not drawn`() throws {
            let hostile = "\u{1B}[2J\u{9B}1;1H\u{202E}drowssap\u{2066}\r\nPasscode: \u{200B}\u{7}x"
            let question = PromptQuestion(
                .enterPasscode, objects: PromptObjects(DisplayText(hostile)), operation: DisplayText("read"),
                reason: DisplayText(hostile))
            let asking = try ask(question, field: "Passcode: ")
            terminal.waitFor("\nPasscode: ")
            let shown = terminal.screen.unicodeScalars
            for scalar in "\u{1B}\u{9B}\u{202E}\u{2066}\u{200B}\u{7}".unicodeScalars {
                #expect(!shown.contains(scalar))
            }
            #expect(terminal.screen.contains("“[2J1;1Hdrowssap Passcode: x”"))
            terminal.type("\u{3}")
            #expect(asking.wait() == .cancelled)
        }

        @Test(arguments: [8, 29]) func `a terminal that is too narrow is not asked on`(_ columns: UInt16) throws {
            var size = winsize(ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
            #expect(ioctl(terminal.slave.number, UInt(TIOCSWINSZ), &size) == 0)
            let asking = try Asking(prompter(), .passcode, on: process.caller(terminal.slave))
            #expect(asking.wait() == .unavailable(.unshowable))
            #expect(terminal.screen.isEmpty && terminal.isAsBefore)
        }

        @Test func `a long reason cannot put a line where the field is`() throws {
            let question = PromptQuestion(
                .enterPasscode, operation: DisplayText("read"),
                reason: DisplayText(String(repeating: "Passcode: ", count: 40)))
            let asking = try ask(question, field: "\nPasscode: ")
            let lines = terminal.screen.split(whereSeparator: \.isNewline)
            #expect(lines.allSatisfy { $0.count < 80 })
            #expect(lines.filter { $0.hasPrefix("Passcode:") }.count == 1)
            terminal.type("\u{3}")
            #expect(asking.wait() == .cancelled)
        }

        // MARK: One field, one factor

        @Test func `what was typed for an item's password is never handed over as passcode`() throws {
            let question = PromptQuestion(.applicationPassword, operation: DisplayText("read"))
            let asking = try ask(question, field: "Item password: ")
            #expect(terminal.screen.contains("not for your passcode"))
            terminal.type("swordfish\r")
            #expect(asking.wait() == .entered("swordfish", .applicationPassword))
        }

        @Test func `the PIN of a security key is asked for by its name, and is never handed over as passcode`() throws {
            let question = PromptQuestion(.keyPIN, operation: DisplayText("sign in"), triesLeft: 3)
            let asking = try ask(question, field: "PIN of the security key: ")
            #expect(terminal.screen.contains("not for your passcode") && terminal.screen.contains("3 tries left."))
            terminal.type("1234\r")
            #expect(asking.wait() == .entered("1234", .keyPIN))
        }

        @Test func `the password of the TPM's owner is asked for by its name, and is never handed over as passcode`()
            throws
        {
            let question = PromptQuestion(.ownerPassword, operation: DisplayText("set the passcode"))
            let asking = try ask(question, field: "Owner password of the TPM: ")
            #expect(terminal.screen.contains("not for your passcode"))
            terminal.type("swordfish\r")
            #expect(asking.wait() == .entered("swordfish", .ownerPassword))
        }

        @Test func `a choice lists its options and shows the typed number`() throws {
            let options = ["anne", "bob"].map { DisplayText($0) }
            let question = PromptQuestion(.choice(options), operation: DisplayText("sign in"))
            let asking = try ask(question, field: "Number: ")
            #expect(terminal.screen.contains("1         anne") && terminal.screen.contains("2         bob"))
            #expect(!terminal.screen.contains("Typing is not shown."))
            terminal.type("2\r")
            #expect(asking.wait() == .entered("2", .choice))
        }

        @Test func `typed ahead input is not taken as an answer`() throws {
            terminal.type("typed ahead\r")
            let asking = try ask()
            terminal.type("meant\r")
            #expect(asking.wait() == .entered("meant", .passcode))
        }

        // MARK: Ends that nobody typed

        @Test func `a caller that is killed ends the question`() throws {
            let asking = try ask()
            process.end()
            #expect(asking.wait() == .interrupted(.clientGone))
            #expect(runningPrompts().isEmpty)
        }

        @Test func `a caller that is stopped ends the question`() throws {
            let asking = try ask()
            process.signal(SIGSTOP)
            #expect(asking.wait() == .interrupted(.background))
            #expect(terminal.isAsBefore)
        }

        @Test func `a caller that loses the foreground ends the question`() throws {
            let terminal = try PseudoTerminal()
            let shell = try CallerProcess(
                on: terminal,
                script: "set -m; trap 'sleep 600' USR1; sleep 600 & echo ready; while :; do wait; done")
            let asking = try Asking(prompter(), .passcode, on: shell.caller(terminal.slave))
            terminal.waitFor("Passcode: ")
            shell.signal(SIGUSR1)
            #expect(asking.wait() == .interrupted(.background))
            #expect(!terminal.isExclusive)
        }

        @Test func `a caller in the background is not asked for`() throws {
            let terminal = try PseudoTerminal()
            let shell = try CallerProcess(
                on: terminal, script: "set -m; sleep 600 & echo \"job $!.\"; echo ready; exec sleep 600")
            let child = try #require(Self.child(of: shell.processID))
            let caller = PromptCaller(
                processID: child, process: try? KernelFacts().hold(child), userID: getuid(), program: "job",
                terminal: terminal.slave)
            let asking = try Asking(prompter(), .passcode, on: caller)
            #expect(asking.wait() == .unavailable(.terminalRefused(.callerInBackground)))
            #expect(terminal.screen.isEmpty)
            kill(child, SIGKILL)
        }

        private static func child(of parent: pid_t) -> pid_t? {
            let text = try? String(contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)
            return text?.split(separator: " ").first.flatMap { pid_t($0) }
        }

        @Test(arguments: [SIGTERM, SIGKILL, SIGHUP, SIGSEGV])
        func `a prompt that is killed leaves the terminal as before`(_ signal: CInt) throws {
            let asking = try ask()
            terminal.type("half a passcode")
            #expect(!terminal.echoes)
            for prompt in runningPrompts() { kill(prompt, signal) }
            #expect(asking.wait() == .interrupted(.promptEnded))
            #expect(terminal.isAsBefore)
            #expect(try Self.nextLine(on: terminal) == "\n", "nothing of it may land in the shell")
        }

        /// What a shell would read if Enter were pressed now.
        private static func nextLine(on terminal: PseudoTerminal) throws -> String {
            terminal.type("\r")
            var polled = pollfd(fd: terminal.slave.number, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 5000) > 0 else { return "nothing" }
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = read(terminal.slave.number, &bytes, bytes.count)
            return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
        }

        @Test func `a terminal that hangs up ends the question`() throws {
            let terminal = try PseudoTerminal()
            let deaf = try CallerProcess(on: terminal, script: "trap '' HUP; echo ready; exec sleep 600")
            let asking = try Asking(prompter(), .passcode, on: deaf.caller(terminal.slave))
            terminal.waitFor("Passcode: ")
            terminal.hangUp()
            #expect(asking.wait() == .interrupted(.terminalGone))
            #expect(runningPrompts().isEmpty)
        }

        @Test func `the time limit ends the question`() throws {
            let asking = try ask(seconds: 1)
            terminal.type("half")
            #expect(asking.wait() == .timedOut)
            #expect(terminal.isAsBefore)
        }

        @Test func `a prompt that does not keep its time limit is ended`() throws {
            let asking = try ask(seconds: 1)
            for prompt in runningPrompts() { kill(prompt, SIGSTOP) }
            #expect(asking.wait() == .timedOut)
            #expect(terminal.isAsBefore)
        }

        @Test(arguments: [PromptInterruption.lock, .clientGone, .superseded])
        func `the daemon can take the question away`(_ interruption: PromptInterruption) throws {
            let asking = try ask()
            asking.cancellation.cancel(because: interruption)
            asking.cancellation.cancel(because: .promptEnded)
            #expect(asking.wait() == .interrupted(interruption))
            #expect(terminal.isAsBefore)
            #expect(runningPrompts().isEmpty)
        }

        @Test func `a question that was taken away before is not shown`() throws {
            let cancellation = try PromptCancellation()
            cancellation.cancel(because: .lock)
            let outcome = prompter().ask(.passcode, on: try process.caller(terminal.slave), cancellation: cancellation)
            #expect(Ending(outcome) == .interrupted(.lock))
            #expect(terminal.screen.isEmpty)
        }

        // MARK: The prompt's process

        @Test func `nobody else can open the terminal while the field is up`() throws {
            #expect(fchown(terminal.slave.number, Self.otherUser, gid_t.max) == 0)
            #expect(try Self.canOpen(terminal.path))
            #expect(fchown(terminal.slave.number, getuid(), gid_t.max) == 0)
            let asking = try ask()
            #expect(terminal.isExclusive)
            #expect(fchown(terminal.slave.number, Self.otherUser, gid_t.max) == 0)
            #expect(try !Self.canOpen(terminal.path))
            terminal.type("x\r")
            #expect(asking.wait() == .entered("x", .passcode))
            #expect(try Self.canOpen(terminal.path))
        }

        /// Root may open an exclusive terminal, so a test that runs as root asks as somebody else.
        private static let otherUser: uid_t = getuid() == 0 ? 65534 : getuid()

        private static func canOpen(_ path: String) throws -> Bool {
            let opener = Process()
            let command = ["/bin/sh", "-c", "exec 3<>\(path)"]
            opener.executableURL = URL(fileURLWithPath: getuid() == 0 ? "/usr/bin/setpriv" : command[0])
            opener.arguments =
                getuid() == 0 ? ["--reuid=\(otherUser)", "--clear-groups"] + command : Array(command.dropFirst())
            opener.standardError = FileHandle.nullDevice
            try opener.run()
            opener.waitUntilExit()
            return opener.terminationStatus == 0
        }

        @Test(.enabled(if: geteuid() == 0, "only root sees what a process holds that cannot be dumped"))
        func `the prompt has a cleared environment and its own descriptors only`() throws {
            setenv("OSTIARY_MARKER", "leaks", 1)
            defer { unsetenv("OSTIARY_MARKER") }
            let asking = try ask()
            let prompt = try #require(runningPrompts().first)
            let environment = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(prompt)/environ"))
            #expect(
                Set(environment.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
                    == ["SWIFT_BACKTRACE=enable=no", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"])
            let targets = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(prompt)/fd").map {
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(prompt)/fd/\($0)")
            }
            let foreign = targets.filter {
                !$0.hasPrefix("pipe:") && !$0.hasPrefix("socket:") && !$0.contains("signalfd") && $0 != "/dev/null"
                    && $0 != terminal.path
            }
            #expect(foreign.isEmpty)
            terminal.type("x\r")
            _ = asking.wait()
        }

        @Test func `the prompt makes no core`() throws {
            let asking = try ask()
            let prompt = try #require(runningPrompts().first)
            let limits = try String(contentsOfFile: "/proc/\(prompt)/limits", encoding: .utf8)
            let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
            #expect(core?.split(separator: " ").suffix(3).prefix(2) == ["0", "0"])
            #expect(ProcessStatus(of: prompt)?.session == prompt)
            terminal.type("\u{3}")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `no descriptor and no child is left behind`() throws {
            let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            for _ in 0..<3 {
                let asking = try ask()
                terminal.clearScreen()
                terminal.type("x\r")
                #expect(asking.wait() == .entered("x", .passcode))
                terminal.clearScreen()
            }
            // The thread of a question lets go of its caller's handle a moment after the answer.
            try eventually("no descriptor is left") {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count <= before + 2
            }
            #expect(runningPrompts().isEmpty)
        }

        @Test func `without terminal and dialog nothing is started`() throws {
            let prompter = ProcessPrompter(
                program: "/nonexistent", configuration: PromptConfiguration(), userID: geteuid())
            let asking = try Asking(prompter, .passcode, on: process.caller(nil))
            #expect(asking.wait() == .unavailable(.notInteractive))
        }

        @Test func `a prompt program that is missing makes questions unavailable`() throws {
            let prompter = ProcessPrompter(
                program: "/nonexistent", configuration: PromptConfiguration(), userID: geteuid())
            let asking = try Asking(prompter, .passcode, on: process.caller(terminal.slave))
            let reason = "the helper could not be started: posix_spawn /nonexistent: No such file or directory"
            #expect(asking.wait() == .unavailable(.promptFailed(reason: reason)))
            #expect(terminal.isAsBefore)
        }

        @Test(arguments: ["/bin/true", "/bin/false", "/bin/cat"])
        func `a program that does not speak like a prompt answers nothing`(_ program: String) throws {
            let prompter = ProcessPrompter(program: program, configuration: PromptConfiguration(), userID: geteuid())
            let asking = try Asking(prompter, .passcode, on: process.caller(terminal.slave))
            #expect(asking.wait() == .interrupted(.promptEnded))
            #expect(terminal.isAsBefore)
        }
    }
}

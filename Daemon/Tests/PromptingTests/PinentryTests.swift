import ExactNames
import Foundation
import Glibc
import PromptProtocol
import Prompting
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

extension RealPromptTests {
    @Suite struct PinentryTests {
        let terminal: PseudoTerminal
        let process: CallerProcess

        init() throws {
            terminal = try PseudoTerminal()
            process = try CallerProcess(on: terminal)
        }

        private static func prompter(_ path: String, seconds: Int = 60, display: String? = nil) -> ProcessPrompter {
            var configuration = PromptConfiguration()
            configuration.frontEnds = [.pinentry]
            configuration.pinentryPath = path
            configuration.timeLimitSeconds = seconds
            configuration.display = display
            return ProcessPrompter(program: Build.prompt, configuration: configuration, userID: geteuid())
        }

        /// The caller's screen has to be large enough for curses.
        private func ask(
            _ path: String, _ question: PromptQuestion = .passcode, showing text: String, seconds: Int = 60
        ) throws -> Asking {
            var size = winsize(ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
            #expect(ioctl(terminal.slave.number, UInt(TIOCSWINSZ), &size) == 0)
            let asking = try Asking(Self.prompter(path, seconds: seconds), question, on: process.caller(terminal.slave))
            terminal.waitFor(text)
            return asking
        }

        private static let real = ["/usr/bin/pinentry-tty", "/usr/bin/pinentry-curses"]

        @Test(arguments: real, ["100% żółw", "%25", "a b"])
        func `what is typed into a dialog comes back byte by byte`(_ path: String, _ text: String) throws {
            let asking = try ask(path, showing: "Passcode:")
            terminal.type(text + "\r")
            #expect(asking.wait() == .entered(text, .passcode))
            #expect(!terminal.screen.contains(text))
            #expect(terminal.isAsBefore)
        }

        @Test(arguments: real)
        func `the password of the TPM's owner is never handed over as passcode`(_ path: String) throws {
            let question = PromptQuestion(.ownerPassword, operation: DisplayText("set the passcode"))
            let asking = try ask(path, question, showing: "Owner password of the TPM:")
            #expect(terminal.screen.contains("not for your passcode"))
            terminal.type("swordfish\r")
            #expect(asking.wait() == .entered("swordfish", .ownerPassword))
            #expect(!terminal.screen.contains("swordfish"))
        }

        @Test(arguments: zip(real, ["\u{4}", "half\t\t\r"]))
        func `a dialog says who asks, and can be cancelled`(_ path: String, _ cancelKeys: String) throws {
            let asking = try ask(path, showing: "Passcode:")
            for text in ["Ostiary asks for your passcode.", "/usr/bin/asker", "GitHub token"] {
                #expect(terminal.screen.contains(text))
            }
            terminal.type(cancelKeys)
            #expect(asking.wait() == .cancelled)
            #expect(terminal.isAsBefore)
        }

        @Test(arguments: real) func `Ctrl-C in a dialog is for the caller, and ends the question with it`(
            _ path: String
        ) throws {
            let asking = try ask(path, showing: "Passcode:")
            terminal.type("half\u{3}")
            #expect(asking.wait() == .interrupted(.clientGone))
            #expect(!process.isRunning)
            #expect(dialogs().isEmpty)
        }

        @Test(arguments: real) func `typed ahead input is not taken by a dialog`(_ path: String) throws {
            terminal.type("typed ahead\r")
            let asking = try ask(path, showing: "Passcode:")
            terminal.type("meant\r")
            #expect(asking.wait() == .entered("meant", .passcode))
        }

        @Test(arguments: real) func `the time limit ends a dialog`(_ path: String) throws {
            let asking = try ask(path, showing: "Passcode:", seconds: 1)
            #expect(asking.wait() == .timedOut)
            #expect(terminal.isAsBefore)
            #expect(dialogs().isEmpty)
        }

        @Test(arguments: real) func `a dialog ends with its question, and the terminal is as before`(_ path: String)
            throws
        {
            let asking = try ask(path, showing: "Passcode:")
            asking.cancellation.cancel(because: .superseded)
            #expect(asking.wait() == .interrupted(.superseded))
            #expect(terminal.isAsBefore)
            #expect(dialogs().isEmpty)
        }

        @Test(arguments: real) func `a dialog does not outlive a prompt that is killed`(_ path: String) throws {
            let asking = try ask(path, showing: "Passcode:")
            #expect(dialogs().count == 1)
            for prompt in runningPrompts() { kill(prompt, SIGKILL) }
            #expect(asking.wait() == .interrupted(.promptEnded))
            #expect(terminal.isAsBefore)
            // Nobody here can wait for it: it was the prompt's child.
            let end = ContinuousClock.now.advanced(by: .seconds(5))
            while !dialogs().isEmpty, ContinuousClock.now < end { sched_yield() }
            #expect(dialogs().isEmpty)
        }

        @Test(arguments: real) func `a dialog that is killed is no answer`(_ path: String) throws {
            let asking = try ask(path, showing: "Passcode:")
            for dialog in dialogs() { kill(dialog, SIGKILL) }
            #expect(asking.wait() == .unavailable(.dialogFailed))
            #expect(terminal.isAsBefore)
        }

        /// Dialogs on the test's terminal; a dead process holds none.
        private func dialogs() -> [pid_t] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            let slave = Self.file(behind: "/proc/self/fd/\(terminal.slave.number)")
            return names.compactMap { pid_t($0) }.filter { processID in
                let name = try? String(contentsOfFile: "/proc/\(processID)/comm", encoding: .utf8)
                guard name?.hasPrefix("pinentry") == true else { return false }
                let folder = "/proc/\(processID)/fd"
                let open = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
                return open.contains { Self.file(behind: "\(folder)/\($0)") == slave }
            }
        }

        private static func file(behind link: String) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(atPath: link)
        }

        // MARK: Programs that do not behave

        @Test func `a missing dialog program makes questions unavailable`() throws {
            let asking = try Asking(
                Self.prompter("/nonexistent/pinentry"), .passcode, on: process.caller(terminal.slave))
            #expect(asking.wait() == .unavailable(.dialogFailed))
            #expect(terminal.screen.isEmpty)
        }

        @Test func `without terminal and display a dialog program alone is not interactive`() throws {
            let asking = try Asking(Self.prompter("/usr/bin/pinentry-tty"), .passcode, on: process.caller(nil))
            #expect(asking.wait() == .unavailable(.notInteractive))
        }

        static let misbehaving: [(String, Ending)] = [
            ("exit 0", .unavailable(.dialogFailed)),
            ("echo ERR 1 no", .unavailable(.dialogFailed)),
            ("echo nonsense", .unavailable(.dialogFailed)),
            ("echo OK; while read -r l; do echo INQUIRE X; done", .unavailable(.dialogFailed)),
            ("echo OK; while read -r l; do echo ERR 83886179 x; done", .unavailable(.dialogFailed)),
            ("echo OK; head -c 5000 /dev/zero; sleep 60", .unavailable(.dialogFailed)),
            (answering("echo 'D %4'; echo OK"), .unavailable(.dialogFailed)),
            (answering("echo 'D %zz'; echo OK"), .unavailable(.dialogFailed)),
            (
                answering("for i in 1 2 3; do printf 'D '; head -c 500 /dev/zero | tr '\\0' x; echo; done; echo OK"),
                .unavailable(.dialogFailed)
            ),
            (answering("echo 'ERR 83886179 canceled'"), .cancelled),
            (answering("echo 'ERR 83886278 canceled'"), .cancelled),
            (answering("echo 'ERR 83886194 not confirmed'"), .cancelled),
            (answering("echo 'ERR 83886142 timeout'"), .timedOut),
            (answering("echo 'ERR 83886181 other'"), .unavailable(.dialogFailed)),
            (
                answering("echo 'S PASSWORD_FROM_CACHE'; echo '# note'; echo 'D a%25%C5%BC'; echo 'D b'; echo OK"),
                .entered("a%żb", .passcode)
            ),
        ]

        private static func answering(_ answer: String) -> String {
            "echo OK; while read -r l; do case \"$l\" in GETPIN*) \(answer);; *) echo OK;; esac; done"
        }

        @Test(arguments: misbehaving)
        func `only the protocol's own answers count`(_ script: String, _ ending: Ending) throws {
            let asking = try Asking(
                Self.prompter(try Self.program(script), display: ":9"), .passcode, on: process.caller(nil))
            #expect(asking.wait() == ending)
            #expect(runningPrompts().isEmpty)
        }

        @Test func `an empty answer is asked again`() throws {
            let count = FileManager.default.temporaryDirectory.appendingPathComponent("count-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: count) }
            let script = Self.answering("if [ -e \(count) ]; then echo 'D x'; else : > \(count); fi; echo OK")
            let asking = try Asking(
                Self.prompter(try Self.program(script), display: ":9"), .passcode, on: process.caller(nil))
            #expect(asking.wait() == .entered("x", .passcode))
        }

        @Test func `a choice takes a number, and the options are in the description`() throws {
            let log = FileManager.default.temporaryDirectory.appendingPathComponent("log-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: log) }
            let script =
                "echo OK; while read -r l; do printf '%s\\n' \"$l\" >> \(log); "
                + "case \"$l\" in GETPIN*) echo 'D 2'; echo OK;; *) echo OK;; esac; done"
            let options = ["anne", "bob"].map { DisplayText($0) }
            let question = PromptQuestion(.choice(options), operation: DisplayText("sign in"))
            let asking = try Asking(
                Self.prompter(try Self.program(script), display: ":9"), question, on: process.caller(nil))
            #expect(asking.wait() == .entered("2", .choice))
            #expect(try String(contentsOfFile: log, encoding: .utf8).contains("%0A1: anne%0A2: bob"))
        }

        @Test func `a confirmation takes the button`() throws {
            let question = PromptQuestion(
                .confirmation(warning: DisplayText("Sure?")), operation: DisplayText("remove"))
            for (answer, ending) in [
                ("OK", Ending.confirmed), ("ERR 83886194 no", .cancelled), ("D x", .unavailable(.dialogFailed)),
            ] {
                let script =
                    "echo OK; while read -r l; do case \"$l\" in CONFIRM*) echo '\(answer)';; *) echo OK;; esac; done"
                let asking = try Asking(
                    Self.prompter(try Self.program(script), display: ":9"), question, on: process.caller(nil))
                #expect(asking.wait() == ending)
            }
        }

        @Test func `commands are escaped, whole lines, and never allow a cache`() throws {
            let log = FileManager.default.temporaryDirectory.appendingPathComponent("log-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: log) }
            let script =
                "env > \(log); echo OK; while read -r l; do printf '%s\\n' \"$l\" >> \(log); "
                + "case \"$l\" in GETPIN*) echo 'ERR 83886179 x';; *) echo OK;; esac; done"
            let long = String(repeating: "🐢", count: 300)
            let question = PromptQuestion(
                .enterPasscode, objects: PromptObjects(DisplayText("100%\nGETPIN")), operation: DisplayText("read"),
                reason: DisplayText(long),
                notice: DisplayText("Wrong passcode."), triesLeft: 1, cancelTitle: DisplayText("Not_now"))
            let id = String(repeating: "a", count: 128)
            let caller = try process.caller(nil, program: "/bin/\(long)", application: id)
            let asking = try Asking(Self.prompter(try Self.program(script), display: ":9"), question, on: caller)
            #expect(asking.wait() == .cancelled)
            let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
            #expect(lines.contains("DISPLAY=:9"))
            #expect(!lines.contains { $0.hasPrefix("HOME=") || $0.hasPrefix("SWIFT_") })
            let commands = lines.filter { !$0.contains("=") || $0.hasPrefix("OPTION") }
            #expect(commands.contains("SETKEYINFO --clear"))
            #expect(commands.contains("SETCANCEL Cancel (“Not__now”)"))
            #expect(commands.contains("SETERROR Wrong passcode. One try left."))
            #expect(commands.contains("SETTIMEOUT 60"))
            #expect(commands.filter { $0.hasPrefix("GETPIN") } == ["GETPIN"])
            #expect(!lines.contains { $0.contains("cache") || $0.contains("ttyname") })
            let description = try #require(commands.first { $0.hasPrefix("SETDESC ") })
            #expect(description.contains("100%25 GETPIN%0A"))
            #expect(description.contains("%0AKnown as: \(id)%0A"))
            #expect(description.utf8.count < 1000)
            #expect(
                description.contains("“🐢") && description.hasSuffix("…”"), "every part has its share of the line")
        }

        @Test func `tries before the question are told, but as no error`() throws {
            let folder = try TestFolder()
            let script =
                "echo OK; while read -r l; do printf '%s\\n' \"$l\" >> \(folder.path("log")); "
                + "case \"$l\" in GETPIN*) echo 'ERR 83886179 x';; *) echo OK;; esac; done"
            let question = PromptQuestion(
                .enterPasscode, objects: PromptObjects(DisplayText("token")), operation: DisplayText("read"),
                triesLeft: 1)
            let caller = try process.caller(nil)
            #expect(
                try Asking(Self.prompter(try Self.program(script), display: ":9"), question, on: caller).wait()
                    == .cancelled)
            let commands = try String(contentsOfFile: folder.path("log"), encoding: .utf8).split(separator: "\n")
            #expect(commands.contains { $0.hasPrefix("SETDESC ") && $0.contains("%0AOne try left.") })
            #expect(!commands.contains { $0.hasPrefix("SETERROR") })
        }

        @Test(arguments: real)
        func `a dialog shows all that must be shown, on a narrow terminal too`(_ path: String) throws {
            var size = winsize(ws_row: 60, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0)
            #expect(ioctl(terminal.slave.number, UInt(TIOCSWINSZ), &size) == 0)
            let groups = (1...6).map { "com.example.shared.group\($0)" }.joined(separator: ",")
            let asking = try Asking(Self.prompter(path), Self.whole(groups), on: process.caller(terminal.slave))
            terminal.waitFor("Passcode:")
            for group in 1...6 { #expect(terminal.screen.contains("group\(group)")) }
            terminal.type("x\r")
            #expect(asking.wait() == .entered("x", .passcode))
        }

        private static func whole(_ operation: String) -> PromptQuestion {
            PromptQuestion(
                .enterPasscode, objects: PromptObjects(DisplayText("/usr/bin/tool")), operation: DisplayText(operation),
                isShownInFull: true)
        }

        @Test func `what a dialog cannot show in full is not asked`() throws {
            let script = Self.answering("echo 'D x'; echo OK")
            let dialog = Self.prompter(try Self.program(script), display: ":9")
            let (fits, long) = (String(repeating: "g", count: 300), String(repeating: "%", count: 300))
            #expect(try Asking(dialog, Self.whole(fits), on: process.caller(nil)).wait() == .entered("x", .passcode))
            #expect(try Asking(dialog, Self.whole(long), on: process.caller(nil)).wait() == .unavailable(.unshowable))
            let hidden = try process.caller(nil, program: ExactName("/" + fits))
            #expect(try Asking(dialog, Self.whole(""), on: hidden).wait() == .unavailable(.unshowable))
        }

        @Test func `a dialog program that others can replace is not started`() throws {
            let path = try Self.program(Self.answering("echo 'D x'; echo OK"))
            #expect(chmod(path, 0o777) == 0)
            let asking = try Asking(Self.prompter(path, display: ":9"), .passcode, on: process.caller(nil))
            #expect(asking.wait() == .unavailable(.untrusted(.writableByOthers(path))))
            #expect(chmod(path, 0o755) == 0)
            let again = try Asking(Self.prompter(path, display: ":9"), .passcode, on: process.caller(nil))
            #expect(again.wait() == .entered("x", .passcode))
        }

        private static func program(_ script: String) throws -> String {
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("pinentry-\(UUID().uuidString)")
                .path
            try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            return path
        }
    }
}

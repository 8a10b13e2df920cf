import Foundation
import Glibc
import Prompting
import PromptProtocol
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing

extension RealPromptTests {
    /// The real sheet on a real X server.
    @Suite struct SheetTests {
        private let stage: SheetStage
        private var server: TestXServer { stage.server }
        private var process: SpawnedProcess { stage.process }
        private var caller: PromptCaller { stage.caller }

        init() throws { stage = try SheetStage() }

        private func prompter(
            seconds: Int = 60, _ configure: (inout PromptConfiguration) -> Void = { _ in }
        ) -> ProcessPrompter {
            stage.prompter(seconds: seconds, configure)
        }

        private func ask(
            _ question: PromptQuestion = .passcode, seconds: Int = 60,
            _ configure: (inout PromptConfiguration) -> Void = { _ in }
        ) throws -> Asking {
            try stage.ask(question, seconds: seconds, configure)
        }

        @Test(arguments: ["correct horse", "100% <b>&", "żółw ß"]) func `what is typed into the sheet comes back`(
            _ text: String
        ) throws {
            let asking = try ask()
            try server.type(text)
            try server.press("Return")
            #expect(asking.wait() == .entered(text, .passcode))
            try eventually("the window goes with the answer") { !server.hasSheet }
        }

        // MARK: keys

        @Test func `Escape cancels, and no window is left`() throws {
            let asking = try ask()
            try server.type("half")
            try server.press("Escape")
            #expect(asking.wait() == .cancelled)
            #expect(!server.hasSheet)
        }

        @Test(arguments: [
            (["Tab", "Tab"], "cancel"), (["Tab", "Tab", "Tab"], "fallback"),
            (["Tab", "Tab", "Tab", "Tab"], "continue"),
        ])
        func `all buttons are reached with the keyboard`(_ tabs: [String], _ button: String) throws {
            let question = PromptQuestion(
                .enterPasscode, operation: DisplayText("read"), cancelTitle: DisplayText("Not now"),
                fallbackTitle: DisplayText("Use the recovery key"))
            let asking = try ask(question)
            try server.type("x")
            for key in tabs + ["space"] { try server.press(key) }
            let expected: [String: Ending] = [
                "cancel": .cancelled, "fallback": .fallback, "continue": .entered("x", .passcode),
            ]
            #expect(asking.wait() == expected[button])
        }

        @Test func `Enter on an empty field is no answer, and more than a field takes is refused`() throws {
            let asking = try ask()
            try server.press("Return")
            try server.type(String(repeating: "x", count: 1025))
            try server.press("Return")
            try server.type("short")
            try server.press("Return")
            #expect(asking.wait() == .entered("short", .passcode))
        }

        @Test func `a key that is pressed as the sheet appears confirms nothing`() throws {
            let question = PromptQuestion(
                .confirmation(warning: DisplayText("All keys are lost.")), operation: DisplayText("remove the passcode")
            )
            for keys in [["Return"], ["Tab", "Return"], ["space"], ["y", "e", "s", "Return"]] {
                let asking = try ask(question)
                // In one go: on a busy machine the time between two would make them answers.
                try server.press(together: keys)
                #expect(asking.wait() == .cancelled)
            }
            let asking = try ask(question)
            sleep(2)
            for key in ["Tab", "Return"] { try server.press(key) }
            #expect(asking.wait() == .confirmed)
        }

        @Test func `a choice has a button for each option`() throws {
            let options = ["anne", "bob"].map { DisplayText($0) }
            let asking = try ask(PromptQuestion(.choice(options), operation: DisplayText("sign in")))
            for key in ["Tab", "Return"] { try server.press(key) }
            #expect(asking.wait() == .entered("2", .choice))
        }

        @Test func `under another program's window the sheet gets no key`() throws {
            let asking = try ask()
            try server.type("a")
            let cover = try server.cover()
            try server.type("elsewhere")
            for key in ["Return", "Tab", "space", "Escape"] { try server.press(key) }
            cover.end()
            #expect(asking.wait(seconds: 0) == .stillAsking)
            try server.focusSheet()
            try server.type("b")
            try server.press("Return")
            #expect(asking.wait() == .entered("ab", .passcode))
        }

        // MARK: what is shown

        private static let passcodeOrFinger = PromptQuestion(
            .enterPasscode, sensors: [PromptSensor(.finger, DisplayText("Touch the sensor."))],
            operation: DisplayText("read"))

        @Test func `a sensor waits only when the sheet is visible, and its new text is shown`() throws {
            let asking = try ask(Self.passcodeOrFinger)
            #expect(asking.shownCount == 1)
            let before = try server.screen()
            asking.live.update(PromptUpdate(sensor: 0, text: DisplayText("Not recognised, 2 tries left.")))
            try eventually("the screen changes") { try server.screen() != before }
            // One that does not exist changes nothing and breaks nothing.
            asking.live.update(PromptUpdate(sensor: 1, text: DisplayText("x")))
            try server.type("typed")
            try server.press("Return")
            #expect(asking.wait() == .entered("typed", .passcode))
        }

        @Test func `a question with a sensor comes in the sheet, although a pinentry is configured before it`() throws {
            let asking = try ask(Self.passcodeOrFinger) {
                ($0.frontEnds, $0.pinentryPath) = ([.pinentry, .sheet], "/usr/bin/pinentry-tty")
            }
            #expect(asking.live.shows(sensor: 0))
            try server.press("Escape")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `a finger without a field can be cancelled`() throws {
            let question = PromptQuestion(
                .sensor, sensors: [PromptSensor(.finger, DisplayText("Touch the sensor."))],
                operation: DisplayText("read"))
            let asking = try ask(question)
            try server.type("typed")
            try server.press("Escape")
            #expect(asking.wait() == .cancelled)
        }

        // MARK: faults

        private var sheets: [pid_t] { runningPrompts(named: "ostiary-sheet") }

        @Test func `nobody answers within the time limit`() throws {
            let asking = try ask(seconds: 3)
            try server.type("half")
            #expect(asking.wait() == .timedOut)
            #expect(!server.hasSheet && sheets.isEmpty)
        }

        @Test(arguments: [PromptInterruption.lock, .superseded, .proved])
        func `the daemon takes the question away`(_ interruption: PromptInterruption) throws {
            let asking = try ask()
            try server.type("half")
            asking.cancellation.cancel(because: interruption)
            #expect(asking.wait() == .interrupted(interruption))
            // After a proof nobody waits for the window's end.
            try eventually("the sheet is gone") { !server.hasSheet && sheets.isEmpty }
        }

        @Test func `the question ends with the program that asked`() throws {
            let asking = try ask()
            process.end()
            #expect(asking.wait() == .interrupted(.clientGone))
            #expect(!server.hasSheet && sheets.isEmpty)
        }

        @Test(arguments: [SIGKILL, SIGTERM, SIGSEGV]) func `a sheet that is killed gives no answer, the next one does`(
            _ signal: CInt
        ) throws {
            let asking = try ask()
            try server.type("half")
            for sheet in sheets { kill(sheet, signal) }
            #expect(asking.wait() == .interrupted(.promptEnded))
            let next = try ask()
            try server.type("again")
            try server.press("Return")
            #expect(next.wait() == .entered("again", .passcode))
        }

        @Test func `a display that goes away gives no answer`() throws {
            let asking = try ask()
            try server.type("half")
            server.end()
            #expect(asking.wait() == .interrupted(.promptEnded))
            #expect(sheets.isEmpty)
        }

        @Test func `a display that does not answer is refused in time`() throws {
            server.stop()
            defer { server.resume() }
            var impatient = prompter()
            impatient.drawPatience = .seconds(1)
            let asking = try Asking(impatient, .passcode, on: caller)
            #expect(asking.wait(seconds: 20) == .unavailable(.displayRefused(.noAnswer)))
            #expect(!asking.isShown && sheets.isEmpty)
        }

        @Test func `a display where nobody listens, and none at all, are refused`() throws {
            let nobody = try Asking(prompter { $0.display = ":9999" }, .passcode, on: caller)
            #expect(nobody.wait() == .unavailable(.displayRefused(.noAnswer)))
            var configuration = PromptConfiguration()
            configuration.frontEnds = [.sheet, .terminal]
            let buses = SessionBuses(system: "/nonexistent", user: "/nonexistent")
            let none = ProcessPrompter(
                program: Build.prompt, configuration: configuration, userID: geteuid(), buses: buses)
            #expect(try Asking(none, .passcode, on: caller).wait() == .unavailable(.notInteractive))
        }

        @Test func `without the program there is no sheet`() throws {
            var configuration = PromptConfiguration()
            configuration.frontEnds = [.sheet]
            configuration.display = server.display
            let prompter = ProcessPrompter(
                program: "/nonexistent/ostiary-prompt", configuration: configuration, userID: geteuid(),
                sessions: SeatedPerson())
            #expect(
                try Asking(prompter, .passcode, on: caller).wait() == .unavailable(.displayRefused(.notInstalled)))
        }

        @Test func `two programs without a terminal are asked for one after the other`() throws {
            let queue = PromptQueue(prompter())
            let first = try Asking(queue, .passcode, on: caller)
            try eventually("the sheet is visible") { first.isShown }
            let second = try Asking(queue, .passcode, on: caller)
            try eventually("the other one waits") { queue.waitingCount == 1 }
            #expect(sheets.count == 1)
            for asking in [first, second] {
                try eventually("the sheet is visible") { asking.isShown }
                try server.focusSheet()
                try server.press("Escape")
                #expect(asking.wait() == .cancelled)
            }
        }

        // MARK: what it is given

        @Test(.enabled(if: geteuid() == 0, "only root can read it of a process that cannot be dumped"))
        func `the sheet gets no variable of this process and no argument`() throws {
            setenv("GTK_THEME", "HighContrast", 1)
            setenv("GTK_DEBUG", "interactive", 1)
            // gettext would read the first, and take the second for the folder of catalogues of programs that let it.
            setenv("LANGUAGE", "de:../../../../tmp", 1)
            setenv("TEXTDOMAINDIR", "/tmp", 1)
            defer { for name in ["GTK_THEME", "GTK_DEBUG", "LANGUAGE", "TEXTDOMAINDIR"] { unsetenv(name) } }
            let asking = try ask()
            let sheet = try #require(sheets.first)
            func strings(_ file: String) throws -> [String] {
                try Data(contentsOf: URL(fileURLWithPath: "/proc/\(sheet)/\(file)"))
                    .split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            }
            let names = try strings("environ").map { $0.split(separator: "=")[0] }
            #expect(
                Set(names) == [
                    "SWIFT_BACKTRACE", "LC_ALL", "PATH", "GDK_BACKEND", "DISPLAY", "HOME", "XDG_CONFIG_HOME",
                    "XDG_DATA_HOME", "XDG_CACHE_HOME", "GSETTINGS_BACKEND", "GTK_USE_PORTAL", "GTK_IM_MODULE",
                    "GSK_RENDERER", "GDK_DEBUG", "G_SLICE", "MALLOC_PERTURB_", "GTK_A11Y", "DBUS_SESSION_BUS_ADDRESS",
                    "LANGUAGE",
                ])
            #expect(try strings("environ").contains("LANGUAGE=en"))
            #expect(try strings("cmdline") == [Build.sheet])
            try server.press("Escape")
            #expect(asking.wait() == .cancelled)
        }
    }
}

import Glibc
import HelperProcesses
import HelperTestSupport
import Prompting
import PromptProtocol
import Settings
import TerminalTestSupport
import Testing

extension RealPromptTests {
    /// The real prompts behind sockets of the service manager. They get the terminal, or the display, over their connection.
    @Suite struct ActivatedPromptTests {
        private let prompt: ActivatedHelper
        private let sheet: ActivatedHelper

        init() throws {
            prompt = try ActivatedHelper(Build.prompt)
            sheet = try ActivatedHelper(Build.sheet)
        }

        private var helpers: HelperRoads {
            var helpers = HelperRoads.beside(program: "/nonexistent/ostiaryd")
            (helpers.prompt, helpers.sheet) = (prompt.road, sheet.road)
            return helpers
        }

        private var terminalPrompter: ProcessPrompter {
            ProcessPrompter(over: helpers, configuration: PromptConfiguration(), userID: geteuid())
        }

        @Test func `what is typed on the caller's terminal comes back, and the terminal is as before`() throws {
            let terminal = try PseudoTerminal()
            let process = try CallerProcess(on: terminal)
            let asking = try Asking(terminalPrompter, .passcode, on: process.caller(terminal.slave))
            terminal.waitFor("Passcode: ")
            #expect(!terminal.echoes)
            terminal.type("correct horse\r")
            #expect(asking.wait() == .entered("correct horse", .passcode))
            #expect(terminal.isAsBefore)
            try eventually("no prompt outlives its question") { prompt.helpers().isEmpty }
        }

        @Test func `a cancel takes the question away, and the prompt cleans up`() throws {
            let terminal = try PseudoTerminal()
            let process = try CallerProcess(on: terminal)
            let asking = try Asking(terminalPrompter, .passcode, on: process.caller(terminal.slave))
            terminal.waitFor("Passcode: ")
            asking.cancellation.cancel(because: .clientGone)
            #expect(asking.wait() == .interrupted(.clientGone))
            #expect(terminal.isAsBefore)
            try eventually("no prompt is left") { prompt.helpers().isEmpty }
        }

        @Test func `a prompt that is killed leaves the terminal as before`() throws {
            let terminal = try PseudoTerminal()
            let process = try CallerProcess(on: terminal)
            let asking = try Asking(terminalPrompter, .passcode, on: process.caller(terminal.slave))
            terminal.waitFor("Passcode: ")
            for helper in prompt.helpers() { kill(helper, SIGKILL) }
            #expect(asking.wait() == .interrupted(.promptEnded))
            #expect(terminal.isAsBefore)
        }

        @Test(.enabled(if: geteuid() == 0, "only root stops a thread of a program that forbids it"))
        func `a prompt whose first thread is stuck ends after its connection`() throws {
            let terminal = try PseudoTerminal()
            let process = try CallerProcess(on: terminal)
            let asking = try Asking(terminalPrompter, .passcode, on: process.caller(terminal.slave))
            terminal.waitFor("Passcode: ")
            let frozen = try FrozenThread(of: #require(prompt.helpers().first))
            asking.cancellation.cancel(because: .clientGone)
            #expect(asking.wait(seconds: 30) != .stillAsking)
            try eventually("no prompt is left") { prompt.helpers().isEmpty }
            #expect(terminal.isAsBefore)
            withExtendedLifetime(frozen) {}
        }

        @Test(.enabled(if: geteuid() == 0, "only root stops a thread of a program that forbids it"))
        func `a sheet whose first thread is stuck ends after its connection`() throws {
            let stage = try SheetStage()
            let asking = try Asking(stage.prompter(over: helpers), .passcode, on: stage.caller)
            try eventually("the sheet is visible") { asking.isShown || asking.wait(seconds: 0) != .stillAsking }
            let frozen = try FrozenThread(of: #require(sheet.helpers().first))
            asking.cancellation.cancel(because: .clientGone)
            #expect(asking.wait(seconds: 30) != .stillAsking)
            try eventually("no sheet is left") { sheet.helpers().isEmpty }
            try eventually("nor its window") { !stage.server.hasSheet }
            withExtendedLifetime(frozen) {}
        }

        @Test func `without the service nobody is asked`() throws {
            let terminal = try PseudoTerminal()
            let process = try CallerProcess(on: terminal)
            prompt.stopListening()
            let asking = try Asking(terminalPrompter, .passcode, on: process.caller(terminal.slave))
            let reason =
                "nobody listens at \(prompt.socket.path): the helper's socket unit has failed or was stopped"
            #expect(asking.wait() == .unavailable(.promptFailed(reason: reason)))
            #expect(terminal.isAsBefore)
        }

        @Test func `what is typed into a sheet comes back`() throws {
            let stage = try SheetStage()
            let prompter = stage.prompter(over: helpers)
            let asking = try Asking(prompter, .passcode, on: stage.caller)
            try eventually("the sheet is visible") { asking.isShown || asking.wait(seconds: 0) != .stillAsking }
            try stage.server.focusSheet()
            try stage.server.type("correct horse")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("correct horse", .passcode))
            try eventually("the window goes with the answer") { !stage.server.hasSheet }
            try eventually("no sheet is left") { sheet.helpers().isEmpty }
        }

        @Test func `a held sheet ends before another question is drawn, though nobody may kill it`() throws {
            let stage = try SheetStage()
            let prompter = stage.prompter(over: helpers)
            let asking = try Asking(prompter, .passcode, on: stage.caller, holdingSheet: true)
            try eventually("the sheet is visible") { asking.isShown }
            try stage.server.focusSheet()
            try stage.server.type("wrong")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("wrong", .passcode))
            let held = try #require(sheet.helpers().first)
            let next = try Asking(prompter, .passcode, on: stage.caller)
            try eventually("the next one is visible") { next.isShown }
            #expect(!sheet.helpers().contains(held))
            next.cancellation.cancel(because: .proved)
            #expect(next.wait() == .interrupted(.proved))
            #expect(sheet.helpers().isEmpty, "the answer of a sensor takes the window away")
            asking.dropSheet()
        }

        @Test func `a held sheet that is dropped loses its connection and goes`() throws {
            let stage = try SheetStage()
            let asking = try Asking(stage.prompter(over: helpers), .passcode, on: stage.caller, holdingSheet: true)
            try eventually("the sheet is visible") { asking.isShown }
            try stage.server.focusSheet()
            try stage.server.type("wrong")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("wrong", .passcode))
            asking.dropSheet()
            try eventually("the window goes") { !stage.server.hasSheet && sheet.helpers().isEmpty }
        }
    }
}

import ExactNames
import Foundation
import Glibc
import ProcessFacts
import Prompting
import PromptProtocol
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

extension RealPromptTests {
    /// The real sheet on a real compositor.
    @Suite struct WaylandSheetTests {
        private let compositor: TestCompositor
        private let process: SpawnedProcess

        init() throws {
            compositor = try TestCompositor()
            process = try SpawnedProcess("/bin/sleep", ["600"])
        }

        private func prompter(_ display: String? = nil) -> ProcessPrompter {
            var configuration = PromptConfiguration()
            configuration.frontEnds = [.sheet]
            configuration.waylandDisplay = display ?? compositor.display
            return ProcessPrompter(
                program: Build.prompt, configuration: configuration, userID: geteuid(), sessions: SeatedPerson())
        }

        private func start(_ prompter: ProcessPrompter? = nil) throws -> Asking {
            let caller = PromptCaller(
                processID: process.processID, process: try? KernelFacts().hold(process.processID), userID: getuid(),
                program: "/usr/bin/asker", terminal: nil)
            return try Asking(prompter ?? self.prompter(), .passcode, on: caller)
        }

        private func ask() throws -> Asking {
            let asking = try start()
            try eventually("the sheet is visible") { asking.isShown || asking.wait(seconds: 0) != .stillAsking }
            #expect(asking.wait(seconds: 0) == .stillAsking)
            return asking
        }

        @Test func `what is typed into the sheet comes back`() throws {
            let asking = try ask()
            try compositor.type("żółw 100%", "-k", "Return")
            #expect(asking.wait() == .entered("żółw 100%", .passcode))
        }

        @Test func `Escape cancels`() throws {
            let asking = try ask()
            try compositor.type("half", "-k", "Escape")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `a compositor that goes away gives no answer`() throws {
            let asking = try ask()
            compositor.end()
            #expect(asking.wait() == .interrupted(.promptEnded))
        }

        @Test func `a compositor that accepts and does not answer is refused in time`() throws {
            let folder = try TestFolder()
            let silent = try UnixSocket.listen(at: folder.path("silent"))
            var impatient = prompter(folder.path("silent"))
            impatient.drawPatience = .seconds(1)
            let asking = try start(impatient)
            #expect(asking.wait(seconds: 20) == .unavailable(.displayRefused(.noAnswer)))
            #expect(!asking.isShown && runningPrompts(named: "ostiary-sheet").isEmpty)
            withExtendedLifetime(silent) {}
        }

        /// The sheet itself opens nothing: it could run under another account.
        @Test(.enabled(if: geteuid() == 0, "only root sees the environment of a process that cannot be dumped"))
        func `the daemon connects, and the sheet gets the connected socket`() throws {
            let asking = try ask()
            let sheet = try #require(runningPrompts(named: "ostiary-sheet").first)
            let environment = try String(contentsOfFile: "/proc/\(sheet)/environ", encoding: .utf8)
            #expect(environment.contains("WAYLAND_SOCKET=8") && !environment.contains("WAYLAND_DISPLAY"))
            #expect(environment.contains("XDG_RUNTIME_DIR=/dev/null"))
            try compositor.type("half", "-k", "Escape")
            #expect(asking.wait() == .cancelled)
        }
    }
}

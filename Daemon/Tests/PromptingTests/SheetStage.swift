import Glibc
import Prompting
import TerminalTestSupport
import Testing

/// The real sheet on a real X server, for a program without a terminal.
struct SheetStage {
    let server: TestXServer
    let process: SpawnedProcess
    private let buses: SessionBuses

    /// - Parameter buses: no bus unless a test names some.
    init(buses: SessionBuses = SessionBuses(system: "/nonexistent", user: "/nonexistent")) throws {
        server = try TestXServer()
        process = try SpawnedProcess("/bin/sleep", ["600"])
        self.buses = buses
    }

    func prompter(
        seconds: Int = 60, _ configure: (inout PromptConfiguration) -> Void = { _ in }
    ) -> ProcessPrompter {
        var configuration = PromptConfiguration()
        configuration.frontEnds = [.sheet]
        configuration.display = server.display
        configuration.timeLimitSeconds = seconds
        configure(&configuration)
        return ProcessPrompter(
            program: Build.prompt, configuration: configuration, userID: geteuid(), buses: buses,
            sessions: SeatedPerson())
    }

    var caller: PromptCaller {
        PromptCaller(
            processID: process.processID, process: ProcessHandle(of: process.processID), userID: getuid(),
            program: "/usr/bin/asker", terminal: nil)
    }

    /// Puts the question, waits until it is visible, and gives it the keyboard.
    func ask(
        _ question: PromptQuestion = .passcode, seconds: Int = 60,
        _ configure: (inout PromptConfiguration) -> Void = { _ in }
    ) throws -> Asking {
        let asking = try Asking(prompter(seconds: seconds, configure), question, on: caller)
        try eventually("the sheet is visible") { asking.isShown || asking.wait(seconds: 0) != .stillAsking }
        #expect(asking.wait(seconds: 0) == .stillAsking)
        try server.focusSheet()
        return asking
    }
}

import ExactNames
import Glibc
import HelperProcesses
import ProcessFacts
import Prompting
import PromptProtocol
import Settings
import TerminalTestSupport
import Testing

/// The real sheet on a real X server, for a program without a terminal.
struct SheetStage {
    let server: TestXServer
    let process: SpawnedProcess
    private let buses: SessionBuses

    /// - Parameters:
    ///   - buses: no bus unless a test names some.
    ///   - size: the screen's pixels.
    init(
        buses: SessionBuses = SessionBuses(system: "/nonexistent", user: "/nonexistent"), size: String = "1024x768"
    ) throws {
        server = try TestXServer(size: size)
        process = try SpawnedProcess("/bin/sleep", ["600"])
        self.buses = buses
    }

    func prompter(
        seconds: Int = 60, over helpers: HelperRoads = .beside(program: Build.prompt),
        _ configure: (inout PromptConfiguration) -> Void = { _ in }
    ) -> ProcessPrompter {
        var configuration = PromptConfiguration()
        configuration.frontEnds = [.sheet]
        configuration.display = server.display
        configuration.timeLimitSeconds = seconds
        configure(&configuration)
        return Self.prompter(of: geteuid(), configuration, buses, helpers)
    }

    /// Asks every user on this display.
    var prompters: OwnerPrompters {
        var configuration = PromptConfiguration()
        configuration.frontEnds = [.sheet]
        configuration.display = server.display
        return OwnerPrompters { [configuration, buses] userID in Self.prompter(of: userID, configuration, buses) }
    }

    private static func prompter(
        of userID: UInt32, _ configuration: PromptConfiguration, _ buses: SessionBuses,
        _ helpers: HelperRoads = .beside(program: Build.prompt)
    ) -> ProcessPrompter {
        ProcessPrompter(
            helpers, configuration: configuration, userID: userID, facts: KernelFacts(), buses: buses,
            sessions: SeatedPerson())
    }

    var caller: PromptCaller {
        PromptCaller(
            processID: process.processID, process: try? KernelFacts().hold(process.processID), userID: getuid(),
            program: "/usr/bin/asker", terminal: nil)
    }

    /// Puts the question, waits until it is visible, and gives it the keyboard.
    func ask(
        _ question: PromptQuestion = .passcode, seconds: Int = 60, holdingSheet isHeld: Bool = false,
        _ configure: (inout PromptConfiguration) -> Void = { _ in }
    ) throws -> Asking {
        let asking = try Asking(
            prompter(seconds: seconds, configure), question, on: caller, holdingSheet: isHeld)
        try eventually("the sheet is visible") { asking.isShown || asking.wait(seconds: 0) != .stillAsking }
        #expect(asking.wait(seconds: 0) == .stillAsking)
        try server.focusSheet()
        return asking
    }

    /// Puts a question whose answer was wrong again, and waits until it is visible.
    func askAgain(_ asking: Asking, _ question: PromptQuestion = .passcodeAgain) throws -> Asking {
        let again = try Asking(
            prompter(), question, on: caller, again: asking.sheet, holdingSheet: true)
        asking.passOnSheet()
        try eventually("the question is visible again") { again.isShown || again.wait(seconds: 0) != .stillAsking }
        #expect(again.wait(seconds: 0) == .stillAsking)
        try server.focusSheet()
        return again
    }
}

extension PromptQuestion {
    /// ``passcode`` after a wrong one.
    static let passcodeAgain = PromptQuestion(
        .enterPasscode, objects: PromptObjects(DisplayText("GitHub token")), operation: DisplayText("read"),
        reason: DisplayText("to push"), notice: DisplayText("Wrong passcode."), triesLeft: 2)
}

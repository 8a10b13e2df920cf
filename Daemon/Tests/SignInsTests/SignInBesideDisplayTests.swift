import AccessControl
import Foundation
import Glibc
import HelperProcesses
import Owners
import ProcessFacts
import PromptProtocol
import Prompting
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Authenticators
@testable import BrokerTestSupport
@testable import SignIns

/// Sign-ins whose module passes a terminal, of a person who has a display, too.
@Suite(.timeLimit(.minutes(5)))
struct SignInBesideDisplayTests {
    /// The real prompter. What a program passes is its terminal in the foreground, for each user that it asks about.
    private struct Desktop: Prompter {
        let scripted: ScriptedPrompter
        let prompter: ProcessPrompter

        func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
            guard caller.terminal != nil else { return scripted.ask(question, on: caller, live: live) }
            let text = "7 (sudo) S 1 7 7 \(SignInBesideDisplayTests.number) 7" + String(repeating: " 0", count: 40)
            let status = ProcessStatus(parsing: Array(text.utf8))
            let process = PlayedProcess(7) { if let status { $0.status = .success(status) } }
            return prompter.ask(
                question,
                on: PromptCaller(
                    processID: caller.processID, process: process, userID: getuid(), owner: caller.owner,
                    program: caller.program, terminal: caller.terminal,
                    needsLoginForSensors: caller.needsLoginForSensors), live: live)
        }
    }

    /// The number of `/dev/pts/0`.
    private static let number = 136 << 8

    private let folder: TestFolder
    private let terminal: PseudoTerminal
    private let compositor: UnixSocket

    init() throws {
        folder = try TestFolder()
        terminal = try PseudoTerminal()
        compositor = try UnixSocket.listen(at: folder.path("wayland"))
        try writePrompt()
    }

    /// It takes the place of the prompt and of the sheet: it says that its question is visible, and enters the passcode.
    private func writePrompt() throws {
        let passcode = BrokerFixture.passcode
        let octal = String(passcode.utf8.count, radix: 8)
        let header = "\\000\\" + String(repeating: "0", count: 3 - octal.count) + octal
        func word(_ reply: PromptReply) -> String {
            "printf '\\\(String(reply.rawValue, radix: 8))' >&\(PromptDescriptor.reply)\n"
        }
        let script =
            "#!/bin/sh\n" + word(.shown) + "printf '\(header)%s' '\(passcode)' >&\(PromptDescriptor.secret)\n"
            + word(.entered)
        try Data(script.utf8).write(to: URL(fileURLWithPath: folder.path("prompt")))
        guard chmod(folder.path("prompt"), 0o700) == 0 else { throw SystemCallError("chmod") }
    }

    private func stage(
        _ sensors: [ScriptedSensor], terminals: TerminalPolicy = .login, fingers: TerminalPolicy = .login,
        hasLogin: Bool = false
    ) throws -> SignInStage {
        var prompts = PromptConfiguration.ofMachine
        (prompts.terminalPolicy, prompts.fingerPolicy) = (terminals, fingers)
        let prompter = prompter(prompts, hasLogin: hasLogin)
        return try SignInStage(sensors: AddedAuthenticators(authenticators: sensors), prompts: prompts) {
            Desktop(scripted: $0, prompter: prompter)
        }
    }

    private func prompter(_ prompts: PromptConfiguration, hasLogin: Bool) -> ProcessPrompter {
        var prompts = prompts
        prompts.waylandDisplay = folder.path("wayland")
        var facts = PlayedFacts()
        let file = TerminalFact.File(device: 1, inode: 1)
        facts.terminal = TerminalFact(
            number: UInt32(Self.number), file: file,
            name: TerminalFact.Name(path: "/dev/pts/0", file: file, owner: getuid()))
        facts.namesake = .success(nil)
        facts.hasLogin = { _, _ in hasLogin }
        var helpers = HelperRoads.beside(program: Build.prompt)
        helpers.prompt = .spawned(program: folder.path("prompt"))
        helpers.sheet = helpers.prompt
        return ProcessPrompter(
            helpers, configuration: prompts, userID: getuid(), facts: facts,
            buses: SessionBuses(system: "/nonexistent", user: "/nonexistent"), sessions: SeatedPerson())
    }

    /// What ada's sign-in comes to. Nobody types in the conversation.
    private func signIn(at stage: SignInStage, asUser userID: UInt32 = SignInStage.root) throws -> [UInt8] {
        let module = try stage.module(asUser: userID)
        try module.send(Message.query(flags: 6), terminal: terminal.slave.number)
        return try module.next()
    }

    private func sensors(_ kind: PromptSensor.Kind) -> (biometry: ScriptedSensor, key: ScriptedSensor) {
        (ScriptedSensor([.biometry], kind), ScriptedSensor([.securityKey], .securityKey))
    }

    /// A program of the person may run sudo on a terminal that it made. The question comes there or on the display, where the person touches
    /// the sensor for something else, and sits before the camera.
    @Test(arguments: [PromptSensor.Kind.finger, .face], [TerminalPolicy.login, .any])
    func `unless a file says else, the next touch goes to no sudo of a user on a terminal without a login`(
        kind: PromptSensor.Kind, terminals: TerminalPolicy
    ) throws {
        let (biometry, key) = sensors(kind)
        let stage = try stage([biometry, key], terminals: terminals)
        stage.runPrograms(by: SignInStage.ada.id)
        for asker in [SignInStage.root, SignInStage.ada.id] {
            #expect(try signIn(at: stage, asUser: asker) == Message.ok, "the passcode is asked for")
        }
        #expect(biometry.armedCount == 0 && key.armedCount == 0)
    }

    @Test func `on a console where the person logged in, sudo gets finger and key, and no face`() throws {
        for kind in [PromptSensor.Kind.finger, .face] {
            let (biometry, key) = sensors(kind)
            let stage = try stage([biometry, key], hasLogin: true)
            stage.runPrograms(by: SignInStage.ada.id)
            #expect(try signIn(at: stage) == Message.ok)
            #expect(key.waitUntilArmed())
            #expect(kind == .finger ? biometry.waitUntilArmed() : biometry.armedCount == 0)
        }
    }

    @Test func `where a file lets fingers wait on any terminal, they do in the sheet, and faces do not`() throws {
        for kind in [PromptSensor.Kind.finger, .face] {
            let (biometry, key) = sensors(kind)
            let stage = try stage([biometry, key], fingers: .any)
            stage.runPrograms(by: SignInStage.ada.id)
            #expect(try signIn(at: stage) == Message.ok)
            #expect(key.waitUntilArmed())
            #expect(kind == .finger ? biometry.waitUntilArmed() : biometry.armedCount == 0)
        }
    }

    @Test(arguments: [PromptSensor.Kind.finger, .face])
    func `beside the question of a service of the machine each sensor waits`(kind: PromptSensor.Kind) throws {
        let (biometry, key) = sensors(kind)
        let stage = try stage([biometry, key])
        #expect(try signIn(at: stage) == Message.ok)
        #expect(biometry.waitUntilArmed() && key.waitUntilArmed())
    }
}

import AccessControl
import FingerprintReader
import FingerprintTestSupport
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Fingers from the request on the socket to the answer: real daemon, real terminal, real fprintd. logind is played.
@Suite(.timeLimit(.minutes(10))) struct FingerTests {
    private let stack: FingerprintStack
    private let logind: StandInLogind
    private let folders: DaemonFolders

    init() throws {
        stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "owner")
        logind = try StandInLogind(on: stack.bus)
        try logind.addSession("here", of: geteuid())
        try logind.addSession("ssh", of: geteuid(), isRemote: true)
        try logind.setSessions([:], others: "here")
        folders = try Stage.folders()
    }

    private func start() throws -> Stage {
        let options =
            folders.options(systemBus: stack.bus.path) + [
                "--finger-services-user", "\(getuid())", "--templates-socket", "/nowhere/templates",
            ]
        return try Stage(DaemonProcess(DaemonStart(in: folders, options: options), in: folders))
    }

    /// A right that only a finger opens; the passcode was entered.
    private func fingerRight(_ stage: Stage) throws -> Data {
        _ = try stage.authorizedContext()
        stage.terminal.clearScreen()
        let rule = try Requirement(anyOf: [.biometry])
        return try #require(try stage.client.ask(.createRight("finger", rule)).right).rightID
    }

    /// Asks on the caller's terminal and touches the reader with these.
    private func ask(_ stage: Stage, _ right: Data, _ skins: [String]) throws -> Answer {
        let context = try stage.client.openContext()
        let id = try stage.client.send(.authorize(right, in: context), descriptor: stage.terminal.slave.number)
        for (index, skin) in skins.enumerated() {
            if index > 0 {
                stage.terminal.waitFor("Not recognised.")
                stage.terminal.clearScreen()
            }
            try eventually("the reader waits") { try stack.isArmed() }
            try stack.play(.touch(skin))
        }
        return try stage.client.answer(to: id)
    }

    @Test func `a finger opens a right`() throws {
        let stage = try start()
        let right = try fingerRight(stage)
        let context = try stage.client.openContext()
        let id = try stage.client.send(.authorize(right, in: context), descriptor: stage.terminal.slave.number)
        stage.terminal.waitFor("Waiting: ")
        #expect(stage.terminal.shows("finger"))
        try eventually("the reader waits") { try stack.isArmed() }
        try stack.play(.touch("owner"))
        #expect(try stage.client.answer(to: id).factors == ["biometry"])
        #expect(try stage.client.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest).isDone)
        #expect(stage.terminal.isAsBefore)
        #expect(try !stack.isArmed())
    }

    @Test func `a daemon with options for tests says so`() throws {
        let stage = try start()
        #expect(try stage.client.status().mode == .userForTests)
        guard case .diagnosis(let diagnosis)? = try stage.client.ask(.diagnose(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        let finding = try #require(diagnosis.findings.first { $0.check == "options" })
        #expect(finding.verdict == .problem && finding.advice.contains("end it and start it again"))
        #expect(finding.message.contains("--system-bus") && finding.message.contains("--templates-socket"))
        #expect(finding.message.contains("--finger-services-user") == (getuid() != 0))
    }

    @Test func `a program in a session from another machine arms no reader`() throws {
        let stage = try start()
        let right = try fingerRight(stage)
        try logind.setSessions([stage.caller.processID: "ssh"])
        let preflight = WireRequest.OneOf_Body.evaluatePolicy(.with { ($0.policy, $0.preflight) = (1, true) })
        for refused in [try ask(stage, right, []), try stage.client.ask(preflight)] {
            #expect(refused.refusal == .notInteractive && refused.cause == "prompt.sensor-remote")
        }
        #expect(try !stack.isArmed())
        #expect(!stage.terminal.shows("finger"))
        try logind.setSessions([stage.caller.processID: "here"])
        #expect(try stage.client.ask(preflight).isDone)
        #expect(try ask(stage, right, ["owner"]).factors == ["biometry"])
    }

    /// Tests a finger as the person does at a command line.
    private func test(_ skin: String) throws -> ProcessEnding {
        let process = try SpawnedProcess(
            Build.program("ostiary-fingerprint"),
            ["verify", "--system-bus", stack.bus.path, "--service-user", "\(getuid())"])
        try eventually("the reader waits") { try stack.isArmed() }
        try stack.play(.touch(skin))
        return process.wait()
    }

    @Test func `a finger that the person tests is no proof, and a wrong one counts nowhere`() throws {
        let stage = try start()
        let right = try fingerRight(stage)
        for _ in 0..<5 { #expect(try test("stranger") == .exited(1)) }
        #expect(try ask(stage, right, ["owner"]).factors == ["biometry"])
        #expect(try test("owner") == .exited(0))
        stage.terminal.clearScreen()
        #expect(try ask(stage, right, ["a", "b", "c"]).cause == "biometry.not-recognised")
    }

    @Test func `wrong fingers of two programs lock biometry, and a kill does not end that`() throws {
        var stage = try start()
        let right = try fingerRight(stage)
        #expect(try ask(stage, right, ["a", "b", "c"]).cause == "biometry.not-recognised")
        stage.terminal.clearScreen()
        #expect(try ask(stage, right, ["d", "e"]).cause == "biometry.lockout")
        stage.daemon.kill()
        stage = try start()
        let policy = try WireRequest.OneOf_Body.evaluatePolicy(
            .with {
                ($0.policy, $0.contextID) = (1, try stage.client.openContext())
                $0.question = .reason("to test")
            })
        let refused = try stage.client.ask(policy, descriptor: stage.terminal.slave.number)
        #expect(refused.refusal == .biometryLockout && refused.cause == "biometry.lockout")
        _ = try stage.authorizedContext()
        stage.terminal.clearScreen()
        #expect(try ask(stage, right, ["owner"]).factors == ["biometry"])
    }
}

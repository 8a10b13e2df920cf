import AccessControl
import FingerprintReader
import FingerprintTestSupport
import Foundation
import Glibc
import OstiaryMessages
import PAMTestSupport
import StoreTestSupport
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A PAM module's word from the request on the socket to the answer: real daemon, real terminal, real `ostiary-pam`, real libpam.
/// A camera cannot be played, so pam_fprintd stands for the module, with the real fprintd; the daemon itself does not use this
/// reader. logind is played.
@Suite(.timeLimit(.minutes(10))) struct FaceTests {
    private let stack: FingerprintStack
    private let logind: StandInLogind
    private let services: PAMServices

    init() throws {
        stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "owner")
        logind = try StandInLogind(on: stack.bus)
        try logind.addSession("here", of: geteuid())
        try logind.addSession("ssh", of: geteuid(), isRemote: true)
        try logind.setSessions([:], others: "here")
        services = try PAMServices()
        try services.write("auth required pam_fprintd.so max-tries=1 timeout=20\n")
    }

    private static let configuration = "face.pam-service = face\nface.on-terminals = any\n"

    private func start(_ configuration: String = Self.configuration) throws -> Stage {
        let folders = try Stage.folders(configurationText: configuration)
        return try start(in: folders)
    }

    private func start(in folders: DaemonFolders) throws -> Stage {
        // Nobody whom the daemon believes runs fprintd, so it knows no finger.
        let options =
            folders.options(systemBus: stack.bus.path) + [
                "--finger-services-user", "54321", "--templates-socket", "/nowhere/templates",
                "--pam-folder", services.folder.path, "--pam-user", "\(getuid())",
            ]
        return try Stage(DaemonProcess(DaemonStart(in: folders, options: options), in: folders))
    }

    /// A right that only biometry opens; the passcode was entered.
    private func faceRight(_ stage: Stage) throws -> Data {
        _ = try stage.authorizedContext()
        stage.terminal.clearScreen()
        return try #require(try stage.client.ask(.createRight("face", Requirement(anyOf: [.biometry]))).right).rightID
    }

    private func ask(_ stage: Stage, _ right: Data, in context: UInt64) throws -> UInt64 {
        try stage.client.send(.authorize(right, in: context), descriptor: stage.terminal.slave.number)
    }

    private func touch(_ skin: String) throws {
        try eventually("the module waits") { try stack.isArmed() }
        try stack.play(.touch(skin))
    }

    private func helpers(_ stage: Stage) -> [pid_t] {
        runningPrompts(of: stage.daemon.processID, named: "ostiary-pam")
    }

    @Test func `the module's yes opens a right`() throws {
        let stage = try start()
        let right = try faceRight(stage)
        let context = try stage.client.openContext()
        let id = try ask(stage, right, in: context)
        stage.terminal.waitFor("Waiting: ")
        #expect(stage.terminal.shows("Ostiary asks for your face."))
        stage.terminal.waitFor("Swipe your right index finger across the fingerprint reader")
        #expect(helpers(stage).count == 1)
        try touch("owner")
        #expect(try stage.client.answer(to: id).factors == ["biometry-face"])
        #expect(try stage.client.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest).isDone)
        #expect(stage.terminal.isAsBefore && helpers(stage).isEmpty)
        try stack.waitUntilFree()
    }

    @Test func `a question that is cancelled disarms the module's reader`() throws {
        let stage = try start()
        let right = try faceRight(stage)
        let id = try ask(stage, right, in: stage.client.openContext())
        stage.terminal.waitFor("Waiting: ")
        try eventually("the module waits") { try stack.isArmed() }
        stage.terminal.type("\u{3}")
        #expect(try stage.client.answer(to: id).refusal == .userCancel)
        #expect(helpers(stage).isEmpty)
        try stack.waitUntilFree()
        #expect(try !stack.isArmed())
    }

    @Test func `a daemon that is killed takes the helper with it`() throws {
        let stage = try start()
        let right = try faceRight(stage)
        _ = try ask(stage, right, in: stage.client.openContext())
        try eventually("the module waits") { try stack.isArmed() }
        let helper = try #require(helpers(stage).first)
        stage.daemon.kill()
        try eventually("the helper ended") { !isRunning(helper) }
        try stack.waitUntilFree()
    }

    @Test func `a helper that is killed opens nothing`() throws {
        let stage = try start()
        let right = try faceRight(stage)
        let id = try ask(stage, right, in: stage.client.openContext())
        try eventually("the module waits") { try stack.isArmed() }
        kill(try #require(helpers(stage).first), SIGKILL)
        let refused = try stage.client.answer(to: id)
        #expect(refused.refusal == .biometryNotAvailable && refused.cause == "biometry.face-helper")
    }

    @Test func `a program in a session from another machine starts no helper`() throws {
        let stage = try start()
        let right = try faceRight(stage)
        try logind.setSessions([stage.caller.processID: "ssh"])
        let refused = try stage.client.answer(to: ask(stage, right, in: stage.client.openContext()))
        #expect(refused.refusal == .notInteractive && refused.cause == "prompt.sensor-remote")
        #expect(helpers(stage).isEmpty && !stage.terminal.shows("face"))
        #expect(try !stack.isArmed())
    }

    @Test func `on a terminal no face is looked for unless the configuration says so`() throws {
        let stage = try start("face.pam-service = face\n")
        let right = try faceRight(stage)
        let refused = try stage.client.answer(to: ask(stage, right, in: stage.client.openContext()))
        #expect(refused.refusal == .notInteractive && refused.cause == "prompt.sensor-terminalForbidden")
        #expect(helpers(stage).isEmpty)
        #expect(try !stack.isArmed())
    }

    @Test(.enabled(if: Account.isRoot, Account.needsRoot))
    func `a service file of somebody else is not used`() throws {
        let folders = try Stage.folders(configurationText: Self.configuration)
        let options =
            folders.options(systemBus: stack.bus.path) + [
                "--finger-services-user", "54321", "--templates-socket", "/nowhere/templates",
                "--pam-folder", services.folder.path, "--pam-user", "54321",
            ]
        guard chown(services.folder.path("face"), 1, 1) == 0 else { throw SystemCallError("chown") }
        let stage = try Stage(DaemonProcess(DaemonStart(in: folders, options: options), in: folders))
        _ = try stage.authorizedContext()
        let created = try stage.client.ask(.createRight("face", Requirement(anyOf: [.biometry])))
        #expect(created.refusal == .biometryNotAvailable)
    }
}

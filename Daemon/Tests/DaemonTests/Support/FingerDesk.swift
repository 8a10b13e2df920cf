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

/// A desk with a fingerprint reader, and a person at it: the real daemon, fprintd and `ostiary-templates`, and an X server on
/// which the real sheet asks. The finger with the skin `owner` is enrolled, and the passcode was entered. logind is played.
struct FingerDesk {
    let stack: FingerprintStack
    let server: TestXServer
    let stage: Stage
    private let logind: StandInLogind
    private let templates: TemplatesHelper

    init() throws {
        stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "owner")
        logind = try StandInLogind(on: stack.bus)
        try logind.addSession("here", of: geteuid())
        try logind.setSessions([:], others: "here")
        templates = try TemplatesHelper(folder: stack.templates)
        server = try TestXServer()
        // A program with a terminal is asked there, all others on the sheet.
        let folders = try Stage.folders(configurationText: "prompt.display = \(server.display)\n")
        let options =
            folders.options(systemBus: stack.bus.path) + [
                "--finger-services-user", "\(getuid())", "--templates-socket", templates.socketPath,
            ]
        stage = try Stage(DaemonProcess(DaemonStart(in: folders, options: options), in: folders))
        try enterPasscode()
    }

    // MARK: the person

    /// Enters the passcode on another program's terminal. The fingers that are enrolled now count from then on.
    func enterPasscode() throws {
        _ = try stage.authorizedContext()
        stage.terminal.clearScreen()
    }

    func waitUntilArmed() throws { try eventually("the reader waits") { try stack.isArmed() } }

    /// Touches the reader as soon as it waits.
    func touch(_ skin: String = "owner") throws {
        try waitUntilArmed()
        try stack.play(.touch(skin))
    }

    /// Enrols another person's finger under the name of the enrolled one: fprintd's list of names stays as it was.
    func replaceFinger() throws {
        // The daemon gave the reader back a moment ago.
        try stack.waitUntilFree()
        try stack.enroll(.rightIndex, skin: "thief")
    }

    // MARK: the screen

    /// The sheets that run now.
    var sheets: [pid_t] { runningPrompts(of: stage.daemon.processID, named: "ostiary-sheet") }

    /// A picture of the screen.
    func screen() throws -> Data {
        let path = stage.folders.root.path("screen.ppm")
        try server.photograph(path)
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    /// A picture of the screen when nothing on it changes any more.
    func stillScreen() throws -> Data {
        var last = try screen()
        try eventually("the screen stands still") {
            usleep(200_000)
            let next = try screen()
            defer { last = next }
            return next == last
        }
        return last
    }

    // MARK: programs

    /// Starts a scenario of `right-scenarios`, a program with Apple's calls. It has no terminal.
    func start(_ scenario: String) throws -> ScenarioRun { try ScenarioRun(scenario, in: stage.folders) }

    /// Runs a scenario to its end; touches the reader once if there is a skin.
    func run(_ scenario: String, touching skin: String? = nil) throws -> [String] {
        let run = try start(scenario)
        if let skin { try touch(skin) }
        return try run.lines()
    }

    /// How often a right was authorized so far.
    func grantCount() throws -> Int {
        try stage.client.log().count { $0.event == "authorize" && $0.result == "granted" }
    }
}

/// A scenario of `right-scenarios`, a program of the app side, in a session without a terminal. It is killed with the value.
final class ScenarioRun {
    private let process: SpawnedProcess
    private let output: String

    init(_ scenario: String, in folders: DaemonFolders) throws {
        let program = Build.program("right-scenarios")
        try #require(
            FileManager.default.isExecutableFile(atPath: program),
            "Build it: script/swift-in . build --product right-scenarios")
        output = folders.root.path("output-\(UUID().uuidString)")
        let file = try Descriptor(
            open(output, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600), from: "open", subject: output)
        process = try SpawnedProcess(
            program, [scenario],
            environment: [
                "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=\(folders.root.path("run"))",
                "XDG_STATE_HOME=\(folders.root.path("state"))",
            ],
            descriptors: [-1, file.number, file.number])
    }

    var isRunning: Bool { process.wait(seconds: 0) == .stillRunning }

    /// Kills it.
    func end() { process.end() }

    /// What it printed, when it has ended.
    func lines(_ location: SourceLocation = #_sourceLocation) throws -> [String] {
        let ending = process.wait(seconds: 30)
        let text = try String(contentsOfFile: output, encoding: .utf8)
        #expect(ending == .exited(0), "\(text)", sourceLocation: location)
        return text.split(whereSeparator: \.isNewline).map(String.init)
    }
}

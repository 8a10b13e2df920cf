import Foundation
import Glibc
import SecurityKeyTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A daemon of its own process that finds security keys in software, and `ostiary` on a terminal.
final class SecurityKeyCommandStage {
    let folder: TestFolder
    let ports: TestFolder
    private let daemon: SpawnedProcess

    static let passcode = "correct horse 9"
    /// Letters, so that no identifier on the screen holds it.
    static let pin = "pin-blue-4711"

    /// - Parameter seconds: how long a security key is waited for.
    init(seconds: Int = 60) throws {
        folder = try TestFolder()
        ports = try TestFolder()
        for name in ["run", "run/ostiary", "state"] {
            try FileManager.default.createDirectory(
                atPath: folder.path(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        let log = try Descriptor(
            open(folder.path("log"), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0o600), from: "open")
        daemon = try SpawnedProcess(
            Build.program("socket-key-daemon"),
            [folder.path("run/ostiary"), folder.path("state/ostiary"), ports.path, "\(seconds)"],
            descriptors: [-1, log.number, log.number])
        let socket = folder.path("run/ostiary/ostiaryd.socket")
        try eventually("the daemon serves: \(self.log)") { (try? UnixSocket.connect(to: socket)) != nil }
    }

    private var log: String { (try? String(contentsOfFile: folder.path("log"), encoding: .utf8)) ?? "unreadable" }

    func key(
        _ memory: KeyMemory, named name: String = "key", _ finger: TestFinger = TestFinger(),
        identifier: [UInt8] = FIDO2Engine.identifier
    ) throws -> SoftwareKey {
        try SoftwareKey(in: ports, named: name, FIDO2Engine(finger, memory: memory, identifier: identifier))
    }

    func path(_ name: String) -> String { folder.path(name) }

    func text(of name: String) throws -> String { try String(contentsOfFile: folder.path(name), encoding: .utf8) }

    // MARK: the command

    /// Begins `ostiary`.
    ///
    /// - Parameter output: the file that its standard output goes to, beside the terminal for the rest.
    func begin(_ arguments: [String], output: String? = nil) throws -> SecurityKeyCommandRun {
        try SecurityKeyCommandRun(arguments, output: output.map { folder.path($0) }, in: self)
    }

    /// Plays `ostiary` to its end.
    ///
    /// - Parameter answers: what is typed into which field, in order.
    func play(
        _ arguments: String..., answers: [(String, String)] = [], output: String? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) throws -> (ending: ProcessEnding, run: SecurityKeyCommandRun) {
        let run = try begin(arguments, output: output)
        for (field, text) in answers { run.answer(field, with: text, location) }
        return (run.wait(), run)
    }

    static let passcodeField = "\r\nPasscode: "
    static let pinField = "\r\nPIN of the security key: "
    static let passcodeAnswer = (passcodeField, passcode)
    static let pinAnswer = (pinField, pin)

    func setPasscode() throws {
        let set = try play(
            "passcode", "set",
            answers: [("\r\nNew passcode: ", Self.passcode), ("\r\nRepeat new passcode: ", Self.passcode)])
        try #require(set.ending == .exited(0), "\(set.run.everything)")
    }

    /// Enrols the only key that is plugged in, which has ``pin``.
    func enroll(_ name: String = "blue") throws {
        let enrolled = try play(
            "security-key", "enroll", name, answers: [Self.passcodeAnswer, Self.pinAnswer])
        try #require(enrolled.ending == .exited(0), "\(enrolled.run.everything)")
    }

    /// Makes a right with a secret that a security key opens.
    func createRight() throws {
        try Data("the secret of the tests".utf8).write(to: URL(fileURLWithPath: path("secret")))
        let created = try play(
            "right", "create", "vault", "--require", "security-key", "--secret", path("secret"))
        try #require(created.ending == .exited(0), "\(created.run.everything)")
    }

    /// The names of the enrolled keys, as `security-key list --json` has them.
    func names() throws -> [String] {
        let listed = try play("security-key", "list", "--json", output: "names.json")
        try #require(listed.ending == .exited(0), "\(listed.run.everything)")
        return try KeyList(text(of: "names.json")).securityKeys.map(\.name)
    }

    /// `ostiary` in a session without a terminal; its exit status and what it said.
    func alone(_ arguments: String...) throws -> (ending: ProcessEnding, text: String) {
        let file = try Descriptor(
            open(path("alone"), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0o600), from: "open")
        let process = try SpawnedProcess(
            Build.program("ostiary"), arguments, environment: environment,
            descriptors: [-1, file.number, file.number])
        return (process.wait(seconds: 60), try text(of: "alone"))
    }

    /// A program with Apple's calls, in the file `program`; its lines.
    func scenario(_ name: String, of program: String) throws -> [String] {
        let file = try Descriptor(
            open(path("lines"), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0o600), from: "open")
        let process = try SpawnedProcess(
            program, [name], environment: environment, descriptors: [-1, file.number, file.number])
        let ending = process.wait(seconds: 60)
        let lines = try text(of: "lines")
        try #require(ending == .exited(0), "\(lines)")
        return lines.split(separator: "\n").map(String.init)
    }

    var environment: [String] {
        [
            "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=\(folder.path("run"))", "XDG_STATE_HOME=\(folder.path("state"))",
            "TERM=xterm", "LANG=C.UTF-8", "TZ=UTC",
        ]
    }
}

/// One run of `ostiary` on a terminal of its own.
final class SecurityKeyCommandRun {
    let terminal: PseudoTerminal
    private let process: CallerProcess
    /// What was shown before the last answer.
    private var earlier = ""

    init(_ arguments: [String], output: String?, in stage: SecurityKeyCommandStage) throws {
        terminal = try PseudoTerminal()
        let program = Build.program("ostiary")
        try #require(
            FileManager.default.isExecutableFile(atPath: program),
            "Build it: script/swift-in . build --product ostiary")
        let quoted = { (text: String) in "'\(text)'" }
        let command = ([program] + arguments).map(quoted).joined(separator: " ")
        let variables = stage.environment.map(quoted).joined(separator: " ")
        // Nothing is shown before the test has seen that the shell is ready.
        process = try CallerProcess(
            on: terminal,
            script: "echo ready; read -r; exec env \(variables) \(command)\(output.map { " >" + quoted($0) } ?? "")")
        terminal.type("\n")
    }

    /// Waits for a field and fills it in. What is typed is not shown.
    func answer(_ field: String, with text: String, _ location: SourceLocation = #_sourceLocation) {
        terminal.waitFor(field, location)
        turnPage()
        terminal.type(text + "\r")
    }

    /// Forgets what was shown, for the next ``waitFor(_:_:)``.
    private func turnPage() {
        earlier += terminal.screen
        terminal.clearScreen()
    }

    /// Waits until something was shown since the last answer, on however many lines.
    func waitFor(_ text: String) throws { try eventually("\(text) is shown") { terminal.shows(text) } }

    func cancel() { terminal.type([0x03]) }

    func wait() -> ProcessEnding { process.wait(seconds: 60) }

    /// Everything that was ever shown.
    var everything: String { earlier + terminal.screen }

    /// Whether `text` was ever shown, on however many lines.
    func showed(_ text: String) -> Bool {
        everything.filter { !$0.isWhitespace }.contains(text.filter { !$0.isWhitespace })
    }
}

/// `security-key list --json`.
struct KeyList: Decodable {
    struct Key: Decodable {
        let id: String
        let name: String
        let strength: String
        let model: String
        let enrolledAt: String
    }

    let securityKeys: [Key]

    init(_ text: String) throws { self = try JSONDecoder().decode(KeyList.self, from: Data(text.utf8)) }
}

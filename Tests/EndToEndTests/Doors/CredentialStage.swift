import DaemonTestSupport
import Foundation
import Glibc

/// A daemon, and the credential helper as it is installed: one file, two links, registered as a door.
struct CredentialStage {
    static let group = "ostiary.doors"
    let daemon: PrivateDaemon
    /// The file behind the links.
    let helper: ProgramCopy
    private var bin: String { daemon.path("bin") }

    init(_ store: PrivateDaemon.Store = .empty, isRegistered: Bool = true) throws {
        daemon = try PrivateDaemon(store)
        helper = try ProgramCopy(of: "ostiary-credential-helper", as: "ostiary-credential-helper", in: daemon)
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: false)
        for name in ["git-credential-ostiary", "docker-credential-ostiary"] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(bin)/\(name)", withDestinationPath: "../ostiary-credential-helper")
        }
        if isRegistered { try register(answer: store == .empty ? "yes" : PrivateDaemon.passcode) }
    }

    private func register(answer: String) throws {
        try register(helper, as: "org.ostiary.credential-helper", "--door", answer: answer)
    }

    private func register(_ program: ProgramCopy, as id: String, _ options: String..., answer: String) throws {
        let run = try PlayedTerminal(
            BuiltProgram.named("ostiary"),
            ["app", "register", program.url.path, "--id", id, "--group", Self.group] + options, answers: [answer],
            in: daemon)
        guard run.status == 0 else { throw TestSupportError("ostiary app register: \(run.screen)") }
    }

    /// A copy of the command that sees the helper's items. The store has a passcode.
    func registeredCommand() throws -> ProgramCopy {
        let command = try ProgramCopy(of: "ostiary", as: "ostiary", in: daemon)
        try register(command, as: "org.ostiary.command", answer: PrivateDaemon.passcode)
        return command
    }

    /// How many items the helper keeps, those under a rule with them.
    func itemCount(by command: ProgramCopy) throws -> Int {
        let run = try PlayedTerminal(
            command.url, ["item", "list", "--class", "internet", "--group", Self.group, "--protected", "--json"],
            answers: [PrivateDaemon.passcode], in: daemon)
        guard run.status == 0 else { throw TestSupportError("ostiary item list: \(run.screen)") }
        return run.screen.components(separatedBy: #""acct""#).count - 1
    }

    /// Where git finds the helper, and nothing of the machine's own settings.
    var environment: [String: String] {
        daemon.environment.merging([
            "PATH": "\(bin):/usr/bin:/bin", "HOME": daemon.folder.path, "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false", "LC_ALL": "C.UTF-8",
        ]) { $1 }
    }

    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
    }

    /// Runs a program without a terminal.
    func run(_ program: String, _ arguments: [String], input: String = "", in folder: String? = nil) throws -> Outcome {
        let files = ["input", "output", "errors"].map { daemon.path("\($0)-\(UUID().uuidString)") }
        defer { for file in files { unlink(file) } }
        for file in files { try Data(file == files[0] ? input.utf8 : "".utf8).write(to: URL(fileURLWithPath: file)) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--wait", program] + arguments
        process.environment = environment
        process.currentDirectoryURL = folder.map { URL(fileURLWithPath: $0) } ?? daemon.folder
        process.standardInput = FileHandle(forReadingAtPath: files[0])
        process.standardOutput = FileHandle(forWritingAtPath: files[1])
        process.standardError = FileHandle(forWritingAtPath: files[2])
        try process.run()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus, output: try String(contentsOfFile: files[1], encoding: .utf8),
            errors: try String(contentsOfFile: files[2], encoding: .utf8))
    }

    static let helperSetting = ["-c", "credential.helper=", "-c", "credential.helper=ostiary"]

    func git(_ arguments: [String], input: String = "", in folder: String? = nil) throws -> Outcome {
        try run("/usr/bin/git", Self.helperSetting + arguments, input: input, in: folder)
    }

    func docker(_ action: String, input: String = "") throws -> Outcome {
        try run("\(bin)/docker-credential-ostiary", [action], input: input)
    }

    /// The same of git on a terminal, with a person who answers.
    ///
    /// - Parameter helper: git's setting.
    func gitOnTerminal(
        _ action: String, input: String, helper: String = "ostiary", answers: [String] = []
    ) throws -> PlayedTerminal {
        let variables = environment.map { "\($0.key)=\($0.value)" }
        let script = #"printf '%s' "$1" | git -c credential.helper= -c "credential.helper=$2" credential "$3""#
        return try PlayedTerminal(
            URL(fileURLWithPath: "/usr/bin/env"), variables + ["/bin/sh", "-c", script, "sh", input, helper, action],
            answers: answers, in: daemon)
    }

    /// A helper that a shell starts on a terminal, with a person who answers.
    ///
    /// - Parameter name: of the link.
    func helperOnTerminal(
        _ name: String, _ words: [String], input: String, answers: [String]
    ) throws -> PlayedTerminal {
        let script = #"printf '%s' "$1" | (shift; exec "$@")"#
        return try PlayedTerminal(
            URL(fileURLWithPath: "/bin/sh"), ["-c", script, "sh", input, "\(bin)/\(name)"] + words, answers: answers,
            in: daemon)
    }

    /// The records of the log, newest last.
    func log() throws -> [[String: Any]] {
        let listed = try run(BuiltProgram.named("ostiary").path, ["log", "--json"])
        guard listed.status == 0 else { throw TestSupportError("ostiary log: \(listed.errors)") }
        return try listed.output.split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
    }
}

/// A server that serves a folder to the user `me` with the password `right`, and writes its port to a file.
final class PasswordServer {
    private let process = Process()
    let port: Int

    private static let script = """
        import base64, functools, http.server, os, sys
        expected = "Basic " + base64.b64encode(b"me:right").decode()
        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                if self.headers.get("Authorization") == expected:
                    return super().do_GET()
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="test"')
                self.send_header("Content-Length", "0")
                self.end_headers()
            def log_message(self, *arguments):
                pass
        handler = functools.partial(Handler, directory=sys.argv[1])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        with open(sys.argv[2] + ".new", "w") as file:
            file.write(str(server.server_address[1]))
        os.rename(sys.argv[2] + ".new", sys.argv[2])
        server.serve_forever()
        """

    init(_ folder: String, in daemon: PrivateDaemon) throws {
        let file = daemon.path("port-\(UUID().uuidString)")
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", Self.script, folder, file]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let end = ContinuousClock.now + .seconds(60)
        while !FileManager.default.fileExists(atPath: file), process.isRunning, ContinuousClock.now < end {
            usleep(10_000)
        }
        guard let port = Int(try String(contentsOfFile: file, encoding: .utf8)) else {
            throw TestSupportError("The server gave no port.")
        }
        self.port = port
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

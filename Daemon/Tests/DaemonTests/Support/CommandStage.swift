import Foundation
import Glibc
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The command `ostiary` beside the daemon and the verifier of attestations, for a person at a terminal and for scripts.
struct CommandStage {
    let folders: DaemonFolders
    private let programs: String

    /// One run of the command.
    struct Run {
        let status: CInt
        /// Its standard output.
        let output: Data
        /// All else: its errors, and on a terminal what was shown since the last answer.
        let shown: String

        var text: String { String(decoding: output, as: UTF8.self) }

        /// Whether `text` was shown, on however many lines.
        func shows(_ text: String) -> Bool {
            shown.filter { !$0.isWhitespace }.contains(text.filter { !$0.isWhitespace })
        }
    }

    /// What a person does at a question.
    enum Act {
        case type(String)
        case cancel

        static let passcode = Act.type(TPMStage.passcode)
    }

    init(in folders: DaemonFolders, withVerifier: Bool = true) throws {
        self.folders = folders
        programs = folders.root.path("programs")
        for folder in [programs, folders.root.path("work")] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }
        let command = Build.program("ostiary")
        try Self.require(command, "script/swift-in . build --product ostiary")
        // A copy looks beside itself for the others. It starts a daemon only if nobody else can change it, and the build may be
        // another user's than who runs the tests.
        try copy(command, as: "ostiary")
        try copy(DaemonStart.program, as: "ostiaryd")
        try copy(Build.program("ostiary-prompt"), as: "ostiary-prompt")
        guard withVerifier else { return }
        let package = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../../RelyingParty")
        let verifier = package.standardizedFileURL.appendingPathComponent(".build/debug/ostiary-verify-attestation")
            .path
        try Self.require(verifier, "script/swift-in RelyingParty build --product ostiary-verify-attestation")
        try copy(verifier, as: "ostiary-verify-attestation")
    }

    private static func require(_ program: String, _ command: String) throws {
        try #require(FileManager.default.isExecutableFile(atPath: program), "Build it: \(command)")
    }

    private func copy(_ program: String, as name: String) throws {
        try FileManager.default.copyItem(atPath: program, toPath: "\(programs)/\(name)")
        try #require(chown("\(programs)/\(name)", getuid(), getgid()) == 0)
    }

    // MARK: files of the folder in which the command runs

    func path(_ name: String) -> String { folders.root.path("work/\(name)") }

    func write(_ bytes: Data, named name: String) throws { try folders.write(bytes, to: path(name)) }

    func read(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

    // MARK: runs

    private var environment: [String] {
        [
            "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=\(folders.root.path("run"))",
            "XDG_STATE_HOME=\(folders.root.path("state"))",
        ]
    }

    /// On a terminal, with a person who acts at each question for a passcode in turn.
    ///
    /// - Parameter wrapper: a program with arguments that executes what follows them.
    func atTerminal(_ arguments: String..., doing acts: [Act] = [], under wrapper: [String] = []) throws -> Run {
        let terminal = try PseudoTerminal()
        let words = (["/usr/bin/env"] + environment + wrapper + ["\(programs)/ostiary"] + arguments).map(Self.quoted)
        let script =
            "echo ready; cd \(Self.quoted(path(""))); \(words.joined(separator: " ")) >.output; echo \"[status $?] at its end\""
        let process = try CallerProcess(on: terminal, script: script)
        for act in acts {
            terminal.waitFor("Passcode: ")
            terminal.clearScreen()
            switch act {
            case .type(let text): terminal.type(text + "\r")
            case .cancel: terminal.type("\u{3}")
            }
        }
        terminal.waitFor("] at its end\r\n")
        process.end()
        let shown = terminal.screen
        let status = try #require(shown.components(separatedBy: "[status ").last?.split(separator: "]").first)
        return Run(status: try #require(CInt(status), "\(shown)"), output: try read(".output"), shown: shown)
    }

    /// Without a terminal, where nobody can be asked.
    func alone(_ arguments: String..., under wrapper: [String] = []) throws -> Run {
        try alone(arguments, under: wrapper)
    }

    func alone(_ arguments: [String], under wrapper: [String] = []) throws -> Run {
        let files = ["output", "errors"].map { path(".\($0)") }
        let descriptors = try files.map {
            SharedDescriptor(
                try Descriptor(open($0, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600), from: "open", subject: $0))
        }
        let process = try SpawnedProcess(
            "/bin/sh",
            ["-c", "cd \(Self.quoted(path(""))) && exec \"$@\"", "sh"] + wrapper + ["\(programs)/ostiary"] + arguments,
            environment: environment, descriptors: [-1] + descriptors.map(\.number))
        guard case .exited(let status) = process.wait(seconds: 60) else { throw NotEnded() }
        return Run(
            status: status, output: try read(".output"), shown: String(decoding: try read(".errors"), as: UTF8.self))
    }

    struct NotEnded: Error {}

    private static func quoted(_ word: String) -> String {
        "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}

/// Requires a status and a text among the words for people.
func expect(
    _ run: CommandStage.Run, _ status: CInt, _ words: String = "", _ location: SourceLocation = #_sourceLocation
) {
    #expect(run.status == status, "\(run.shown)", sourceLocation: location)
    #expect(words.isEmpty || run.shows(words), "\(run.shown)", sourceLocation: location)
}

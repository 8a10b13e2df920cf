import DaemonTestSupport
import Foundation
import Testing

/// A real bash with the generated script completes names of rights, which any program of the user may have chosen.
@Suite("Completion by a shell, end to end", .serialized)
struct CompletionEndToEndTests {
    private let daemon: PrivateDaemon

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        // Once, because a debug build takes a second for it.
        let made = try UnattendedRun(
            URL(fileURLWithPath: "/bin/sh"),
            [
                "-c", #""$0" --generate-completion-script bash > completions.bash"#, BuiltProgram.named("ostiary").path,
            ], in: daemon)
        try #require(made.status == 0, "\(made.output)")
    }

    /// What Tab offers behind `line`.
    private func completions(of line: String) throws -> [String] {
        let bash = Process()
        bash.executableURL = URL(fileURLWithPath: "/usr/bin/bash")
        bash.arguments = ["--norc", "-c", Self.script, "bash", line]
        bash.environment = daemon.environment.merging([
            "PATH": "\(daemon.folder.path):\(BuiltProgram.folder.path):/usr/bin:/bin", "HOME": daemon.folder.path,
        ]) { $1 }
        bash.currentDirectoryURL = daemon.folder
        let pipe = Pipe()
        bash.standardInput = FileHandle.nullDevice
        bash.standardOutput = pipe
        try bash.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        bash.waitUntilExit()
        try #require(bash.terminationStatus == 0, "\(output)")
        return output.split(separator: "\n").map(String.init).sorted()
    }

    /// As readline calls it (bash(1), Programmable Completion).
    private static let script = """
        source completions.bash
        COMP_LINE="$1" COMP_POINT="${#1}"
        read -ra COMP_WORDS <<< "$1"
        case "$1" in *' ') COMP_WORDS+=('') ;; esac
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _ostiary ostiary "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
        """

    @Test func `no command that stands in a right's name is run`() throws {
        let names = [
            "$(touch ran)", "`touch ran`", "a$(touch ran)", "$HOME", "~", "x y", "a'b", "-n", "<(touch ran)", "a;b",
        ]
        for name in names + ["plain", "other@host/1.2_3+4"] {
            let made = try UnattendedRun(
                BuiltProgram.named("ostiary"),
                ["right", "create", "--require", "unrestricted", "--available", "always", "--", name], in: daemon)
            #expect(made.status == 0, "\(made.output)")
        }
        for command in [
            "show", "remove", "sign", "verify", "encrypt", "decrypt", "secret", "public-key", "authorize", "attest",
            "list",
        ] {
            #expect(try completions(of: "ostiary right \(command) ") == ["other@host/1.2_3+4", "plain"], "\(command)")
            #expect(try completions(of: "ostiary right \(command) pl") == ["plain"], "\(command)")
            #expect(try completions(of: "ostiary right \(command) $").isEmpty, "\(command)")
        }
        #expect(try completions(of: "ostiary right create ").isEmpty, "a new right has none of these names")
        #expect(try completions(of: "ostiary right create pl").isEmpty)
        #expect(!FileManager.default.fileExists(atPath: daemon.path("ran")))
    }

    @Test func `names of a group's rights are completed behind the group alone`() throws {
        let program = try ProgramCopy(of: "ostiary", as: "ostiary", in: daemon).url
        let group = "com.example.deploy"
        let registered = try PlayedTerminal(
            BuiltProgram.named("ostiary"),
            ["app", "register", program.path, "--id", "com.example.tool", "--group", group],
            answers: [PrivateDaemon.passcode], in: daemon)
        try #require(registered.status == 0, "\(registered.screen)")
        for (name, options) in [("shared", ["--group", group]), ("alone", [])] {
            let made = try UnattendedRun(
                program, ["right", "create", name, "--require", "unrestricted", "--available", "always"] + options,
                in: daemon)
            #expect(made.status == 0, "\(made.output)")
        }
        #expect(try completions(of: "ostiary right show --group \(group) ") == ["shared"])
        #expect(try completions(of: "ostiary right show ") == ["alone"])
        #expect(try completions(of: "ostiary right show --group com.example.foreign ").isEmpty)
    }

    @Test func `subcommands are completed`() throws {
        #expect(try completions(of: "ostiary right pub") == ["public-key"])
    }
}

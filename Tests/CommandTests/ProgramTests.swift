import ArgumentParser
import Foundation
import Glibc
import Testing

@testable import ostiary

/// What the built program does where no daemon is.
@Suite("The program without a daemon")
struct ProgramTests {
    private let folder: CommandFolder

    init() throws { folder = try CommandFolder() }

    static let commands: [[String]] = [
        [], ["status"], ["passcode"], ["passcode", "set"], ["passcode", "change"], ["passcode", "remove"],
        ["passcode", "follow-login"], ["right"],
        ["right", "create"], ["right", "list"], ["right", "show"], ["right", "authorize"], ["right", "remove"],
        ["right", "public-key"], ["right", "sign"], ["right", "verify"], ["right", "encrypt"], ["right", "decrypt"],
        ["right", "secret"], ["lock"], ["unlock"], ["log"], ["doctor"], ["enclave"], ["enclave", "move"],
        ["test-daemon"], ["grants"],
        ["grants", "list"],
        ["grants", "revoke"], ["fingerprint"], ["fingerprint", "enroll"], ["fingerprint", "list"],
        ["fingerprint", "delete"], ["fingerprint", "verify"],
    ]

    @Test(arguments: commands)
    func `help shows an example`(command: [String]) throws {
        let run = try CommandRun(command + ["--help"], in: folder)
        #expect(run.status == 0)
        #expect(run.errors == "")
        let example = try #require(run.text.components(separatedBy: .newlines).firstIndex { $0.hasPrefix("Example") })
        #expect(
            run.text.components(separatedBy: .newlines)[example...].contains {
                $0.contains("ostiary " + command.joined(separator: " "))
            })
    }

    /// A command in `--experimental-dump-help`.
    private struct DumpedCommand: Decodable {
        struct Name: Decodable { let name: String }
        struct Argument: Decodable { let names: [Name]? }
        let commandName: String
        let subcommands: [DumpedCommand]?
        let arguments: [Argument]?

        /// The path of each command without subcommands, and the names of its options.
        func leaves(below path: [String] = []) -> [(path: String, options: Set<String>)] {
            let path = path + [commandName]
            guard let subcommands, !subcommands.isEmpty else {
                let names = (arguments ?? []).flatMap { ($0.names ?? []).map(\.name) }
                return [(path.joined(separator: " "), Set(names))]
            }
            return subcommands.flatMap { $0.leaves(below: path) }
        }
    }

    private func leaves() throws -> [(path: String, options: Set<String>)] {
        struct Dump: Decodable { let command: DumpedCommand }
        let run = try CommandRun(["--experimental-dump-help"], in: folder)
        let leaves = try JSONDecoder().decode(Dump.self, from: run.output).command.leaves()
        return leaves.filter { !$0.path.hasSuffix(" help") }
    }

    @Test func `every command has --json`() throws {
        // All its arguments are another program's, which has the option itself.
        let lacking = try leaves().filter { !$0.options.contains("json") }.map(\.path)
        #expect(lacking == ["ostiary verify-attestation"])
    }

    /// Those that the daemon never asks about, that become another program, or whose question names what they start.
    private static let withoutQuestion: Set = [
        "status", "fingerprint enroll", "fingerprint list", "fingerprint delete", "fingerprint verify", "right list",
        "right show", "right remove", "right public-key", "right verify", "right encrypt", "key list",
        "key public-key", "passkey list", "passkey show", "passkey serve", "security-key list", "app list",
        "grants list", "grants revoke", "lease list", "lease revoke", "ssh list", "ssh remove", "ssh setup",
        "git setup",
        "doors list", "run", "secrets enable", "secrets disable", "secrets status", "secrets list",
        "init-package", "lock", "enclave move", "attest activate", "verify-attestation", "test-daemon",
        "admin users", "admin log", "admin forget-user",
    ]

    @Test func `every command that may ask takes a reason`() throws {
        let lacking = try leaves().filter { !$0.options.contains("reason") }.map { String($0.path.dropFirst(8)) }
        #expect(Set(lacking) == Self.withoutQuestion)
    }

    /// Where a terminal has 80 columns the parser breaks longer lines, and an example can no longer be copied.
    @Test func `no line of an example is broken on a terminal`() throws {
        var seen = 0
        func check(_ command: any ParsableCommand.Type, _ path: String) {
            let lines = command.configuration.discussion.split(separator: "\n", omittingEmptySubsequences: false)
            for line in lines where line.hasPrefix("  ostiary") || line.contains("| ostiary") {
                seen += 1
                #expect(line.count < 76, "\(path): \(line)")
            }
            for subcommand in command.configuration.subcommands {
                check(subcommand, path + " " + subcommand._commandName)
            }
        }
        check(Ostiary.self, "ostiary")
        #expect(seen > 50)
    }

    @Test func `help states the exit statuses`() throws {
        let text = try CommandRun(["--help"], in: folder).text
        for line in ["  0  done\n", "  1  failed\n", "  2  wrong usage\n", "  3  refused or cancelled"] {
            #expect(text.contains(line), "\(text)")
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `a completion script names the commands`(shell: String) throws {
        let run = try CommandRun(["--generate-completion-script", shell], in: folder)
        #expect(run.status == 0)
        for name in ["public-key", "unlock"] { #expect(run.text.contains(name)) }
    }

    @Test(arguments: [
        ["status"], ["passcode", "set"], ["right", "create", "a"], ["right", "list"], ["right", "show", "a"],
        ["right", "authorize", "a"], ["right", "remove", "a"], ["right", "public-key", "a"],
        ["right", "sign", "a", "-"],
        ["right", "secret", "a"], ["right", "encrypt", "a", "-"], ["lock"], ["unlock"], ["log"],
        ["log", "--verify"],
    ])
    func `without a daemon a command fails with advice`(command: [String]) throws {
        let run = try CommandRun(command, in: folder)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasPrefix("ostiary: No daemon runs and ostiaryd is not installed (looked for "))
    }

    @Test func `the doctor makes a missing daemon a finding`() throws {
        let run = try CommandRun(["doctor"], in: folder)
        #expect(run.status == 1)
        #expect(run.text.hasPrefix("PROBLEM  connection: No daemon runs"))
        #expect(run.text.contains("If ostiaryd is not installed, install it"))
        #expect(run.errors == "")
        let json = try CommandRun(["doctor", "--json"], in: folder)
        #expect(json.status == 1)
        #expect(json.text.contains(#""verdict" : "problem""#))
    }

    @Test func `an error is JSON when the results are`() throws {
        let run = try CommandRun(["status", "--json"], in: folder)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasPrefix(#"{"error":{"code":-1,"message":"No daemon runs"#))
        #expect(run.errors.hasSuffix("\"name\":\"daemonUnavailable\"}}\n"))
    }

    @Test(arguments: [
        ["nonsense"], ["right", "show"], ["right", "create", "a", "--require", "biometry orr passcode"],
    ])
    func `wrong usage ends with status 2`(arguments: [String]) throws {
        let run = try CommandRun(arguments, in: folder)
        #expect(run.status == 2)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasPrefix("Error: "))
        #expect(run.errors.contains("Usage: ostiary"))
    }

    @Test func `a rule that cannot be read is wrong usage and names the character`() throws {
        let run = try CommandRun(["right", "create", "a", "--require", "biometry orr passcode"], in: folder)
        #expect(run.status == 2)
        #expect(run.errors.contains("“and”, “or”, or the end of the rule (at character 10)"), "\(run.errors)")
    }

    @Test func `an unknown command is named, with --json too`() throws {
        let run = try CommandRun(["bogus", "--json"], in: folder)
        #expect(run.status == 2)
        #expect(
            run.errors
                == #"{"error":{"code":-100,"message":"There is no command `ostiary bogus`","name":"usage"}}"# + "\n")
        let words = try CommandRun(["right", "rm", "a"], in: folder).errors
        #expect(
            words.hasPrefix("Error: There is no command `ostiary right rm`.\nDid you mean `ostiary right remove`?\n"),
            "\(words)")
    }

    @Test func `with --json nothing but the error is printed`() throws {
        let run = try CommandRun(["security-key", "enroll", "blue", "--json"], in: folder)
        #expect(run.status == 1 && run.errors.hasPrefix(#"{"error":{"code":-1,"#), "\(run.errors)")
    }

    @Test(arguments: [
        ["right", "sign", "a", "in", "--output", "in"], ["right", "sign", "a", "in", "--output", "./in"],
        ["right", "sign", "a", "in", "--output", "link"], ["right", "sign", "a", "in", "in.sig"],
        ["right", "sign", "a", "in", "./in"], ["right", "sign", "a", "in", "link"],
        ["right", "sign", "a", "-", "--output", "stdin"],
        ["key", "sign", "a", "in", "in.sig"], ["right", "encrypt", "a", "in", "--output", "in"],
        ["right", "decrypt", "a", "in", "--output", "second"], ["right", "sign", "a", "x", "y"],
        ["right", "attest", "a", "--challenge", "in", "--output", "in"],
        ["attest", "activate", "in", "--output", "in"],
    ])
    func `an output is never an input, also by force`(arguments: [String]) throws {
        let (content, signature) = (Data("the file".utf8), Data("older".utf8))
        for name in ["in", "x", "y"] { _ = try folder.file(name, content) }
        _ = try folder.file("in.sig", signature)
        symlink("in", folder.path("link"))
        link(folder.path("in"), folder.path("second"))
        // Two outputs that are one file.
        _ = try folder.file("x.sig", signature)
        symlink("x.sig", folder.path("y.sig"))
        for option in ["--force", "--json"] {
            // With --json several signatures go into no file.
            if option == "--json", ["in.sig", "y"].contains(arguments.last) { continue }
            let run = try CommandRun(
                arguments + [option] + (option == "--json" ? ["--force"] : []), input: content, in: folder)
            #expect(run.status == 2, "\(run.errors)")
            #expect(
                run.errors.contains("is an input, or another output") || run.errors.contains("is given twice"),
                "\(run.errors)")
        }
        for name in ["in", "x", "y"] {
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path(name))) == content)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("in.sig"))) == signature)
    }

    @Test func `wrong usage is JSON as well`() throws {
        let run = try CommandRun(["right", "show", "--json"], in: folder)
        #expect(run.status == 2)
        #expect(run.errors.hasPrefix(#"{"error":{"code":-100,"message":"#))
        #expect(run.errors.hasSuffix("\"name\":\"usage\"}}\n"))
    }

    private static let pasted = String(repeating: "p", count: 3000)

    @Test(arguments: [
        ["right", "show", pasted], ["right", "show", "a", pasted], ["--" + pasted], ["item", "add", "--class", pasted],
        ["item", "add", "--class=" + pasted], ["item", "add", "--attribute=colour=" + pasted],
        ["right", "remove", "--id", pasted],
        ["right", "create", "a", "--require", pasted], ["right", "sign", "a", "f", "--algorithm", pasted],
        ["status", pasted],
    ])
    func `wrong usage does not repeat a long argument`(arguments: [String]) throws {
        for arguments in [arguments, arguments + ["--json"]] {
            let run = try CommandRun(arguments, in: folder)
            #expect(run.status == 2)
            #expect(run.errors.contains("pppp"), "the beginning says which argument is meant")
            #expect(!run.errors.contains(String(repeating: "p", count: 61)))
        }
    }

    /// Runs the command with some of its standard streams closed, and the others as files of the test's folder.
    private func run(_ arguments: [String], closing redirections: String) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "exec \"$@\" \(redirections)", "sh", try CommandRun.program.get().path] + arguments
        process.environment = try CommandRun.environment(in: folder)
        process.currentDirectoryURL = folder.url
        process.standardError = try FileHandle(forWritingTo: folder.emptyFile("stderr"))
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        return process.terminationStatus
    }

    private func errors() throws -> String {
        try String(contentsOf: folder.url.appendingPathComponent("stderr"), encoding: .utf8)
    }

    @Test func `a result that nobody can receive is a failure`() throws {
        #expect(try run(["--help"], closing: ">&-") == 1)
        #expect(
            try errors() == "ostiary: The output cannot be written (write standard output: Bad file descriptor).\n")
        #expect(try run(["--help"], closing: "<&- >&- 2>&-") == 1)
    }

    @Test func `a closed standard input is no input`() throws {
        #expect(try run(["right", "sign", "a", "-", "--output", "out"], closing: "<&-") == 1)
        #expect(try errors().hasPrefix("ostiary: The input cannot be read (read standard input: Bad file descriptor)"))
    }

    @Test func `a notice that nobody can receive changes nothing`() throws {
        #expect(try run(["--version"], closing: ">out 2>&-") == 0)
        #expect(try folder.names.contains("out"))
    }

    // MARK: input and output

    @Test func `an unreadable input is told before the daemon is asked`() throws {
        let run = try CommandRun(["right", "sign", "a", "missing", "--output", "out"], in: folder)
        #expect(run.status == 1)
        #expect(
            run.errors
                == "ostiary: The input cannot be read (open missing: No such file or directory); nothing was done.\n")
    }

    @Test func `a dash is standard input`() throws {
        let run = try CommandRun(
            ["right", "sign", "a", "-", "--algorithm", "ecdsa-digest-sha256"], input: Data(count: 31), in: folder)
        #expect(run.status == 1)
        #expect(run.errors.contains("does not have the length of a digest"))
    }

    @Test func `a secret on standard input is bounded`() throws {
        let tooMuch = try CommandRun(
            ["right", "create", "a", "--secret", "-"], input: Data(count: 64 * 1024 + 1), in: folder)
        #expect(tooMuch.status == 1)
        #expect(tooMuch.errors == "ostiary: standard input has more than 65536 bytes, and more are not allowed.\n")
        let enough = try CommandRun(
            ["right", "create", "a", "--secret", "-"], input: Data(count: 64 * 1024), in: folder)
        #expect(enough.errors.hasPrefix("ostiary: No daemon runs"))
    }

    @Test func `nothing is left where an output would have been`() throws {
        _ = try CommandRun(["right", "secret", "a", "--output", "out"], in: folder)
        #expect(try !folder.names.contains { $0 == "out" || $0.hasPrefix(".ostiary-") })
    }

    @Test(arguments: [
        ["right", "sign", "a", "-"], ["right", "encrypt", "a", "-"], ["right", "public-key", "a", "--format", "x963"],
    ])
    func `binary output is refused on a terminal before anybody is asked`(arguments: [String]) throws {
        let run = try TerminalRun(arguments, in: folder)
        #expect(run.status == 2)
        #expect(run.screen == "")
        #expect(run.errors.contains("--output FILE"))
        let chosen = try TerminalRun(arguments + ["--output", "-"], in: folder)
        #expect(chosen.status == 1)
        #expect(chosen.errors.hasPrefix("ostiary: No daemon runs"))
    }

    @Test func `what is text may go to a terminal`() throws {
        let run = try TerminalRun(["right", "public-key", "a"], in: folder)
        #expect(run.errors.hasPrefix("ostiary: No daemon runs"))
        #expect(try TerminalRun(["--version"], in: folder).screen == Ostiary.version + "\r\n")
    }

    @Test func `a reader that has gone ends the command without a word`() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // Where the parent ignores SIGPIPE the command gets EPIPE; elsewhere the signal ends it.
        process.arguments = ["-c", "trap '' PIPE; exec \"$0\" doctor", try CommandRun.program.get().path]
        process.environment = try CommandRun.environment(in: folder)
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try output.fileHandleForReading.close()
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        #expect(process.terminationStatus == 1)
        try errors.fileHandleForWriting.close()
        #expect(try errors.fileHandleForReading.readToEnd() ?? Data() == Data())
    }

    @Test func `a crash prints no memory`() throws {
        let process = Process()
        process.executableURL = try CommandRun.program.get()
        process.arguments = ["right", "create", "a", "--secret", "-"]
        process.environment = try CommandRun.environment(in: folder).merging(["SWIFT_BACKTRACE": "enable=yes"]) { $1 }
        let (input, errors) = (Pipe(), try folder.emptyFile("stderr"))
        process.standardInput = input
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        // Far more than the pipe holds: when it is written the command has read a part and waits for more.
        let setPipeSize: CInt = 1031  // F_SETPIPE_SZ, which Swift's Glibc module does not show.
        try #require(fcntl(input.fileHandleForWriting.fileDescriptor, setPipeSize, 4096) == 4096)
        try input.fileHandleForWriting.write(contentsOf: Data(count: 60_000))
        kill(process.processIdentifier, SIGSEGV)
        // A command that caught the signal would go on reading; with its input closed it ends instead.
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal)
        #expect(process.terminationStatus == SIGSEGV)
        #expect(try Data(contentsOf: errors) == Data())
    }

    @Test func `a full device is a failure`() throws {
        let process = Process()
        process.executableURL = try CommandRun.program.get()
        process.arguments = ["--help"]
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
        let errors = try folder.emptyFile("stderr")
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
        #expect(
            try String(contentsOf: errors, encoding: .utf8)
                == "ostiary: The output cannot be written (write standard output: No space left on device).\n")
    }
}

import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// `ostiary test-daemon` with real programs, and without any store where its environment leads.
@Suite("A daemon for a test run, end to end", .serialized)
final class TestDaemonEndToEndTests {
    private static let ostiary = BuiltProgram.named("ostiary").path
    private let folder: URL
    private let environment: [String: String]

    init() throws {
        // A short name: the path of a socket has at most 107 bytes.
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("o-\(UUID().uuidString.prefix(8))")
        for name in ["", "state", "run", "t", "programs"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
        environment = [
            "XDG_STATE_HOME": folder.path + "/state", "XDG_RUNTIME_DIR": folder.path + "/run",
            "TMPDIR": folder.path + "/t", "PATH": BuiltProgram.folder.path + ":/usr/bin:/bin",
            "OF_THE_CALLER": "kept",
        ]
        try write("passcode", PrivateDaemon.passcode + "\n")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }

    private struct Run {
        let status: Int32
        let output: String
    }

    private func started(_ arguments: [String], _ changes: [String: String] = [:]) throws -> (Process, URL) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.ostiary)
        process.arguments = ["test-daemon"] + arguments
        process.environment = environment.merging(changes) { $1 }
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        let output = folder.appendingPathComponent("output-\(UUID())")
        try Data().write(to: output)
        let file = try FileHandle(forWritingTo: output)
        (process.standardOutput, process.standardError) = (file, file)
        try process.run()
        return (process, output)
    }

    private func run(_ arguments: String..., changes: [String: String] = [:]) throws -> Run {
        let (process, output) = try started(arguments, changes)
        process.waitUntilExit()
        return Run(status: process.terminationStatus, output: try String(contentsOf: output, encoding: .utf8))
    }

    /// Nothing is left: no file, no process that names the temporary folder.
    private func expectNothingLeft(_ location: SourceLocation = #_sourceLocation) throws {
        let temporary = folder.path + "/t"
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [], sourceLocation: location)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/state") == [])
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }
        for process in processes {
            // A process that ended meanwhile has no file any more.
            guard let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") else { continue }
            #expect(!String(decoding: line, as: UTF8.self).contains(temporary), sourceLocation: location)
        }
    }

    private func program(_ name: String = "keychain-calls") throws -> String {
        let copy = folder.appendingPathComponent("programs/" + name)
        if FileManager.default.fileExists(atPath: copy.path) { try FileManager.default.removeItem(at: copy) }
        try FileManager.default.copyItem(at: BuiltProgram.named("keychain-calls"), to: copy)
        return copy.path
    }

    // MARK: what it does

    @Test func `an example runs unattended, and its questions get the passcode of the file`() throws {
        try write("message", "hello")
        let run = try run(
            "--passcode-file", "passcode", "--", "sh", "-c", "enclave-key create && enclave-key sign message")
        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("Signed and verified."))
        try expectNothingLeft()
    }

    @Test func `a protected password is read in an unlocked store, and nothing of it survives the run`() throws {
        try write("password", "a secret")
        let script = "ostiary status && protected-password save password && protected-password show"
        let first = try run("--passcode-file", "passcode", "--", "sh", "-c", script)
        #expect(first.status == 0, "\(first.output)")
        #expect(first.output.contains("unlocked") && first.output.contains("Password: a secret"))
        let second = try run("--passcode-file", "passcode", "--", "protected-password", "show")
        #expect(second.status == 1)
        #expect(second.output.contains("Status -25300"), "\(second.output)")
        try expectNothingLeft()
    }

    @Test(arguments: ["100 % sure", "%41 and more", "grüner Wald 9", "  with spaces  "])
    func `a passcode is any text of a line`(passcode: String) throws {
        try write("passcode", passcode + "\r\n")
        try write("message", "hello")
        let run = try run(
            "--passcode-file", "passcode", "--", "sh", "-c",
            "ostiary lock && ostiary unlock && enclave-key create && enclave-key sign message")
        #expect(run.status == 0, "\(run.output)")
    }

    @Test func `programs below a folder share the groups, and a rebuilt one does too`() throws {
        let (mail, news) = (try program("mail"), try program("news"))
        let script = "\(mail) add secret && \(news) find secret && \(news) list all"
        let arguments = ["--group", "com.example.one", "--group", "com.example.two", "--programs", "programs", "--"]
        for _ in 0..<2 {
            let (process, output) = try started(arguments + ["sh", "-c", script])
            process.waitUntilExit()
            let text = try String(contentsOf: output, encoding: .utf8)
            #expect(process.terminationStatus == 0)
            #expect(text == "add: 0\nfind: 0\ndata: secret\nlist: 0\nfound: secret in com.example.one\n")
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: mail))
            try file.seekToEnd()
            try file.write(contentsOf: Data("rebuilt".utf8))
            try file.close()
        }
        try expectNothingLeft()
    }

    @Test func `a program that is built or built again during the run has the groups at once`() throws {
        _ = try program("mail")
        let script = """
            programs/mail add secret && cp programs/mail programs/new && programs/new find secret
            printf built >> programs/mail && programs/mail find secret
            """
        let run = try run("--group", "com.example.one", "--programs", "programs", "--", "sh", "-c", script)
        let found = "find: 0\ndata: secret\n"
        #expect(run.status == 0 && run.output == "add: 0\n" + found + found, "\(run.output)")
        try expectNothingLeft()
    }

    @Test func `a program below the folder keeps its path as its last group`() throws {
        let program = try program()
        let script = "programs/keychain-calls add secret && programs/keychain-calls add secret \(program)"
        let run = try run("--group", "com.example.one", "--programs", "programs", "--", "sh", "-c", script)
        #expect(run.status == 0 && run.output == "add: 0\nadd: 0\n", "\(run.output)")
    }

    @Test func `a program beside the folder has none of its groups, whatever the folder's name begins with`() throws {
        _ = try program()
        try FileManager.default.copyItem(
            at: folder.appendingPathComponent("programs"), to: folder.appendingPathComponent("programs-2"))
        let script = """
            programs/keychain-calls add secret
            programs-2/keychain-calls find secret
            programs-2/keychain-calls add x com.example.one
            """
        let run = try run("--group", "com.example.one", "--programs", "programs", "--", "sh", "-c", script)
        #expect(run.output == "add: 0\nfind: -25300\nadd: -34018\n")
    }

    @Test(arguments: [
        (["com.apple.token"], "Access group 1 begins with com.apple."),
        (["a", "-b"], "Access group 2 begins with neither"), (["a", "a"], "Access group 2 is named twice"),
    ])
    func `a group that breaks a rule ends the run before the command`(groups: [String], words: String) throws {
        let (process, output) = try started(
            groups.map { "--group=" + $0 } + ["--programs", "programs", "--", "touch", "begun"])
        process.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        #expect(process.terminationStatus == 1 && text.contains(words), "\(text)")
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/begun"))
        try expectNothingLeft()
    }

    @Test func `the programs of a command with a path are those in its folder`() throws {
        let program = try program()
        let run = try run("--group", "com.example.one", "--", program, "add", "x", "com.example.one")
        #expect(run.status == 0 && run.output == "add: 0\n")
        let foreign = try self.run("--group", "com.example.one", "--", program, "add", "x", "com.example.two")
        #expect(foreign.output == "add: -34018\n")
        let unnamed = try self.run("--group", "com.example.one", "--", "keychain-calls", "add", "x")
        #expect(unnamed.status == 2 && unnamed.output.contains("--programs"))
    }

    @Test func `a script below the folder is passed over, and the environment of the caller stays`() throws {
        _ = try program()
        try write("programs/script", "#!/bin/sh\necho $OF_THE_CALLER\n")
        chmod(folder.path + "/programs/script", 0o755)
        let run = try run("--group", "com.example.one", "--", "programs/script")
        #expect(run.status == 0 && run.output == "kept\n")
    }

    // MARK: how it ends

    @Test func `the exit status is the command's`() throws {
        for status in [0, 1, 2, 3, 7, 255] {
            #expect(try run("--", "sh", "-c", "exit \(status)").status == Int32(status))
        }
        #expect(try run("--", "sh", "-c", "kill -KILL $$").status == 137)
        let missing = try run("--", "no-such-program")
        #expect(missing.status == 1 && missing.output.contains("cannot be started (execvp no-such-program"))
        #expect(try run("--", "./no-such-program").status == 1)
        #expect(try run("--").status == 2)
        try expectNothingLeft()
    }

    @Test(arguments: [SIGTERM, SIGHUP]) func `a signal ends the command, and nothing is left`(signal: Int32) throws {
        let (process, _) = try started(["--", "sh", "-c", "touch begun; exec sleep 60"])
        for _ in 0..<500 where !FileManager.default.fileExists(atPath: folder.path + "/begun") { usleep(20_000) }
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 128 + signal)
        try expectNothingLeft()
    }

    /// Starts a run whose command waits, and returns when that has begun.
    private func waitingRun(_ arguments: String...) throws -> (run: Process, command: Int32) {
        let (process, _) = try started(arguments + ["--", "sh", "-c", "echo $$ > id; mv id begun; exec sleep 600"])
        let file = folder.path + "/begun"
        for _ in 0..<3000 where !FileManager.default.fileExists(atPath: file) { usleep(20_000) }
        let id = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        return (process, try #require(Int32(id)))
    }

    /// The processes, but no ended ones, whose arguments name the temporary folder.
    private func daemons() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
            guard Int(name) != nil, let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else {
                return false
            }
            return String(decoding: line, as: UTF8.self).contains(folder.path + "/t/ostiary-test-daemon-")
        }
    }

    private func waitForDaemonsToEnd(_ location: SourceLocation = #_sourceLocation) throws {
        for _ in 0..<3000 {
            if try daemons().isEmpty { return }
            usleep(20_000)
        }
        Issue.record("A daemon goes on.", sourceLocation: location)
    }

    @Test func `the daemon of a killed run ends, and the next run removes what is left`() throws {
        let killed = try waitingRun("--passcode-file", "passcode")
        defer { kill(killed.command, SIGKILL) }
        kill(killed.run.processIdentifier, SIGKILL)
        killed.run.waitUntilExit()
        try waitForDaemonsToEnd()
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/t")
        #expect(left.count == 1 && left.allSatisfy { $0.hasPrefix("ostiary-test-daemon-") })
        #expect(try run("--", "true").status == 0)
        try expectNothingLeft()
    }

    @Test func `a run leaves the folders of runs that last, and whatever else has such a name`() throws {
        let lasting = try waitingRun("--passcode-file", "passcode")
        defer { kill(lasting.command, SIGKILL) }
        let temporary = folder.path + "/t/"
        let own = try FileManager.default.contentsOfDirectory(atPath: temporary)
        // Not its daemon but its lock keeps the folder.
        for daemon in try daemons().compactMap({ Int32($0) }) { kill(daemon, SIGKILL) }
        try write("t/ostiary-test-daemon-a_file", "")
        try FileManager.default.createDirectory(
            atPath: temporary + "ostiary-test-daemon-aempty", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: temporary + "ostiary-test-daemon-a_link", withDestinationPath: folder.path + "/programs")
        try FileManager.default.createDirectory(
            atPath: temporary + "ostiary-test-of-somebody", withIntermediateDirectories: false)
        for path in ["programs/kept", "t/ostiary-test-of-somebody/kept"] { try write(path, "") }
        #expect(try run("--", "true").status == 0)
        let others = [
            "ostiary-test-of-somebody", "ostiary-test-daemon-aempty", "ostiary-test-daemon-a_file",
            "ostiary-test-daemon-a_link",
        ]
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).sorted() == (own + others).sorted())
        for path in ["programs/kept", "t/ostiary-test-of-somebody/kept"] {
            #expect(FileManager.default.fileExists(atPath: folder.path + "/" + path))
        }
        for name in own {
            let contents = try FileManager.default.contentsOfDirectory(atPath: temporary + name)
            #expect(Set(contents).isSuperset(of: ["passcode", "run", "state"]))
        }
        kill(lasting.run.processIdentifier, SIGTERM)
        lasting.run.waitUntilExit()
    }

    @Test func `a daemon that the command of a killed run starts keeps the folder`() throws {
        let killed = try waitingRun()
        defer { kill(killed.command, SIGKILL) }
        kill(killed.run.processIdentifier, SIGKILL)
        killed.run.waitUntilExit()
        try waitForDaemonsToEnd()
        let temporary = folder.path + "/t"
        let left = try #require(try FileManager.default.contentsOfDirectory(atPath: temporary).first)
        let started = try daemon([
            "--runtime-directory", "\(temporary)/\(left)/run/ostiary", "--state-directory",
            "\(temporary)/\(left)/state/ostiary", "--detach",
        ])
        #expect(started.status == 0, "\(started.output)")
        #expect(try run("--", "true").status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [left])
        for daemon in try daemons().compactMap({ Int32($0) }) { kill(daemon, SIGTERM) }
        try waitForDaemonsToEnd()
        #expect(try run("--", "true").status == 0)
        try expectNothingLeft()
    }

    @Test func `without a file no passcode is set, and questions for one are cancelled`() throws {
        let run = try run("--", "sh", "-c", "ostiary status; ostiary passcode set")
        #expect(run.output.contains("not set"))
        #expect(run.status == 3, "\(run.output)")
        try expectNothingLeft()
    }

    @Test func `only the passcode is answered`() throws {
        let run = try run(
            "--passcode-file", "passcode", "--", "ostiary", "right", "create", "a", "--require", "application-password")
        #expect(run.status == 3, "\(run.output)")
    }

    @Test(arguments: ["1234", "", "\n"]) func `a passcode that is none ends the run before the command`(
        passcode: String
    ) throws {
        try write("passcode", passcode)
        let run = try run("--passcode-file", "passcode", "--", "touch", "begun")
        #expect(run.status == 1, "\(run.output)")
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/begun"))
        try expectNothingLeft()
    }

    // MARK: what it refuses

    @Test func `it refuses beside a daemon, and beside a store whose daemon has ended`() throws {
        let daemon = try PrivateDaemon()
        let own = ["XDG_STATE_HOME": daemon.folder.path + "/state", "XDG_RUNTIME_DIR": daemon.folder.path + "/run"]
        let beside = try run("--", "touch", "begun", changes: own)
        #expect(beside.status == 3)
        #expect(beside.output.contains("a daemon answers at \(daemon.runtimeDirectory)/ostiaryd.socket"))
        daemon.kill()
        let after = try run("--", "touch", "begun", changes: own)
        #expect(after.status == 3)
        #expect(after.output.contains("there is a store in \(daemon.stateDirectory)"))
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/begun"))
        try expectNothingLeft()
    }

    /// The output of a daemon with these options, and its end: with status 124 if it serves for two minutes.
    private func daemon(_ options: [String]) throws -> Run {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["120", BuiltProgram.named("ostiaryd").path] + options
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, output, output)
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Run(status: process.terminationStatus, output: String(decoding: text, as: UTF8.self))
    }

    @Test func `no daemon gives groups to a folder's programs over a store that exists`() throws {
        let former = try PrivateDaemon(.withPasscode)
        former.kill()
        let run = try daemon([
            "--runtime-directory", former.runtimeDirectory, "--state-directory", former.stateDirectory,
            "--test-programs", folder.path + "/programs", "--test-group", "com.example.one",
        ])
        #expect(run.status == 1)
        #expect(run.output.contains("ostiaryd: --test-programs is for a new store"), "\(run.output)")
    }

    @Test(arguments: [
        (["--test-programs", "/programs"], "need each other"), (["--test-group", "a"], "need each other"),
        (["--test-programs", "programs", "--test-group", "a"], "'programs' is not an absolute path."),
        (["--test-programs", "/programs", "--test-group", "a", "--detach"], "does not go with --detach"),
    ])
    func `a daemon takes groups and a folder together, and in the foreground`(options: [String], words: String) throws {
        let folders = ["--runtime-directory", folder.path + "/run/o", "--state-directory", folder.path + "/state/o"]
        let run = try daemon(folders + options)
        #expect(run.status == 2 && run.output.contains(words), "\(run.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/state") == [])
    }

    @Test func `it refuses within another test run, and beside a folder that is none`() throws {
        let inner = try run("--", Self.ostiary, "test-daemon", "--", "touch", "begun")
        #expect(inner.status == 3 && inner.output.contains("a daemon answers at"))
        try write("state/ostiary", "")
        let run = try run("--", "touch", "begun")
        #expect(run.status == 3 && run.output.contains("cannot be read"))
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/begun"))
    }
}

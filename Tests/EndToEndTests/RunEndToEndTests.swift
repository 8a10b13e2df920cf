import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// `ostiary run` with a real daemon and real commands. Every wait has a deadline.
@Suite("A command with secrets, end to end", .serialized)
final class RunEndToEndTests {
    /// Nothing but what a command prints on purpose has the letters of the second form.
    private static let marker = "Marker-7f3a9c-of-a-secret"
    private static let rotated = "Znexre-7s3n9p-bs-n-frperg"
    /// Turns one into the other.
    private static let rotate = "tr A-Za-z N-ZA-Mn-za-m"
    private static let ostiary = BuiltProgram.named("ostiary")

    private let daemon: PrivateDaemon

    init() throws { daemon = try PrivateDaemon(.withPasscode) }

    // MARK: items

    /// Adds a password and removes the file that it came from.
    private func add(_ service: String, _ value: String = marker, unguarded: Bool = true) throws {
        if try unattended("status", "--json").contains(#""unlocked" : false"#) { try daemon.unlock() }
        let file = daemon.path("in")
        try Data(value.utf8).write(to: URL(fileURLWithPath: file))
        defer { unlink(file) }
        let rule = unguarded ? ["--unguarded"] : ["--require", "passcode"]
        let run = try BoundedRun(
            Self.ostiary, ["item", "add", "--service", service, "--secret", file] + rule, in: daemon)
        try #require(run.waitForStatus() == 0, "\(run.errors)")
    }

    private func unattended(_ arguments: String...) throws -> String {
        let run = try BoundedRun(Self.ostiary, arguments, in: daemon)
        _ = try run.waitForStatus()
        return run.output
    }

    // MARK: runs

    private func started(_ options: [String], _ script: String, input: String = "", _ changes: [String: String] = [:])
        throws
        -> BoundedRun
    {
        try BoundedRun(
            Self.ostiary, ["run"] + options + ["--", "/bin/sh", "-c", "rot() { \(Self.rotate); }\n" + script],
            input: Data(input.utf8), environment: changes,
            in: daemon)
    }

    private func run(_ options: [String], _ script: String, input: String = "") throws -> (
        status: Int32, output: String, errors: String
    ) {
        let run = try started(options, script, input: input)
        let status = try run.waitForStatus()
        return (status, run.output, run.errors)
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: daemon.path(name)) }

    private func waitFor(_ name: String) throws {
        try BoundedRun.wait("\(name) did not appear") { self.exists(name) }
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: daemon.path(name), encoding: .utf8)
    }

    // MARK: where the secret is, and is not

    @Test func `the secret comes through a pipe, and is no argument, in no environment and on no disk`() throws {
        try add("ci")
        let script = """
            for process in $$ $PPID; do cat /proc/$process/cmdline /proc/$process/environ 2>/dev/null; done
            echo; rot < "$TOKEN"; echo; echo "$TOKEN"
            """
        let run = try run(["--secret", "TOKEN=ci"], script)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains(Self.rotated) && run.output.contains("\n/dev/fd/"))
        #expect(!run.output.contains(Self.marker) && !run.errors.contains(Self.marker))
        try expectMarkerNowhere()
    }

    /// No file of the daemon's folder holds the secret: neither the store, nor the log, nor a temporary file.
    private func expectMarkerNowhere(_ location: SourceLocation = #_sourceLocation) throws {
        let marker = Data(Self.marker.utf8)
        let names = try FileManager.default.subpathsOfDirectory(atPath: daemon.folder.path)
        #expect(names.contains { $0.hasSuffix("audit.log") }, sourceLocation: location)
        for name in names {
            guard let content = FileManager.default.contents(atPath: daemon.path(name)) else { continue }
            #expect(content.range(of: marker) == nil, "\(name)", sourceLocation: location)
        }
    }

    @Test func `what was read is not there a second time`() throws {
        try add("ci")
        let run = try run(["--secret", "TOKEN=ci"], #"rot < "$TOKEN"; echo; cat "$TOKEN" | wc -c"#)
        #expect(run.status == 0 && run.output == "\(Self.rotated)\n0\n", "\(run.output) \(run.errors)")
    }

    @Test func `what outlives the command finds nothing, whether the command has read or not`() throws {
        try add("ci")
        // The child waits for the end of ostiary, which has taken back by then what nobody had read.
        let script = """
            parent=$PPID
            (
                while kill -0 $parent 2>/dev/null; do sleep 0.05; done
                cat "$TOKEN" > late; echo done > finished
            ) </dev/null >/dev/null 2>&1 &
            """
        for reading in ["", #"cat "$TOKEN" > /dev/null"#] {
            let run = try run(["--secret", "TOKEN=ci"], script + "\n" + reading)
            #expect(run.status == 0, "\(run.errors)")
            try waitFor("finished")
            #expect(try text("late").isEmpty)
            unlink(daemon.path("finished"))
        }
    }

    @Test func `a large secret arrives whole`() throws {
        let value = String(repeating: "0123456789abcde\n", count: 4096)
        try add("large", value)
        let run = try run(["--secret", "KEY=large"], #"cat "$KEY""#)
        #expect(run.status == 0 && run.output == value)
    }

    @Test func `two secrets and two names of one item each have a pipe of their own`() throws {
        try add("one", "first")
        try add("two", "second")
        let run = try run(
            ["--secret", "A=one", "--secret", "B=two", "--secret", "C=one"], #"cat "$A" "$B" "$C"; [ "$A" != "$C" ]"#)
        #expect(run.status == 0 && run.output == "firstsecondfirst", "\(run.errors)")
    }

    // MARK: files and variables

    /// Whether the kernel permits a mount of an own here.
    static let mountsArePermitted = succeeds(
        geteuid() == 0 ? ["--mount", "true"] : ["--user", "--map-root-user", "--mount", "true"])

    @Test(.enabled(if: mountsArePermitted, "this kernel permits no mount of an own"))
    func `a file is there for the command alone, is read again and again, and is gone at the end`() throws {
        try add("ci")
        let script = """
            echo "$KEY" > place; stat -c %a "$KEY"; rot < "$KEY"; echo; rot < "$KEY"
            parent=$PPID
            (
                while kill -0 $parent 2>/dev/null; do sleep 0.05; done
                cat "$KEY" > late; echo done > finished
            ) </dev/null >/dev/null 2>&1 &
            echo ready > ready
            for i in $(seq 1200); do [ -e go ] && exit 0; sleep 0.05; done
            """
        let run = try started(["--file", "KEY=ci"], script)
        try waitFor("ready")
        let place = try text("place").trimmingCharacters(in: .newlines)
        #expect(place.hasSuffix("/KEY"))
        let folder = URL(fileURLWithPath: place).deletingLastPathComponent().path
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty, "others see an empty folder")
        #expect(folder.hasPrefix(daemon.path("run/")))
        try Data().write(to: URL(fileURLWithPath: daemon.path("go")))
        #expect(try run.waitForStatus() == 0, "\(run.errors)")
        #expect(run.output == "400\n\(Self.rotated)\n\(Self.rotated)")
        try waitFor("finished")
        #expect(try text("late").isEmpty, "what outlives the command finds an empty file")
        #expect(!FileManager.default.fileExists(atPath: folder))
        try expectMarkerNowhere()
    }

    @Test(.enabled(if: mountsArePermitted, "this kernel permits no mount of an own"))
    func `beside a file, the command keeps its user, its folder and its standard streams`() throws {
        try add("ci")
        let run = try run(["--file", "KEY=ci", "--secret", "A=ci"], #"id -u; pwd; cat; rot < "$A""#, input: "input")
        let folder = try #require(realpath(daemon.folder.path, nil).map { String(cString: $0) })
        #expect(
            run.status == 0 && run.output == "\(geteuid())\n\(folder)\ninput\(Self.rotated)",
            "\(run.output) \(run.errors)")
    }

    /// Arguments of unshare(1): it starts a program without capabilities, where no more user namespaces are permitted.
    private static let withoutNamespaces = [
        "--user", "--map-current-user", "--keep-caps", "/bin/sh", "-c",
        #"echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$@""#, "sh",
    ]

    /// Whether a place without user namespaces can be made here, which takes one.
    static let namespacesCanBeRefused = succeeds(withoutNamespaces + ["/bin/true"])

    private static func succeeds(_ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = arguments
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    @Test(.enabled(if: namespacesCanBeRefused, "this user may make no user namespace, in which others are refused"))
    func `a kernel that refuses the mount is named, and the command does not start`() throws {
        try add("ci")
        let run = try BoundedRun(
            URL(fileURLWithPath: "/usr/bin/unshare"),
            Self.withoutNamespaces + [
                Self.ostiary.path, "run", "--json", "--file", "KEY=ci", "--", "touch", "started",
            ],
            in: daemon)
        let status = try run.waitForStatus()
        #expect(
            status == 1 && run.errors.contains(#""privateMount""#) && run.errors.contains("unshare"), "\(run.errors)")
        #expect(!exists("started"))
    }

    @Test func `in the environment the secret is the variable, and a warning says so`() throws {
        try add("ci")
        let run = try run(
            ["--environment", "TOKEN=ci"],
            #"printf %s "$TOKEN" | rot; tr '\0' '\n' < /proc/$$/environ | grep -c ^TOKEN="#)
        #expect(run.status == 0 && run.output == Self.rotated + "1\n", "\(run.errors)")
        #expect(run.errors.contains("Warning: TOKEN will be in the environment"))
        try add("binary", "a\0b")
        let refused = try self.run(["--environment", "TOKEN=binary"], "touch started")
        #expect(refused.status == 1 && refused.errors.contains("zero byte") && !exists("started"))
    }

    @Test func `a variable that the caller has is replaced, and all others stay`() throws {
        try add("ci")
        let run = try started(
            ["--environment", "TOKEN=ci", "--secret", "OTHER=ci"],
            #"env | grep -c '^TOKEN='; env | grep '^KEPT='; echo "$OTHER""#,
            ["TOKEN": "former", "OTHER": "former", "KEPT": "kept"])
        #expect(try run.waitForStatus() == 0)
        #expect(run.output.hasPrefix("1\nKEPT=kept\n/dev/fd/"), "\(run.output)")
    }

    /// Whether this machine lets processes write cores at all. Where it does not, nothing can be told apart.
    static let coresArePermitted: Bool = {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 && limit.rlim_max > 0
    }()

    @Test(.enabled(if: coresArePermitted, "the limit of cores (ulimit -H -c) is 0 here"))
    func `a core is impossible before the first secret is read, and the command has its own limit`() throws {
        try add("ci", unguarded: false)
        let shell = try TypedTerminal(
            URL(fileURLWithPath: "/bin/sh"),
            [
                "-c",
                """
                ulimit -S -c "$(ulimit -H -c)"; ulimit -S -c > before; echo :$$: > job
                exec '\(Self.ostiary.path)' run --secret A=ci -- sh -c 'ulimit -S -c > after; ulimit -H -c > hard'
                """,
            ], in: daemon)
        try shell.expect("asscode: ")
        let job = try #require(Int32(text("job").split(separator: ":")[0]))
        let limits = try String(contentsOfFile: "/proc/\(job)/limits", encoding: .utf8)
        let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(line.split(separator: " ")[4] == "0", "\(line)")
        shell.type(PrivateDaemon.passcode + "\n")
        try waitFor("hard")
        try BoundedRun.wait("the command does not end") { (try? self.text("hard"))?.isEmpty == false }
        #expect(try text("after") == text("before") && text("hard") == text("before"))
    }

    // MARK: status, signals, streams

    @Test(arguments: [("exit 7", 7), ("exit 0", 0), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
    func `the exit status is the command's`(script: String, status: Int32) throws {
        try add("ci")
        #expect(try run(["--secret", "A=ci"], script).status == status)
    }

    @Test func `what is no program is said`() throws {
        try add("ci")
        try Data("text".utf8).write(to: URL(fileURLWithPath: daemon.path("file")))
        let run = try BoundedRun(Self.ostiary, ["run", "--secret", "A=ci", "--", "./file"], in: daemon)
        #expect(try run.waitForStatus() == 1)
        #expect(run.errors.contains("The command cannot be started (execve: Permission denied)"), "\(run.errors)")
    }

    @Test func `standard streams are the command's`() throws {
        try add("ci")
        let run = try run(["--secret", "A=ci"], "cat; echo problem >&2", input: "some\0input")
        #expect(run.output == "some\0input" && run.errors == "problem\n")
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2])
    func `a signal goes to the command`(signal: CInt) throws {
        try add("ci")
        let script = """
            trap 'echo got; exit 9' \(signal)
            echo $PPID > pid.new; mv pid.new pid
            for i in $(seq 1200); do sleep 0.05; done
            """
        let run = try started(["--secret", "A=ci"], script)
        try waitFor("pid")
        let process = try #require(Int32(text("pid").trimmingCharacters(in: .newlines)))
        #expect(kill(process, signal) == 0)
        #expect(try run.waitForStatus() == 9)
        #expect(run.output == "got\n")
    }

    @Test func `when ostiary itself is killed, the command ends too`() throws {
        try add("ci")
        let script = """
            echo $$ > child; echo $PPID > pid.new; mv pid.new pid
            exec sleep 600
            """
        let run = try started(["--secret", "A=ci"], script)
        try waitFor("pid")
        let (process, child) = try (
            #require(Int32(text("pid").trimmingCharacters(in: .newlines))),
            #require(Int32(text("child").trimmingCharacters(in: .newlines)))
        )
        #expect(kill(process, SIGKILL) == 0)
        _ = try run.waitForStatus()
        try BoundedRun.wait("the command goes on") { kill(child, 0) != 0 || Self.state(of: child) == "Z" }
    }

    /// The letter of proc_pid_stat(5).
    private static func state(of process: Int32) -> String {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return text.range(of: ") ").map { String(text[$0.upperBound...].prefix(1)) } ?? ""
    }

    @Test func `Ctrl-Z stops the job, fg continues it, and Ctrl-C ends it`() throws {
        try add("ci")
        let shell = try TypedTerminal(
            URL(fileURLWithPath: "/bin/bash"), ["--norc", "--noprofile", "-i"], environment: ["PS1": "$ "], in: daemon)
        let script = "echo up:$$: > job; exec sleep 600"
        shell.type("'\(Self.ostiary.path)' run --secret A=ci -- sh -c '\(script)'\n")
        try waitFor("job")
        try BoundedRun.wait("the job does not say its number") { (try? self.text("job"))?.hasSuffix(":\n") == true }
        let job = try #require(Int32(text("job").split(separator: ":")[1]))
        shell.type("\u{1a}")
        try shell.expect("Stopped")
        try BoundedRun.wait("the command goes on") { Self.state(of: job) == "T" }
        shell.type("fg\n")
        try BoundedRun.wait("the command does not go on") { Self.state(of: job) == "S" }
        shell.type("\u{3}")
        try BoundedRun.wait("the command does not end") { kill(job, 0) != 0 }
        shell.type("echo status:$?\n")
        try shell.expect("status:130")
    }

    // MARK: the question

    private func asked(_ arguments: String..., answers: [String]) throws -> PlayedTerminal {
        try PlayedTerminal(Self.ostiary, ["run"] + arguments, answers: answers, in: daemon)
    }

    @Test func `one question names the command and all items`() throws {
        try add("ci", unguarded: false)
        try add("registry", "second", unguarded: false)
        let run = try asked(
            "--secret", "TOKEN=ci", "--secret", "KEY=registry", "--", "/bin/sh", "-c",
            #"cat "$TOKEN" "$KEY" | "# + Self.rotate,
            answers: [PrivateDaemon.passcode])
        #expect(run.status == 0, "\(run.screen)")
        #expect(run.shows("run /bin/sh -c") && run.shows("with TOKEN, KEY") && run.shows("ci") && run.shows("registry"))
        #expect(run.screen.components(separatedBy: "asscode: ").count == 2, "\(run.screen)")
        #expect(run.shows(Self.rotated + "frpbaq"))
    }

    @Test func `a declined question starts nothing`() throws {
        try add("ci", unguarded: false)
        let run = try asked("--secret", "TOKEN=ci", "--", "touch", "started", answers: ["\u{3}"])
        #expect(run.status == 3 && !exists("started"), "\(run.screen)")
    }

    @Test func `absent, ambiguous, locked and refused are four errors, and none starts the command`() throws {
        try add("ci", unguarded: false)
        try add("ci@free")
        let many = try BoundedRun(
            Self.ostiary, ["item", "add", "--service", "ci", "--account", "other", "--unguarded"],
            input: Data("x".utf8), in: daemon)
        try #require(many.waitForStatus() == 0)
        func failure(_ item: String) throws -> (status: Int32, text: String) {
            let run = try BoundedRun(
                Self.ostiary, ["run", "--json", "--secret", "A=\(item)", "--", "touch", "started"], in: daemon)
            return (try run.waitForStatus(), run.errors)
        }
        let absent = try failure("nothing")
        #expect(
            absent.status == 1 && absent.text.contains(#""name":"notFound""#) && !absent.text.contains("nothing@"),
            "\(absent)")
        let ambiguous = try failure("ci")
        #expect(ambiguous.status == 1 && ambiguous.text.contains(#""name":"ambiguousItem""#), "\(ambiguous)")
        let refused = try failure("label=ci@free")
        #expect(refused.status == 1 && refused.text.contains(#""name":"notFound""#))
        _ = try unattended("lock")
        let locked = try failure("service=ci@free")
        #expect(locked.status == 3 && locked.text.contains(#""name":"locked""#), "\(locked)")
        #expect(
            try failure("nothing").text.contains(#""name":"notFound""#),
            "a locked store still knows what it does not hold")
        #expect(!exists("started"))
    }

    @Test func `where nobody can be asked, a rule refuses`() throws {
        try add("ci", unguarded: false)
        let run = try run(["--json", "--secret", "A=ci"], "touch started")
        #expect(
            run.status == 3 && run.errors.contains(#""name":"notInteractive""#) && !exists("started"), "\(run.errors)")
    }
}

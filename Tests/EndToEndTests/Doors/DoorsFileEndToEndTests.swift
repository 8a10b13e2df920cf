import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// The doors as packages and installations have them: one file with several names.
@Suite("The doors' one file, end to end", .serialized, .timeLimit(.minutes(10)))
struct DoorsFileEndToEndTests {
    private let daemon: PrivateDaemon
    /// The file under a name that is no program's.
    private let file: ProgramCopy

    init() throws {
        daemon = try PrivateDaemon()
        file = try ProgramCopy(of: "ostiary-doors", as: "ostiary-doors", in: daemon)
        for (name, _) in Self.programs { try #require(link(file.url.path, daemon.path(name)) == 0) }
    }

    /// Each name, and the words of its help alone.
    private static let programs = [
        ("ostiary-ssh-agent", "USAGE: ostiary-ssh-agent "), ("age-plugin-ostiary", "USAGE: age-plugin-ostiary "),
        ("ostiary-credentials", "USAGE: ostiary-credentials "), ("ostiary-hid", "USAGE: ostiary-hid "),
        ("ostiary-pkcs11d", "USAGE: ostiary-pkcs11d "),
        ("ostiary-credential-helper", "Keeps passwords of git and docker in Ostiary."),
    ]

    private func run(_ program: String, _ arguments: String...) throws -> (status: Int32, run: BoundedRun) {
        let run = try BoundedRun(
            URL(fileURLWithPath: program), arguments, environment: ["PATH": "/usr/bin:/bin"], in: daemon)
        return (try run.waitForStatus(), run)
    }

    /// The only program whose help was printed.
    private func program(thatSaid run: BoundedRun) -> String? {
        let said = Self.programs.filter { run.output.contains($0.1) }
        return said.count == 1 ? said[0].0 : nil
    }

    @Test func `each name of the file is the program of this name`() throws {
        var own = stat()
        try #require(stat(file.url.path, &own) == 0)
        for (name, _) in Self.programs {
            var status = stat()
            try #require(stat(daemon.path(name), &status) == 0)
            #expect(status.st_dev == own.st_dev && status.st_ino == own.st_ino)
            let (end, run) = try run(daemon.path(name), "--help")
            #expect(end == 0 && program(thatSaid: run) == name, "\(name): \(run.output)\(run.errors)")
        }
    }

    @Test(arguments: ["ostiary-hid", "/usr/libexec/ostiary/ostiary-hid", "ostiary-doors", "git-credential-ostiary", ""])
    func `the first argument, which the caller chooses, makes it no other program`(argument: String) throws {
        for name in ["ostiary-ssh-agent", "age-plugin-ostiary"] {
            let (end, run) = try run(
                "/bin/bash", "-c", #"exec -a "$1" "$2" --help"#, "bash", argument, daemon.path(name))
            #expect(end == 0 && program(thatSaid: run) == name, "\(name): \(run.output)\(run.errors)")
        }
    }

    @Test func `a symbolic link of another name is the program that it leads to`() throws {
        try FileManager.default.createDirectory(atPath: daemon.path("bin"), withIntermediateDirectories: false)
        for name in ["ostiary-hid", "git-credential-ostiary", "other"] {
            try FileManager.default.createSymbolicLink(
                atPath: daemon.path("bin/\(name)"), withDestinationPath: "../ostiary-credential-helper")
            let (end, run) = try run(daemon.path("bin/\(name)"), "--help")
            #expect(end == 0 && program(thatSaid: run) == "ostiary-credential-helper", "\(run.output)\(run.errors)")
        }
    }

    @Test(arguments: ["ostiary-doors", "ostiary", "Ostiary-hid", "ostiary-hid.old"])
    func `a file of another name does nothing, and says its names`(name: String) throws {
        if name != "ostiary-doors" { try #require(link(file.url.path, daemon.path(name)) == 0) }
        for arguments in [["--help"], [], ["ostiary-hid", "--help"]] {
            let run = try BoundedRun(URL(fileURLWithPath: daemon.path(name)), arguments, in: daemon)
            #expect(try run.waitForStatus() == 64)
            #expect(run.output.isEmpty)
            #expect(run.errors.hasPrefix("ostiary-doors: The executed file is called “\(name)”, and is no program"))
            for (program, _) in Self.programs { #expect(run.errors.contains(program)) }
        }
    }

    /// It executes its own file once more, for a process in the background.
    @Test func `the agent's process in the background is the agent`() throws {
        let (end, run) = try run(daemon.path("ostiary-ssh-agent"), "--no-store", "ssh-add", "-l")
        #expect(end == 1 && run.output.contains("The agent has no identities."), "\(run.output)\(run.errors)")
    }
}

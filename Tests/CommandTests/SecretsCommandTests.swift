import Foundation
import IndependentTools
import Testing

/// What `ostiary secrets` hands over, without the program that does the work.
@Suite("The command for the keyring")
struct SecretsCommandTests {
    private let folder: CommandFolder

    init() throws { folder = try CommandFolder() }

    /// Runs the command in a folder where a script in the program's place tells what it was given.
    private func run(
        _ arguments: [String], mode: Int = 0o755
    ) throws -> (status: Int32, output: String, errors: String) {
        let script = "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 7\n"
        try ProgramFile.script(script, at: folder.path("ostiary-secrets"), mode: mode)
        try ProgramFile.copy(CommandRun.program.get(), to: folder.path("ostiary"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: folder.path("ostiary"))
        process.arguments = ["secrets"] + arguments
        let (output, errors) = (try folder.emptyFile("stdout"), try folder.emptyFile("stderr"))
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        return (
            process.terminationStatus, try String(contentsOf: output, encoding: .utf8),
            try String(contentsOf: errors, encoding: .utf8)
        )
    }

    @Test(arguments: [
        (["enable"], "<enable>"), (["enable", "--portal", "--json"], "<enable><--portal><--json>"),
        (["disable"], "<disable>"), (["status", "--json"], "<status><--json>"), (["list"], "<list>"),
        (["list", "a=1", "b=2"], "<list><--><a=1><b=2>"), (["list", "--", "--json"], "<list><--><--json>"),
        (["import"], "<import>"),
        (
            ["import", "--from", ":1.5", "--from-bus", "unix:path=/b", "--reason", "so"],
            "<import><--from=:1.5><--from-bus=unix:path=/b><--reason=so>"
        ),
        (["rule", "a=1", "--require", "none"], "<rule><--require=none><--><a=1>"),
        (
            ["rule", "a=-1", "--require", "passcode", "--only", "/bin/a b", "--only", "org.b", "--collection", "Bank"],
            "<rule><--require=passcode><--collection=Bank><--only=/bin/a b><--only=org.b><--><a=-1>"
        ),
        (
            ["rule", "--default", "--require", "passcode at trusted place", "--any-program"],
            "<rule><--require=passcode at trusted place><--any-program><--default>"
        ),
    ])
    func `becomes the program that serves the bus, with its status`(arguments: [String], given: String) throws {
        let run = try run(arguments)
        #expect(run.output == given)
        #expect(run.status == 7)
        #expect(run.errors == "")
    }

    @Test(arguments: [
        ["enable", "now"], ["disable", "--portal"], ["status", "a=1"], ["import", "gnome-keyring"],
        ["rule", "a=1"], ["rule", "--require", "passcode"], ["rule", "a=1", "--require", "passcod"],
        ["rule", "a=1", "--require", "none", "--only", "/bin/a"],
        ["rule", "a=1", "--require", "unrestricted", "--only", "/bin/a"],
        ["rule", "a=1", "--require", "passcode", "--only", "/bin/a", "--any-program"],
        ["rule", "a=1", "--default", "--require", "passcode"], ["list", "--protected"],
        ["import", "--reason", " "],
    ])
    func `wrong usage starts nothing`(arguments: [String]) throws {
        let run = try run(arguments)
        #expect(run.status == 2)
        #expect(run.output == "")
        #expect(run.errors.hasPrefix("Error: "))
    }

    @Test(arguments: [0o775, 0o757]) func `a program that others can change is not started`(mode: Int) throws {
        let run = try run(["status"], mode: mode)
        #expect(run.status == 1)
        #expect(run.output == "")
        #expect(run.errors.contains("Other users can change \(folder.path("ostiary-secrets"))"))
    }

    @Test func `a missing program is said to be missing`() throws {
        let run = try CommandRun(["secrets", "status", "--json"], in: folder)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        let beginning = #"{"error":{"code":-1,"message":"ostiary-secrets is not installed (looked for /usr/"#
        #expect(run.errors.hasPrefix(beginning))
        #expect(run.errors.contains("Install the package that has it: ostiary-doors"))
    }
}

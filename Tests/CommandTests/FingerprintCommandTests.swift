import Foundation
import IndependentTools
import Testing

/// What `ostiary fingerprint` hands over, without the program that uses the reader.
@Suite("The command for fingers")
struct FingerprintCommandTests {
    private let folder: CommandFolder

    init() throws { folder = try CommandFolder() }

    /// Runs the command in a folder where a script in the program's place tells what it was given.
    private func run(
        _ arguments: [String], mode: Int = 0o755
    ) throws -> (status: Int32, output: String, errors: String) {
        let script = "#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 7\n"
        try ProgramFile.script(script, at: folder.path("ostiary-fingerprint"), mode: mode)
        try ProgramFile.copy(CommandRun.program.get(), to: folder.path("ostiary"))
        let process = Process()
        // In a session of its own, where nobody can be asked.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["--wait", folder.path("ostiary"), "fingerprint"] + arguments
        let (output, errors) = (try folder.emptyFile("stdout"), try folder.emptyFile("stderr"))
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = try FileHandle(forWritingTo: errors)
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        return (
            process.terminationStatus, try String(contentsOf: output, encoding: .utf8),
            try String(contentsOf: errors, encoding: .utf8)
        )
    }

    @Test(arguments: [
        (["enroll"], "<enroll><-->"), (["enroll", "left-thumb"], "<enroll><--><left-thumb>"),
        (["enroll", "--replace", "left-thumb", "--json"], "<enroll><--replace><--json><--><left-thumb>"),
        (["enroll", "--", "--all"], "<enroll><--><--all>"), (["list"], "<list><-->"),
        (["list", "--json"], "<list><--json><-->"), (["delete", "left-thumb", "--force"], "<delete><--><left-thumb>"),
        (["delete", "--all", "--force"], "<delete><--all><-->"), (["verify"], "<verify><-->"),
        (["verify", "right-thumb"], "<verify><--><right-thumb>"),
    ])
    func `becomes the program that uses the reader, with its status`(arguments: [String], given: String) throws {
        let run = try run(arguments)
        #expect(run.output == given)
        #expect(run.status == 7)
        #expect(run.errors == "")
    }

    @Test(arguments: [
        ["delete"], ["delete", "--all", "left-thumb"], ["list", "left-thumb"], ["verify", "a", "b"],
        ["enroll", "--all"], ["verify", "--replace"],
    ])
    func `wrong usage starts nothing`(arguments: [String]) throws {
        let run = try run(arguments)
        #expect(run.status == 2)
        #expect(run.output == "")
        #expect(run.errors.hasPrefix("Error: "))
    }

    @Test(arguments: [
        (["left-thumb"], "This deletes the finger “left-thumb”."), (["--all"], "This deletes all your fingers."),
    ])
    func `nothing is deleted where nobody can be asked`(arguments: [String], loss: String) throws {
        let run = try run(["delete"] + arguments)
        #expect(run.status == 3)
        #expect(run.output == "")
        let rest = " Nobody can be asked, so nothing was done. Give --force to do it without a question.\n"
        #expect(run.errors == "ostiary: " + loss + rest)
    }

    @Test(arguments: [0o775, 0o757]) func `a program that others can change is not started`(mode: Int) throws {
        let run = try run(["list"], mode: mode)
        #expect(run.status == 1)
        #expect(run.output == "")
        #expect(run.errors.contains("Other users can change \(folder.path("ostiary-fingerprint"))"))
    }

    @Test func `a missing program is said to be missing`() throws {
        let run = try CommandRun(["fingerprint", "list", "--json"], in: folder)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        let beginning = #"{"error":{"code":-1,"message":"ostiary-fingerprint is not installed (looked for /usr/"#
        #expect(run.errors.hasPrefix(beginning))
    }
}

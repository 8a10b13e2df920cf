import Foundation
import Glibc
import UnixSocket

/// All measurements in one placement, with processes and folders of their own.
struct Pass {
    let placement: Placement
    let plan: Plan
    let daemonProgram: String

    private static let passcode = "a passcode of the benchmark"
    private static let ownProgram = "/proc/self/exe"

    func run() throws -> Figures {
        try placement.apply()
        let folder = try TemporaryFolder()
        let daemon = try PrivateDaemon(program: daemonProgram, in: folder.path)
        try daemon.start()  // The first start makes the store and is not counted.
        try daemon.stop()
        var figures = try measureStarts(of: daemon, as: .coldStart, .idleMemory)
        try daemon.start()
        figures.merge(try measureSubject(daemon, folder.path)) { $1 }
        figures[.idleMemoryAfterRun] = Figure([try daemon.residentMegabytes()], unit: .megabytes)
        try daemon.stop()
        figures.merge(try measureStarts(of: daemon, as: .coldStartAfterRun, nil)) { $1 }
        return figures
    }

    private func measureStarts(
        of daemon: PrivateDaemon, as start: FigureName, _ memory: FigureName?
    ) throws -> Figures {
        var (starts, megabytes): (Samples, [Double]) = (Samples(), [])
        for _ in 0..<plan.starts {
            try starts.time { try daemon.start() }
            megabytes.append(try daemon.residentMegabytes())
            try daemon.stop()
        }
        var figures: Figures = [start: starts.figure(.milliseconds)]
        if let memory { figures[memory] = Figure(megabytes, unit: .megabytes) }
        return figures
    }

    private func measureSubject(_ daemon: PrivateDaemon, _ folder: String) throws -> Figures {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: Self.ownProgram)
        let echoSocket = folder + "/echo"
        let echo = try ChildProcess(program, ["echo", echoSocket])
        try Listening.wait(at: echoSocket)
        let agent = try SSHAgent(in: folder)
        let terminal = try PseudoTerminal()
        terminal.answerPasscodeQuestions(with: Self.passcode)
        let output = Pipe()
        let subject = try ChildProcess(
            program,
            [
                "subject", "--terminal", terminal.path, "--runtime-directory", daemon.runtimeDirectory,
                "--state-directory", daemon.stateDirectory, "--echo-socket", echoSocket, "--agent-socket",
                agent.socketPath, "--agent-key", agent.publicKeyPath,
            ] + (plan == .quick ? ["--quick"] : []),
            streams: .init(output: output.fileHandleForWriting.fileDescriptor), ownsSession: true)
        try output.fileHandleForWriting.close()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        try subject.waitForSuccess()
        withExtendedLifetime(echo) {}
        return try JSONDecoder().decode(Figures.self, from: answer)
    }
}

/// A folder that only this user may enter; removed when let go.
final class TemporaryFolder {
    let path: String

    /// Below `/tmp`, because a socket's path may have 107 bytes.
    init() throws {
        var template = Array("/tmp/ostiary-benchmark-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemCallError("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // What stays behind is the system's to clear.
}

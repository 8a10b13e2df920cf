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

    func run(_ stages: [Stage]) throws -> Figures {
        try placement.apply()
        var figures: Figures = [:]
        if stages.contains(.calls) { figures = try measureCalls() }
        if stages.contains(.desktop) {
            figures.merge(try DesktopStage(plan: plan, daemonProgram: daemonProgram).run()) { $1 }
            figures.merge(try FingerStage(plan: plan, daemonProgram: daemonProgram).run()) { $1 }
        }
        return figures
    }

    private func measureCalls() throws -> Figures {
        let folder = try TemporaryFolder()
        let daemon = try PrivateDaemon(program: daemonProgram, in: DaemonFolders(path: folder.path))
        try daemon.start()  // The first start makes the store and is not counted.
        try daemon.stop()
        var figures = try measureStarts(of: daemon, as: .coldStart, .idleMemory)
        try daemon.start()
        figures.merge(try measureSubject(folder.path)) { $1 }
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

    /// - Parameter folder: of the daemon that runs.
    private func measureSubject(_ folder: String) throws -> Figures {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: Self.ownProgram)
        let (echoSocket, signingSocket) = (folder + "/echo", folder + "/signing")
        let servers = try [
            ChildProcess(program, ["echo", echoSocket]), ChildProcess(program, ["echo", signingSocket, "--signs"]),
        ]
        for socket in [echoSocket, signingSocket] { try Listening.wait(at: socket) }
        let agent = try SSHAgent(in: folder)
        let keyring = try GnomeKeyring(in: folder)
        let memory = try TemporaryFolder(below: "/dev/shm")
        let adding = folder + "/adding"
        guard mkdir(adding, 0o700) == 0 else { throw SystemCallError("mkdir", subject: adding) }
        let daemons = try [memory.path, adding].map {
            try PrivateDaemon(program: daemonProgram, in: DaemonFolders(path: $0))
        }
        for daemon in daemons { try daemon.start() }
        let terminal = try PseudoTerminal()
        terminal.answerPasscodeQuestions(with: Self.passcode)
        let output = Pipe()
        let subject = try ChildProcess(
            program,
            [
                "subject", "--terminal", terminal.path, "--folder", folder, "--items-folder", memory.path,
                "--adding-folder", adding, "--echo-socket", echoSocket, "--signing-socket", signingSocket,
                "--agent-socket", agent.socketPath, "--agent-key", agent.publicKeyPath,
            ] + (plan == .quick ? ["--quick"] : []),
            environment: ["DBUS_SESSION_BUS_ADDRESS=" + keyring.bus.address],
            streams: .init(output: output.fileHandleForWriting.fileDescriptor), ownsSession: true)
        try output.fileHandleForWriting.close()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        try subject.waitForSuccess()
        for daemon in daemons { try daemon.stop() }
        var figures = try JSONDecoder().decode(Figures.self, from: answer)
        figures.merge(try measureFirstRequests(of: daemons[0], memory.path)) { $1 }
        withExtendedLifetime((servers, keyring, memory)) {}
        return figures
    }

    /// - Parameter folder: of the daemon with many items, which is stopped.
    private func measureFirstRequests(of daemon: PrivateDaemon, _ folder: String) throws -> Figures {
        try daemon.start()
        let output = Pipe()
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: Self.ownProgram)
        let asker = try ChildProcess(
            program, ["first-requests", "--folder", folder],
            streams: .init(output: output.fileHandleForWriting.fileDescriptor))
        try output.fileHandleForWriting.close()
        let answer = try output.fileHandleForReading.readToEnd() ?? Data()
        try asker.waitForSuccess()
        try daemon.stop()
        return try JSONDecoder().decode(Figures.self, from: answer)
    }
}

/// A folder that only this user may enter; removed when let go.
final class TemporaryFolder {
    let path: String

    /// Directly below a short path, because a socket's may have 107 bytes.
    init(below parent: String = "/tmp") throws {
        // The template of mkdtemp(3).
        var template = Array("\(parent)/ostiary-benchmark-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemCallError("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // What stays behind is the system's to clear.
}

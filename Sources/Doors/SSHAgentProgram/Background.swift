import DoorSupport
import Foundation
import Glibc
import SSHAgent
import UnixSocket

/// Starts this program once more, in the background, with a socket that this process has made.
///
/// Swift's threads do not survive a fork, so another process is started instead of forking this one.
struct Background {
    private let program: Program

    init(_ program: Program) { self.program = program }

    /// Starts the agent, and prints where it is.
    func start(telling lines: ShellLines) throws {
        let place = try AgentPlace.listen(at: program.address)
        let process = try spawn(place, endsWithParent: false)
        try lines.tell(place.path, process: process)
    }

    /// Becomes the command, beside an agent that ends with it.
    func run(_ command: [String]) throws {
        let place = try AgentPlace.listen(at: program.address)
        let process = try spawn(place, endsWithParent: true)
        unsafe setenv("SSH_AUTH_SOCK", place.path, 1)
        unsafe setenv("SSH_AGENT_PID", "\(process)", 1)
        unsafe CStrings.withPointers(command) { arguments in _ = unsafe execvp(command[0], arguments) }
        let error = SystemCallError("execvp", subject: command[0])
        kill(process, SIGTERM)
        throw AgentFailure.notStarted("The command cannot be started (\(error)). The agent was ended again.")
    }

    private func spawn(_ place: AgentPlace, endsWithParent: Bool) throws -> pid_t {
        guard case .own(let socket, let path, let folder) = place else {
            throw AgentFailure.notStarted("There is no socket to serve.")
        }
        var arguments = [DoorProgram.sshAgent.name, "--serve-inherited", path]
        if let folder { arguments += ["--folder", folder] }
        if endsWithParent { arguments.append("--end-with-parent") }
        if let lifetime = program.lifetime { arguments += ["-t", "\(lifetime)"] }
        if let upstream = program.upstream { arguments += ["--upstream", upstream] }
        if program.noStore { arguments.append("--no-store") }
        for path in program.knownHostsPaths { arguments += ["--known-hosts", path] }
        let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
        do throws(SystemCallError) {
            // Never by a path that somebody else can change.
            return try ProgramStart.spawn(
                program: "/proc/self/exe", arguments: arguments, environment: environment,
                descriptors: [-1, -1, -1, socket.number], leadsSession: true)
        } catch {
            place.remove()
            throw AgentFailure.notStarted("The agent cannot be started (\(error)).")
        }
    }
}

/// Where an agent listens.
enum AgentPlace {
    /// The socket of the door: the service manager's, or the one in the runtime folder.
    case ofDoor
    /// A socket that this process has made. `folder` was made for it.
    case own(UnixSocket, path: String, folder: String?)
    /// The socket of the process that started this one, as descriptor 3.
    case inherited(path: String, folder: String?)

    /// Makes a socket.
    ///
    /// - Parameter path: where nothing is yet; nil for a new folder in the folder of temporary files, as ssh-agent makes it.
    static func listen(at path: String?) throws -> AgentPlace {
        do {
            if let path { return .own(try UnixSocket.listen(at: path), path: path, folder: nil) }
            let folder = try makeFolder()
            let made = "\(folder)/agent.\(getpid())"
            return .own(try UnixSocket.listen(at: made), path: made, folder: folder)
        } catch let error as SystemCallError {
            throw AgentFailure.notStarted(
                "The agent cannot listen (\(error)). If an agent has ended without removing its socket, remove it.")
        }
    }

    private static func makeFolder() throws -> String {
        let parent = ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array("\(parent)/ssh-XXXXXXXXXXXX\0".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemCallError("mkdtemp", subject: parent) }
        return String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    var path: String {
        switch self {
        case .ofDoor: ""
        case .own(_, let path, _), .inherited(let path, _): path
        }
    }

    /// Removes the socket and the folder that was made for it. Not of the door's: its listener does that.
    func remove() {
        switch self {
        case .ofDoor: return
        case .own(_, let path, let folder), .inherited(let path, let folder):
            unsafe unlink(path)
            if let folder { unsafe rmdir(folder) }
        }
    }
}

/// The commands for a shell that name an agent, as ssh-agent prints them.
struct ShellLines {
    let isCShell: Bool

    func tell(_ path: String, process: pid_t) throws {
        let lines =
            isCShell
            ? ["setenv SSH_AUTH_SOCK \(path);", "setenv SSH_AGENT_PID \(process);"]
            : ["SSH_AUTH_SOCK=\(path); export SSH_AUTH_SOCK;", "SSH_AGENT_PID=\(process); export SSH_AGENT_PID;"]
        try write(lines + ["echo Agent pid \(process);"])
    }

    /// Ends the agent of the environment.
    func endAgent() throws {
        guard let text = ProcessInfo.processInfo.environment["SSH_AGENT_PID"], let process = pid_t(text), process > 1
        else {
            throw AgentFailure.noAgent("SSH_AGENT_PID names no process, so no agent was ended.")
        }
        guard kill(process, SIGTERM) == 0 else {
            throw AgentFailure.noAgent("The agent \(process) cannot be ended (\(SystemCallError("kill"))).")
        }
        let unset = isCShell ? "unsetenv" : "unset"
        try write(["\(unset) SSH_AUTH_SOCK;", "\(unset) SSH_AGENT_PID;", "echo Agent pid \(process) killed;"])
    }

    private func write(_ lines: [String]) throws {
        let text = lines.map { $0 + "\n" }.joined()
        guard unsafe Glibc.write(STDOUT_FILENO, text, text.utf8.count) == text.utf8.count else {
            throw AgentFailure.notStarted("Standard output takes nothing (\(SystemCallError("write"))).")
        }
    }
}

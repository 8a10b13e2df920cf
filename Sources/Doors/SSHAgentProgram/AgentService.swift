import CLinuxShims
import DetachedThreads
import DoorSupport
import Foundation
import Glibc
import SSHAgent
import UnixSocket

/// An agent in this process: its listener, its signals, and its end.
struct AgentService {
    private let place: AgentPlace
    private let options: AgentServer.Options
    private let core: AgentCore
    private let endsWithParent: Bool

    /// - Parameter isQuiet: whether nobody reads standard error.
    init(
        _ place: AgentPlace, _ options: AgentServer.Options, knownHosts files: KnownHostsFiles, lifetime: UInt32?,
        isQuiet: Bool, endsWithParent: Bool
    ) {
        (self.place, self.options, self.endsWithParent) = (place, options, endsWithParent)
        core = AgentCore(
            lifetime: lifetime, hostName: { files.name(of: $0) },
            time: { UInt64(max(0, Glibc.time(nil))) },
            note: { text in if !isQuiet { DoorReport.note(text, program: DoorProgram.sshAgent.name) } })
    }

    /// Serves until a signal or the end of the parent ends the agent.
    func run() throws {
        // SIGUSR1 takes away the keys of ssh-add.
        let signals = try DoorSignals(and: SIGUSR1)
        let listener = try openListener()
        if let upstream = options.upstream { try Self.require(upstream, isNot: listener.path) }
        let core = core
        let place = place
        let finish: @Sendable (CInt) -> Never = { status in
            core.added.removeAll()
            listener.stop()
            place.remove()
            exit(status)
        }
        guard
            DetachedThread.start({
                signals.waitForEnd { core.added.removeAll() }
                finish(EXIT_SUCCESS)
            }), !endsWithParent || Self.watchParent({ finish(2) })
        else {
            place.remove()
            throw AgentFailure.notStarted("The system gives no thread.")
        }
        let server = AgentServer(core, options)
        try listener.serve { server.serve($0) }
    }

    private func openListener() throws -> DoorListener {
        switch place {
        case .ofDoor: break
        case .own(let socket, _, _):
            guard dup2(socket.number, 3) == 3 || socket.number == 3 else { throw AgentFailure.notStarted("dup2") }
            announceInherited()
        case .inherited: announceInherited()
        }
        return try DoorListener.open("ssh-agent")
    }

    /// A socket of this agent's own is served as the service manager's is: it is descriptor 3, and outlives no process that it should not.
    private func announceInherited() {
        unsafe setenv("LISTEN_PID", "\(getpid())", 1)
        unsafe setenv("LISTEN_FDS", "1", 1)
    }

    /// An agent that asks itself would wait for itself.
    private static func require(_ upstream: String, isNot own: String) throws {
        var (other, mine) = (stat(), stat())
        guard unsafe stat(upstream, &other) == 0, unsafe stat(own, &mine) == 0 else { return }
        guard other.st_dev != mine.st_dev || other.st_ino != mine.st_ino else {
            throw AgentFailure.usage("--upstream names this agent's own socket. Name the socket of another agent.")
        }
    }

    private static func watchParent(_ ended: @escaping @Sendable () -> Void) -> Bool {
        let number = ostiary_open_process(getppid())
        guard number >= 0 else { return false }
        let parent = SharedDescriptor(Descriptor(owning: number))
        return DetachedThread.start {
            var watched = pollfd(fd: parent.number, events: Int16(POLLIN), revents: 0)
            while unsafe poll(&watched, 1, -1) < 0, errno == EINTR {}
            ended()
        }
    }
}

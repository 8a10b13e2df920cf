import CLinuxShims
package import ExactNames
import Foundation
import Glibc
import OstiaryMessages
package import Prompting
package import Refusals
import Synchronization
package import UnixSocket

/// Why the program at the other end of a connection cannot be identified, or is no longer the same.
package enum CallerError: Error, Equatable, Sendable {
    /// Another user than the daemon's.
    case foreignUser(UInt32)
    /// The process that connected has exited, or its pid belongs to another process by now.
    case gone
    /// The daemon may not see which program the process runs, or cannot read the program's file to compare it.
    case unreadable
    /// The process runs another program than when it connected, or the program's file is no longer the registered one.
    case changed
    /// The program's file changes each time that it is read to compare it.
    case changing
}

/// The process at the other end of a connection, as the kernel sees it; never as it describes itself.
///
/// The snapshot is taken when the connection is accepted and compared with the process at each release
/// (``verifyUnchanged()``): a process that connects, queues a request and then executes a trusted program would otherwise
/// let its child collect the answer under that program's name.
package final class CallerProcess: Sendable {
    /// Pid and uid that each received byte must have been written by (SCM_CREDENTIALS).
    package let credentials: PeerCredentials
    package let program: CallerProgram
    // A handle of /proc/PID belongs to this very process: after its death it answers ESRCH, even when the pid is reused.
    private let directory: SharedDescriptor
    private let executable: ExecutableIdentity
    private let applications: ApplicationRegistry
    /// Whether the identity was one that counts: from then on any other is a change.
    private let wasAsRegistered = Atomic(false)
    /// The identity, and the number of the registry's state that it was computed from.
    private let known = Mutex<(identity: CallerIdentity, generation: UInt64)?>(nil)

    /// Identifies the process that connected `socket`.
    ///
    /// - Parameter owner: the id of `expectedUser` in the store.
    package init(
        connectedTo socket: UnixSocket, expectedUser: UInt32, owner: OwnerID, applications: ApplicationRegistry
    ) throws {
        self.applications = applications
        credentials = try socket.peerCredentials()
        guard credentials.userID == expectedUser else { throw CallerError.foreignUser(credentials.userID) }
        guard credentials.processID > 0 else { throw CallerError.gone }
        let path = "/proc/\(credentials.processID)"
        directory = SharedDescriptor(
            try unsafe Descriptor(ostiary_open_directory_handle(path), from: "open", subject: path))
        executable = try ExecutableIdentity(of: directory)
        // The handle was opened by number. The pidfd was made by the kernel at connect: while it is alive the number
        // cannot have been given to another process, so the handle is the connector's. Kernels before 6.5 have no such
        // pidfd; there the daemon relies on the messages' credentials.
        if let pidfd = socket.peerProcessDescriptor(), !Self.isAlive(pidfd) { throw CallerError.gone }
        // The owner of a pid namespace may write any of its processes into the credentials of a message
        // (scm_check_creds), so the named process may not be the sender. In our own namespace this needs root's rights.
        program =
            PIDNamespace.isOwn(directory)
            ? CallerProgram(processID: credentials.processID, executable: executable, owner: owner)
            : CallerProgram(inOtherNamespace: credentials.processID, owner: owner)
    }

    /// The program's identity by the present registrations.
    package var identity: CallerIdentity {
        let generation = applications.generation
        if let known = known.withLock({ $0 }), known.generation == generation { return known.identity }
        let identity = applications.identity(of: program, process: directory)
        // The digest is of the file that the process executed at that moment. If that was not the program that
        // connected, another program's content would vouch for this program's path.
        guard identity.content == nil || (try? ExecutableIdentity(of: directory)) == executable else {
            return CallerIdentity(program, standing: .changed)
        }
        // An identity that could not be determined is determined again at the next request.
        guard ![.unreadable, .changing, .listUnreadable].contains(identity.standing) else { return identity }
        if identity.standing == .asRegistered { wasAsRegistered.store(true, ordering: .sequentiallyConsistent) }
        known.withLock { $0 = (identity, generation) }
        return identity
    }

    /// The name that the caller's rights are filed under.
    package var application: ExactName { identity.application }

    /// The groups of items and keys that the caller sees, in order; new ones go into the first. Never empty.
    package var accessGroups: [ExactName] { identity.accessGroups }

    /// How far the identity can be trusted.
    package var label: String { CallerProgram.label }

    /// Throws unless the process is alive and runs the file that it ran at connect. If the program is known by its
    /// digest, the file must also be unchanged. One system call, or two.
    ///
    /// A program that never was as registered passes here: each request that needs its name was refused before anything was done.
    package func verifyUnchanged() throws(CallerError) {
        guard try ExecutableIdentity(of: directory) == executable else { throw .changed }
        let identity = identity
        let isKnown = identity.standing == .asRegistered
        guard isKnown || wasAsRegistered.load(ordering: .sequentiallyConsistent) else { return }
        switch isKnown ? applications.standing(of: identity, process: directory) : identity.standing {
        case .asRegistered: return
        case .changed, .lost: throw .changed
        case .unreadable, .listUnreadable: throw .unreadable
        case .changing: throw .changing
        }
    }

    /// The caller as prompts need it.
    package func promptCaller(terminal: SharedDescriptor?) throws(Refusal) -> PromptCaller {
        let process = ProcessHandle(directory: directory)
        guard process.status != nil else {
            throw Refusal(.callerChanged, "The calling process is gone.", cause: "caller.gone")
        }
        return PromptCaller(
            processID: credentials.processID, process: process, userID: credentials.userID, owner: program.owner,
            program: program.displayName, application: identity.applicationID?.text, terminal: terminal)
    }

    /// A descriptor that becomes readable when the process ends; nil when there is none to be had any more.
    package func makeExitDescriptor(of socket: UnixSocket) -> SharedDescriptor? {
        if let pidfd = socket.peerProcessDescriptor() { return pidfd }
        let number = ostiary_open_process(credentials.processID)
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }

    private static func isAlive(_ pidfd: SharedDescriptor) -> Bool {
        var exit = pollfd(fd: pidfd.number, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&exit, 1, 0) == 0
    }
}

/// Which file a process executes: device and inode, which stay the same while it runs.
struct ExecutableIdentity: Equatable, Sendable {
    let device: UInt64
    let inode: UInt64
    let isDeleted: Bool

    init(of process: SharedDescriptor) throws(CallerError) {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify(process.number, "exe", &identity) == 0 else {
            throw errno == EACCES || errno == EPERM ? .unreadable : .gone
        }
        self.init(identity)
    }

    /// The file that `path` leads to now; nil when it cannot be read.
    init?(path: String) {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify(AT_FDCWD, path, &identity) == 0 else { return nil }
        self.init(identity)
    }

    private init(_ identity: ostiary_file_identity) {
        device = identity.device
        inode = identity.inode
        isDeleted = identity.link_count == 0
    }

    /// Deleting a running program's file does not make it another program.
    static func == (left: ExecutableIdentity, right: ExecutableIdentity) -> Bool {
        left.device == right.device && left.inode == right.inode
    }
}

/// The pid namespace of a process, which it keeps for life.
struct PIDNamespace: Equatable {
    private let device, inode: UInt64

    /// Whether the process is in the daemon's own namespace. A namespace that cannot be read counts as another one.
    static func isOwn(_ process: SharedDescriptor) -> Bool {
        guard let own, let other = PIDNamespace(of: process) else { return false }
        return own == other
    }

    private static let own: PIDNamespace? = {
        guard let directory = try? unsafe Descriptor(ostiary_open_directory_handle("/proc/self"), from: "open") else {
            return nil
        }
        return PIDNamespace(of: SharedDescriptor(directory))
    }()

    private init?(of process: SharedDescriptor) {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify(process.number, "ns/pid", &identity) == 0 else { return nil }
        (device, inode) = (identity.device, identity.inode)
    }
}

package import ExactNames
import OstiaryMessages
package import ProcessFacts
package import PromptProtocol
package import Prompting
package import Refusals
import Synchronization
package import UnixSocket

/// Why the program at the other end of a connection cannot be identified, or is no longer the same.
package enum CallerError: Error, Equatable, Sendable {
    /// Another user than the one whom the daemon serves.
    case foreignUser(UInt32)
    /// The process that connected has exited, or its pid belongs to another process by now.
    case gone
    /// The kernel's facts about the process, or its program's file, cannot be read.
    case unreadable
    /// The process is alive, and the kernel does not let the daemon look at it.
    case refused
    /// The process runs another program than when it connected, or the program's file is no longer the registered one.
    case changed
    /// The program's file changes each time that it is read to compare it.
    case changing

    init(_ failure: FactFailure) {
        switch failure {
        case .absent: self = .gone
        case .unreadable: self = .unreadable
        case .refused: self = .refused
        }
    }

    /// Whether the program that connected is plainly there no more. Otherwise nobody knows, and may know at the next request.
    package var isLasting: Bool {
        switch self {
        case .gone, .changed, .foreignUser: true
        case .unreadable, .refused, .changing: false
        }
    }
}

/// The process at the other end of a connection, as the kernel sees it; never as it describes itself.
///
/// The snapshot is taken when the connection is accepted and compared with the process at each release
/// (``verifyUnchanged()``): a process that connects, queues a request and then executes a trusted program would otherwise
/// let its child collect the answer under that program's name.
package final class CallerProcess: Sendable {
    /// Pid and uid that each received byte must have been written by (SCM_CREDENTIALS).
    package let credentials: PeerCredentials
    private let named: CallerProgram
    private let place: CallerPlace?
    private let process: any HeldProcess
    private let executable: ExecutedFile
    private let applications: ApplicationRegistry
    private let facts: any CallerFacts
    /// The program's file, as it passed it.
    private let offered = Mutex<OfferedProgram?>(nil)
    /// Whether the identity was one that counts: from then on any other is a change.
    private let wasAsRegistered = Atomic(false)
    /// The identity, and the number of the registry's state that it was computed from.
    private let known = Mutex<(identity: CallerIdentity, generation: UInt64)?>(nil)

    /// Identifies the process that connected `socket`.
    ///
    /// - Parameters:
    ///   - owner: the owner for whom the program is served.
    ///   - applications: the owner's.
    ///   - facts: reads the machine's facts about callers.
    package convenience init(
        connectedTo socket: UnixSocket, owner: OwnerID, applications: ApplicationRegistry,
        facts: any CallerFacts
    ) throws {
        // The kernel made the pidfd at connect. Kernels before 6.5 have none; there the daemon relies on the messages'
        // credentials.
        try self.init(
            socket.peerCredentials(), socket.peerProcessDescriptor(), owner: owner, applications: applications,
            facts: facts)
    }

    /// Identifies the client that a door named. The kernel identifies the process. The door alone vouches that a request is the client's.
    ///
    /// - Parameters:
    ///   - door: the program that makes requests for it.
    ///   - facts: what the machine says about callers.
    package convenience init(
        _ client: NamedClient, through door: CallerProgram, owner: OwnerID, applications: ApplicationRegistry,
        facts: any CallerFacts
    ) throws {
        try self.init(
            client.credentials, client.process, owner: owner, applications: applications, through: door.displayName,
            facts: facts)
    }

    /// - Parameter pidfd: of the process with these credentials; nil where the kernel makes none.
    private init(
        _ credentials: PeerCredentials, _ pidfd: SharedDescriptor?, owner: OwnerID, applications: ApplicationRegistry,
        through door: ExactName? = nil, facts: any CallerFacts
    ) throws {
        self.applications = applications
        self.credentials = credentials
        self.facts = facts
        do throws(FactFailure) {
            process = try facts.hold(credentials.processID, pidfd, of: credentials.userID)
            executable = try process.executable()
        } catch { throw CallerError(error) }
        // The owner of a pid namespace may write any of its processes into the credentials of a message
        // (scm_check_creds), so the named process may not be the sender. In our own namespace this needs root's rights.
        // A namespace that cannot be read counts as another one.
        named =
            (try? process.isInOwnNamespace()) == true
            ? CallerProgram(process, executable: executable, owner: owner, through: door)
            : CallerProgram(inOtherNamespace: credentials.processID, owner: owner, through: door)
        place = facts.areOfCallersAccount ? nil : CallerPlace(process)
    }

    /// Takes a descriptor of the program's own file, through which the daemon reads the content.
    ///
    /// - Returns: false for any other file than the executed one.
    package func offer(_ file: SharedDescriptor) -> Bool {
        let program = OfferedProgram(file, isExecuted: true)
        guard program.isFile(executable) else { return false }
        offered.withLock { $0 = program }
        return true
    }

    private var content: CallerContent { CallerContent(process: process, offered: offered.withLock { $0 }) }

    /// The program as it is named. Its label is that of the present registrations, if these were looked at: a name is asked for where
    /// nothing must be read.
    package var program: CallerProgram {
        guard let place else { return named }
        return named.labelled(place.label(for: determinedIdentity))
    }

    /// The program's identity by the present registrations.
    package var identity: CallerIdentity {
        let generation = applications.generation
        if let known = known.withLock({ $0 }), known.generation == generation { return known.identity }
        let identity = applications.identity(
            of: named, content: content, group: CallerGroup(credentials.groupID, of: process))
        // The digest is of the file that the process executed at that moment. If that was not the program that
        // connected, another program's content would vouch for this program's path.
        guard identity.content == nil || (try? process.executes(executable)) == true else {
            return CallerIdentity(named, standing: .changed)
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

    /// The same groups, if they were determined since the registrations changed; nil otherwise. Reads no file.
    package var determinedAccessGroups: [ExactName]? { determinedIdentity?.accessGroups }

    private var determinedIdentity: CallerIdentity? {
        let generation = applications.generation
        let known = known.withLock { $0 }
        return known?.generation == generation ? known?.identity : nil
    }

    /// How far the identity can be trusted.
    package var label: ProgramLabel { place?.label(for: identity) ?? .advisory }

    /// Throws unless the process is alive and runs the file that it ran at connect. If the program is known by its
    /// digest, the file must also be unchanged. One system call, or two.
    ///
    /// A program that never was as registered passes here: each request that needs its name was refused before anything was done.
    ///
    /// - Parameter wholly: whether the process is looked at itself, at whatever cost (``HeldProcess/executes(_:wholly:)``).
    package func verifyUnchanged(wholly: Bool = false) throws(CallerError) {
        guard try executesAsAtConnect(wholly: wholly) else { throw .changed }
        let identity = identity
        let isKnown = identity.standing == .asRegistered
        guard isKnown || wasAsRegistered.load(ordering: .sequentiallyConsistent) else { return }
        switch isKnown ? applications.standing(of: identity, content: content) : identity.standing {
        case .asRegistered: return
        case .changed, .lost, .withoutGroup: throw .changed
        case .unreadable, .listUnreadable, .foreignFileSystem: throw .unreadable
        case .changing: throw .changing
        }
    }

    private func executesAsAtConnect(wholly: Bool) throws(CallerError) -> Bool {
        do throws(FactFailure) { return try process.executes(executable, wholly: wholly) } catch {
            throw CallerError(error)
        }
    }

    /// The file that it executed when it connected, and at each release since.
    package var executedFile: ExecutedFile { executable }

    /// The session that the process belongs to now; nil where nobody can tell.
    package var session: ProcessSession? { facts.session(of: process, ofUser: credentials.userID) }

    /// The caller as prompts need it.
    ///
    /// - Parameter label: the door's name for its client.
    package func promptCaller(
        terminal: SharedDescriptor?, label: String = ""
    ) throws(Refusal) -> PromptCaller {
        do throws(FactFailure) { _ = try process.status() } catch { throw refusal(for: error) }
        return PromptCaller(
            processID: credentials.processID, process: process, userID: credentials.userID, owner: named.owner,
            program: named.displayName, application: identity.applicationID?.text,
            label: place?.label(for: identity), door: named.through.map { PromptDoor(program: $0, label: label) },
            terminal: terminal)
    }

    private func refusal(for failure: FactFailure) -> Refusal {
        // The end of a door's client must not end the door's connection, as the end of a caller does.
        let isClient = named.through != nil
        let process = isClient ? "the client's process" : "the calling process"
        let what =
            switch failure {
            case .absent: "There is no more \(process)."
            case .unreadable: "The state of \(process) cannot be read."
            case .refused: "The daemon may not look at \(process)."
            }
        return Refusal(
            isClient ? .clientChanged : .callerChanged, what,
            cause: "\(isClient ? "client" : "caller").\(CallerError(failure))")
    }

    /// A descriptor that becomes readable when the process ends; nil when there is none to be had any more.
    package var exitDescriptor: SharedDescriptor? { try? process.exit() }
}

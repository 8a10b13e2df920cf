import Glibc
public import ProcessFacts
import Synchronization
public import UnixSocket

/// Facts about callers as a test wants them; the kernel's where it says nothing.
public struct PlayedFacts: CallerFacts {
    /// The processes that are played, by their numbers.
    public var processes: [Int32: Result<PlayedProcess, FactFailure>] = [:]
    /// Whether there is no other process.
    public var areOthersAbsent = false
    public var areOfCallersAccount = true
    public var terminal: TerminalFact??
    public var namesake: Result<Int32?, FactFailure>?
    public var hasLogin: (@Sendable (_ userID: UInt32, _ line: String) -> Bool)?
    private let kernel = KernelFacts()

    public init() {}

    public func hold(
        _ processID: Int32, _ pidfd: SharedDescriptor?, of userID: UInt32?
    ) throws(FactFailure) -> any HeldProcess {
        if let played = processes[processID] { return try played.get() }
        guard !areOthersAbsent else { throw .absent }
        return try kernel.hold(processID, pidfd, of: userID)
    }

    public func terminal(behind descriptor: CInt) -> TerminalFact? { terminal ?? kernel.terminal(behind: descriptor) }

    public func namesake(
        of terminal: TerminalFact, for status: ProcessStatus, of userID: UInt32
    ) throws(FactFailure) -> Int32? {
        guard let namesake else { return try kernel.namesake(of: terminal, for: status, of: userID) }
        return try namesake.get()
    }

    public func hasLogin(of userID: UInt32, on line: String) -> Bool {
        hasLogin?(userID, line) ?? kernel.hasLogin(of: userID, on: line)
    }
}

/// A process with the facts that a test chooses. A fact can be hidden, and can change at any time.
public final class PlayedProcess: HeldProcess {
    public struct Facts: Sendable {
        public var executable: Result<ExecutedFile, FactFailure> = .success(ExecutedFile(device: 8, inode: 100))
        public var name: Result<ExecutedName, FactFailure> = .success(ExecutedName(path: "/usr/bin/tool", isTrue: true))
        public var content: Result<ExecutedContent, FactFailure> = .failure(.refused)
        /// Called before the content is told. It may wait, as for a file that lies where nobody answers.
        public var willTellContent: (@Sendable () -> Void)?
        public var isInOwnNamespace: Result<Bool, FactFailure> = .success(true)
        public var isInOwnUserNamespace: Result<Bool, FactFailure> = .success(true)
        public var userID: Result<UInt32, FactFailure> = .success(getuid())
        public var realUserID: Result<UInt32, FactFailure> = .success(getuid())
        public var realGroupID: Result<UInt32, FactFailure> = .success(getgid())
        public var loginUserID: Result<UInt32?, FactFailure> = .success(nil)
        public var status: Result<ProcessStatus, FactFailure> = .failure(.unreadable)
        public var controlGroups: Result<String, FactFailure> = .success("0::/\n")
        public var exit: Result<SharedDescriptor, FactFailure> = .failure(.absent)
    }

    public let id: Int32
    private let facts: Mutex<Facts>
    private let wholeLooks = Mutex(0)
    /// How often somebody asked for a whole look at what it executes.
    public var wholeLookCount: Int { wholeLooks.withLock { $0 } }

    public init(_ id: Int32, _ change: (inout Facts) -> Void = { _ in }) {
        self.id = id
        var facts = Facts()
        change(&facts)
        self.facts = Mutex(facts)
    }

    /// Changes its facts.
    public func change(_ change: (inout Facts) -> Void) { facts.withLock { change(&$0) } }

    /// It ends, and nothing is known of it any more.
    public func end() {
        change { facts in
            facts.executable = .failure(.absent)
            facts.name = .failure(.absent)
            facts.content = .failure(.absent)
            facts.isInOwnNamespace = .failure(.absent)
            facts.isInOwnUserNamespace = .failure(.absent)
            facts.userID = .failure(.absent)
            facts.realUserID = .failure(.absent)
            facts.realGroupID = .failure(.absent)
            facts.loginUserID = .failure(.absent)
            facts.status = .failure(.absent)
            facts.controlGroups = .failure(.absent)
        }
    }

    private var now: Facts { facts.withLock { $0 } }

    public func executable() throws(FactFailure) -> ExecutedFile { try now.executable.get() }
    public func executes(_ file: ExecutedFile, wholly: Bool) throws(FactFailure) -> Bool {
        if wholly { wholeLooks.withLock { $0 += 1 } }
        return try executable() == file
    }
    public func name(of file: ExecutedFile) throws(FactFailure) -> ExecutedName { try now.name.get() }
    public func content() throws(FactFailure) -> ExecutedContent {
        now.willTellContent?()
        return try now.content.get()
    }
    public func isInOwnNamespace() throws(FactFailure) -> Bool { try now.isInOwnNamespace.get() }
    public func isInOwnUserNamespace() throws(FactFailure) -> Bool { try now.isInOwnUserNamespace.get() }
    public func userID() throws(FactFailure) -> UInt32 { try now.userID.get() }
    public func realUserID() throws(FactFailure) -> UInt32 { try now.realUserID.get() }
    public func realGroupID() throws(FactFailure) -> UInt32 { try now.realGroupID.get() }
    public func loginUserID() throws(FactFailure) -> UInt32? { try now.loginUserID.get() }
    public func status() throws(FactFailure) -> ProcessStatus { try now.status.get() }
    public func controlGroups() throws(FactFailure) -> String { try now.controlGroups.get() }
    /// One of its own for each caller, as the kernel gives: who waits for it would else end the wait of another.
    public func exit() throws(FactFailure) -> SharedDescriptor {
        let exit = try now.exit.get()
        let copy = fcntl(exit.number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw .unreadable }
        return SharedDescriptor(Descriptor(owning: copy))
    }
}

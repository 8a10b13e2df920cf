import AccessControl
import CLinuxShims
import ExactNames
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Owners
import ProcessFacts
import Refusals
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Callers
@testable import Sessions

/// Callers as the kernel could describe them: hidden callers, callers of another namespace, and changing ones.
@Suite("Facts about a caller", .timeLimit(.minutes(10)))
struct CallerFactsTests {
    private let fixture: BrokerFixture
    private let near, far: UnixSocket

    init() throws {
        fixture = try BrokerFixture()
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        near = UnixSocket(owning: Descriptor(owning: ends[0]))
        far = UnixSocket(owning: Descriptor(owning: ends[1]))
    }

    /// The other end of the connection is this process; the facts about it are played.
    private func caller(_ played: Result<PlayedProcess, FactFailure>) throws -> Callers.CallerProcess {
        var facts = PlayedFacts()
        facts.processes[getpid()] = played
        return try Callers.CallerProcess(
            connectedTo: near, owner: fixture.account.id.ownerID,
            applications: fixture.account.applications, facts: facts)
    }

    private func caller(_ change: (inout PlayedProcess.Facts) -> Void) throws -> Callers.CallerProcess {
        try caller(.success(PlayedProcess(getpid(), change)))
    }

    private static let failures: [(FactFailure, CallerError)] = [
        (.absent, .gone), (.unreadable, .unreadable), (.refused, .refused),
    ]

    // MARK: at connect

    @Test(arguments: failures)
    func `a process that cannot be held, as below hidepid, is refused by the reason`(
        failure: FactFailure, expected: CallerError
    ) {
        #expect(throws: expected) { try caller(.failure(failure)) }
    }

    @Test(arguments: failures)
    func `a process whose executable is not known is refused by the reason`(failure: FactFailure, expected: CallerError)
    {
        #expect(throws: expected) { try caller { $0.executable = .failure(failure) } }
    }

    /// Every connection, and every question about it, has them: there is no way around.
    @Test func `a connection is judged by the facts that the daemon was given`() throws {
        var facts = PlayedFacts()
        facts.areOthersAbsent = true
        let exit = SharedDescriptor(try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open"))
        facts.processes[getpid()] = .success(
            PlayedProcess(getpid()) {
                $0.name = .success(ExecutedName(path: "/usr/bin/played", isTrue: true))
                $0.exit = .success(exit)
            })
        let played = try BrokerFixture(facts: facts)
        #expect(try played.client().status().caller.program == "/usr/bin/played")
        facts.processes = [:]
        let blind = try BrokerFixture(facts: facts)
        #expect(throws: (any Error).self) { try blind.client().status() }
    }

    @Test func `a process is named by the path of its file`() throws {
        let program = try caller { _ in }.program
        #expect(program.application == "/usr/bin/tool" && program.displayName == "/usr/bin/tool")
        #expect(program.processID == getpid())
        #expect(program.owner == fixture.account.id.ownerID)
    }

    @Test(
        arguments: [.success(false), .failure(.absent), .failure(.unreadable), .failure(.refused)]
            as [Result<Bool, FactFailure>])
    func `a process that is not plainly of this pid namespace has no name`(isOwn: Result<Bool, FactFailure>) throws {
        let program = try caller { $0.isInOwnNamespace = isOwn }.program
        #expect(program.application == CallerProgram.unknown)
        #expect(program.displayName == "unknown program (in a container)")
    }

    /// The process executed another program between the two looks, or sees another file at that path.
    @Test func `a path that leads to another file than the executed one names nobody`() throws {
        let program = try caller { $0.name = .success(ExecutedName(path: "/usr/bin/trusted", isTrue: false)) }.program
        #expect(program.application == CallerProgram.unknown)
        #expect(program.displayName == "unknown program (/usr/bin/trusted)")
    }

    @Test func `a deleted file names nobody`() throws {
        let program = try caller { $0.executable = .success(ExecutedFile(device: 8, inode: 100, isDeleted: true)) }
            .program
        #expect(program.application == CallerProgram.unknown)
    }

    @Test(arguments: [.absent, .unreadable, .refused] as [FactFailure])
    func `a name that cannot be read names nobody`(failure: FactFailure) throws {
        let program = try caller { $0.name = .failure(failure) }.program
        #expect(program.application == CallerProgram.unknown && program.displayName == CallerProgram.unknown)
    }

    // MARK: at a release

    private func refusal(after change: (PlayedProcess) -> Void) throws -> CallerError? {
        let process = PlayedProcess(getpid())
        let caller = try caller(.success(process))
        try caller.verifyUnchanged()
        change(process)
        do throws(CallerError) { try caller.verifyUnchanged() } catch { return error }
        return nil
    }

    @Test func `a process that executed another program since gets nothing`() throws {
        let other = ExecutedFile(device: 8, inode: 101)
        #expect(try refusal { $0.change { $0.executable = .success(other) } } == .changed)
        let elsewhere = ExecutedFile(device: 9, inode: 100)
        #expect(try refusal { $0.change { $0.executable = .success(elsewhere) } } == .changed)
    }

    @Test func `a process whose file was deleted since is still the same`() throws {
        let deleted = ExecutedFile(device: 8, inode: 100, isDeleted: true)
        #expect(try refusal { $0.change { $0.executable = .success(deleted) } } == nil)
    }

    @Test func `a process that ended since gets nothing`() throws {
        #expect(try refusal { $0.end() } == .gone)
    }

    @Test(arguments: failures)
    func `a process that can no longer be looked at gets nothing`(failure: FactFailure, expected: CallerError) throws {
        #expect(try refusal { $0.change { $0.executable = .failure(failure) } } == expected)
    }

    /// A helper may not read the file, and the program may have changed it.
    @Test func `a registered program is known by what its file holds, or not at all`() throws {
        let (path, other) = (fixture.folder.path("tool"), fixture.folder.path("other"))
        for (path, text) in [(path, "\u{7F}ELF a program"), (other, "\u{7F}ELF another")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            #expect(chmod(path, 0o755) == 0)
        }
        fixture.prompter.prepare([.confirm])
        let request = WireRegisterApplicationRequest.with {
            $0.path = path
            $0.applicationID = "com.example.tool"
            $0.question = TestClient.question
        }
        _ = try fixture.client().call(.registerApplication(request))
        let process = PlayedProcess(getpid()) {
            $0.name = .success(ExecutedName(path: path, isTrue: true))
            $0.content = .failure(.refused)
        }
        let caller = try caller(.success(process))
        #expect(caller.identity.standing == .unreadable)
        process.change { $0.content = .success(ExecutedContent(in: nil, path)) }
        #expect(caller.identity.standing == .asRegistered)
        #expect(caller.identity.applicationID == "com.example.tool")
        try caller.verifyUnchanged()
        process.change { $0.content = .success(ExecutedContent(in: nil, other)) }
        #expect(throws: CallerError.changed) { try caller.verifyUnchanged() }
        process.change { $0.content = .failure(.unreadable) }
        #expect(throws: CallerError.unreadable) { try caller.verifyUnchanged() }
    }

    // MARK: a connection

    private static let look = WireRequest.OneOf_Body.findRight(.with { $0.identifier = "mine" })

    private func played(
        _ process: PlayedProcess, _ body: (BrokerFixture, TestClient) throws -> Void
    ) throws {
        let exit = SharedDescriptor(try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open"))
        process.change { $0.exit = .success(exit) }
        var facts = PlayedFacts()
        facts.processes[getpid()] = .success(process)
        let fixture = try BrokerFixture(facts: facts)
        let client = try fixture.client()
        try client.create("mine", AccessControl(availability: .always, using: .unrestricted))
        try body(fixture, client)
    }

    @Test(arguments: [.unreadable, .refused] as [FactFailure])
    func `while nobody can see the caller, each request is refused and the connection stays`(
        failure: FactFailure
    ) throws {
        let process = PlayedProcess(getpid())
        try played(process) { fixture, client in
            process.change { $0.executable = .failure(failure) }
            for _ in 0..<2 {
                let refused = try #require(throws: Refused.self) { try client.call(Self.look) }
                #expect(refused.code == .programUnverified && refused.cause == "caller.\(CallerError(failure))")
            }
            process.change { $0.executable = .success(ExecutedFile(device: 8, inode: 100)) }
            _ = try client.call(Self.look)
            let record = try client.log().last { $0.event == "connect" }
            #expect(record?.result == "refused" && record?.reason == "caller-\(CallerError(failure))")
        }
    }

    @Test func `a caller that is plainly another one ends its connection`() throws {
        let process = PlayedProcess(getpid())
        try played(process) { fixture, client in
            process.change { $0.executable = .success(ExecutedFile(device: 8, inode: 101)) }
            // It gets no answer either.
            #expect(throws: FrameReadError.closed) { try client.call(Self.look) }
            let record = try fixture.client().log().last { $0.event == "connect" }
            #expect(record?.result == "refused" && record?.reason == "caller-changed")
        }
    }

    /// Such a look costs a message to a helper; a request that asks nobody must not cost one.
    @Test func `a process is looked at itself where a person may have answered, and nowhere else`() throws {
        let process = PlayedProcess(getpid())
        try played(process) { _, client in
            let count = process.wholeLookCount
            _ = try client.call(Self.look)
            #expect(process.wholeLookCount == count)
            _ = try client.environment()
            #expect(process.wholeLookCount > count)
        }
    }

    // MARK: questions

    @Test(
        arguments: [
            (.absent, "caller.gone"), (.unreadable, "caller.unreadable"), (.refused, "caller.refused"),
        ] as [(FactFailure, String)])
    func `nobody is asked for a process whose state is not known`(failure: FactFailure, cause: String) throws {
        let caller = try caller { $0.status = .failure(failure) }
        let refusal = #expect(throws: Refusal.self) { try caller.promptCaller(terminal: nil) }
        #expect(refusal?.code == .callerChanged)
        #expect(refusal?.cause == cause)
    }

    // MARK: clients of doors

    /// A client that a program with this path made requests for; the facts about it are played.
    private func client(
        _ played: Result<PlayedProcess, FactFailure>, through path: String = "/usr/bin/door"
    ) throws -> Callers.CallerProcess {
        // Any process: the number alone counts here.
        let process = SharedDescriptor(try Descriptor(ostiary_open_process(getppid()), from: "pidfd_open"))
        var facts = PlayedFacts()
        facts.processes[getppid()] = played
        let door = try caller { $0.name = .success(ExecutedName(path: path, isTrue: true)) }
        return try Callers.CallerProcess(
            NamedClient(PassedClient(connection: nil, process: process), ofDoorOf: getuid(), facts: KernelFacts()),
            through: door.program,
            owner: fixture.account.id.ownerID, applications: fixture.account.applications, facts: facts)
    }

    @Test(
        arguments: [
            (.absent, .clientChanged, "client.gone"), (.unreadable, .clientRefused, "client.unreadable"),
            (.refused, .clientRefused, "client.unreadable"),
        ] as [(FactFailure, WireFailureCode, String)])
    func `a client that cannot be looked at is another case than one that is gone`(
        failure: FactFailure, code: WireFailureCode, cause: String
    ) throws {
        let error = try #require(throws: CallerError.self) { try client(.failure(failure)) }
        let refusal = DoorRefusal.refusal(for: error)
        #expect(refusal.code == code && refusal.cause == cause)
    }

    @Test func `without descriptors or memory the daemon says nothing of the client`() throws {
        #expect(try NamedClient.noPeer(because: ENOPROTOOPT) == nil)
        for error in [EMFILE, ENFILE, ENOMEM] {
            #expect(throws: ClientError.unreadable) { try NamedClient.noPeer(because: error) }
        }
        for error in [ESRCH, EINVAL, ENODATA] {
            #expect(throws: ClientError.gone) { try NamedClient.noPeer(because: error) }
        }
    }

    @Test(arguments: [.absent, .unreadable, .refused] as [FactFailure])
    func `a client that nobody can be asked for does not end its door's connection`(failure: FactFailure) throws {
        let client = try client(.success(PlayedProcess(getppid()) { $0.status = .failure(failure) }))
        let refusal = try #require(throws: Refusal.self) { try client.promptCaller(terminal: nil) }
        #expect(refusal.code == .clientChanged && refusal.cause == "client.\(CallerError(failure))")
    }

    @Test func `the log has room for a client and for its door`() throws {
        let name = "/" + String(repeating: "c", count: 300)
        let door = "/" + String(repeating: "d", count: 4000)
        let played = PlayedProcess(getppid()) { $0.name = .success(ExecutedName(path: name, isTrue: true)) }
        let logged = try client(.success(played), through: door).program.logName
        let parts = logged.split(separator: ", through ", maxSplits: 1)
        #expect(logged.utf8.count <= 256 && parts.count == 2)
        #expect(name.hasPrefix(parts[0]) && parts[0].utf8.count >= 118)
        #expect(door.hasPrefix(parts[1]) && parts[1].utf8.count == 128)
    }

    @Test func `no program's name seems to have a door`() throws {
        for isTrue in [true, false] {
            for path in [
                "/tmp/a, through /usr/bin/door", "/tmp/a, through \u{301}door", "/tmp/a, through /bin/python3",
            ] {
                let program = try caller { $0.name = .success(ExecutedName(path: path, isTrue: isTrue)) }.program
                #expect(program.displayName == CallerProgram.unknown && program.logName == "unknown program")
            }
        }
    }

    @Test func `a process without a descriptor of its end has none`() throws {
        #expect(try caller { $0.exit = .failure(.absent) }.exitDescriptor == nil)
        let end = SharedDescriptor(Descriptor(owning: dup(STDERR_FILENO)))
        #expect(try caller { $0.exit = .success(end) }.exitDescriptor != nil)
    }
}

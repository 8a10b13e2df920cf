import AccessControl
import Authenticators
import CLinuxShims
import Callers
import Dispatch
import Foundation
import Glibc
import OstiaryMessages
import Owners
import ProcessFacts
import ProtectedObjects
import Refusals
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Sessions

/// Clients of a door that come, leave and end at the same moment.
@Suite("Clients of a door at one moment", .timeLimit(.minutes(10)))
struct DoorClientRaceTests {
    /// A process that knows nothing of the door, and a descriptor of it.
    private static func client() throws -> (process: SpawnedProcess, descriptor: SharedDescriptor) {
        let process = try SpawnedProcess("/bin/sleep", ["600"])
        let number = ostiary_open_process(process.processID)
        return (process, SharedDescriptor(try Descriptor(number, from: "pidfd_open")))
    }

    /// Both ends of a connection of this process with itself.
    private static func connection() throws -> [SharedDescriptor] {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return ends.map { SharedDescriptor(Descriptor(owning: $0)) }
    }

    // MARK: the clients of a connection

    /// The clients of one connection of this program.
    private struct Stage {
        let fixture: BrokerFixture
        let program: CallerProgram
        let quota = SlowRequestQuota(ShareLimits(ofProgram: 2, total: 2))

        init() throws {
            fixture = try BrokerFixture()
            var ends: [CInt] = [-1, -1]
            try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            let near = UnixSocket(owning: Descriptor(owning: ends[0]))
            let far = UnixSocket(owning: Descriptor(owning: ends[1]))
            program = try Callers.CallerProcess(
                connectedTo: near, owner: fixture.account.id.ownerID,
                applications: fixture.account.applications, facts: KernelFacts()
            ).program
            withExtendedLifetime(far) {}
        }

        func client(_ named: NamedClient) throws -> DoorClient {
            let caller = try Callers.CallerProcess(
                named, through: program, owner: fixture.account.id.ownerID,
                applications: fixture.account.applications, facts: KernelFacts())
            return DoorClient(
                named, caller,
                contexts: ContextTable(
                    clock: fixture.clock, lifetime: .seconds(60),
                    quota: ProgramQuota.grants(ShareLimits(ofProgram: 1, total: 1)), program: caller.program.ofOwner,
                    ended: { _ in }))
        }
    }

    @Test func `a request that comes while the last one leaves has a client that the connection knows`() throws {
        let stage = try Stage()
        let (process, descriptor) = try Self.client()
        let named = try NamedClient(
            PassedClient(connection: nil, process: descriptor), ofDoorOf: getuid(), facts: KernelFacts())
        let clients = DoorClients(quota: stage.quota)
        let leaving = Mutex<ClientStay?>(nil)
        let (begin, left) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let rounds = 3000
        Thread.detachNewThread {
            for _ in 0..<rounds {
                begin.wait()
                leaving.withLock { $0 = nil }
                left.signal()
            }
        }
        for _ in 0..<rounds {
            try leaving.withLock { $0 = try clients.enter(named) { try stage.client(named) } }
            begin.signal()
            try Self.enterAgain(named, clients, stage)
            left.wait()
        }
        #expect(clients.all.isEmpty)
        // Each client has given its place back.
        for _ in 0..<2 { try stage.quota.take(for: stage.program.ofOwner) }
        withExtendedLifetime(process) {}
    }

    /// In a function of its own, so that the stay has ended when it returns.
    private static func enterAgain(_ named: NamedClient, _ clients: DoorClients, _ stage: Stage) throws {
        let next = try clients.enter(named) { try stage.client(named) }
        for _ in 0..<20 {
            try #require(clients.all.contains { $0 === next.client }, "a client that nobody knows is never ended")
        }
        withExtendedLifetime(next) {}
    }

    @Test func `a client that has ended is another one's for whom the same name comes`() throws {
        let stage = try Stage()
        let (process, descriptor) = try Self.client()
        let named = try NamedClient(
            PassedClient(connection: nil, process: descriptor), ofDoorOf: getuid(), facts: KernelFacts())
        let clients = DoorClients(quota: stage.quota)
        let first = try clients.enter(named) { try stage.client(named) }
        let context = try first.client.contexts.open(keepingFactors: false)
        #expect(try clients.enter(named) { throw ClientError.itself }.client === first.client, "it is known")
        process.signal(SIGKILL)
        try eventually("it has ended") { !first.client.isAlive }
        // The door names it once more, and nobody was told of the end.
        #expect(throws: ClientError.gone) { _ = try clients.enter(named) { throw ClientError.gone } }
        #expect(clients.all.isEmpty)
        #expect(throws: Refusal.self) { _ = try first.client.contexts.context(context) }
    }

    @Test func `a client that is known is found again by its process alone, as long as it is alive`() throws {
        let stage = try Stage()
        let ((process, descriptor), (other, otherDescriptor)) = (try Self.client(), try Self.client())
        let (passed, foreign) = (
            PassedClient(connection: nil, process: descriptor),
            PassedClient(connection: nil, process: otherDescriptor)
        )
        let clients = DoorClients(quota: stage.quota)
        #expect(clients.stay(of: passed) == nil, "it has to be looked at first")
        let first = try clients.enter(NamedClient(passed, ofDoorOf: getuid(), facts: KernelFacts())) {
            try stage.client(NamedClient(passed, ofDoorOf: getuid(), facts: KernelFacts()))
        }
        let another = SharedDescriptor(try Descriptor(ostiary_open_process(process.processID), from: "pidfd_open"))
        for descriptor in [descriptor, another] {
            let stay = clients.stay(of: PassedClient(connection: nil, process: descriptor))
            #expect(stay?.client === first.client)
        }
        #expect(clients.stay(of: foreign) == nil)
        #expect(clients.stay(of: PassedClient(connection: nil, process: nil)) == nil)
        process.signal(SIGKILL)
        // Nobody was told of the end, and the number is its own until somebody waits for it.
        try eventually("it has ended") { !first.client.isAlive }
        #expect(clients.stay(of: passed) == nil)
        withExtendedLifetime(other) {}
    }

    @Test func `a client that is known is found again by its connection, and by both only after a look`() throws {
        let stage = try Stage()
        let connections = try Self.connection() + Self.connection()
        let process = SharedDescriptor(try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open"))
        let passed = PassedClient(connection: connections[0], process: nil)
        let named = try NamedClient(passed, ofDoorOf: getuid(), facts: KernelFacts())
        let clients = DoorClients(quota: stage.quota)
        let first = try clients.enter(named) { try stage.client(named) }
        #expect(clients.stay(of: passed)?.client === first.client)
        // The process is the same. Each connection is a client of its own.
        #expect(clients.stay(of: PassedClient(connection: connections[2], process: nil)) == nil)
        #expect(clients.stay(of: PassedClient(connection: process, process: nil)) == nil)
        let alone = PassedClient(connection: nil, process: process)
        #expect(clients.stay(of: alone) == nil)
        let second = try clients.enter(NamedClient(alone, ofDoorOf: getuid(), facts: KernelFacts())) {
            try stage.client(NamedClient(alone, ofDoorOf: getuid(), facts: KernelFacts()))
        }
        #expect(clients.stay(of: alone)?.client === second.client)
        #expect(clients.stay(of: PassedClient(connection: connections[0], process: process)) == nil)
        withExtendedLifetime((first, second)) {}
    }

    @Test func `a stay that was found again keeps the client until it ends`() throws {
        let stage = try Stage()
        let (process, descriptor) = try Self.client()
        let passed = PassedClient(connection: nil, process: descriptor)
        let named = try NamedClient(passed, ofDoorOf: getuid(), facts: KernelFacts())
        let clients = DoorClients(quota: stage.quota)
        var first: ClientStay? = try clients.enter(named) { try stage.client(named) }
        var second = clients.stay(of: passed)
        #expect(second != nil && second?.client === first?.client)
        first = nil
        #expect(clients.all.count == 1)
        second = nil
        #expect(clients.all.isEmpty && clients.stay(of: passed) == nil)
        withExtendedLifetime(process) {}
    }

    @Test func `a connection has so many clients, whatever they run, and a place becomes free`() throws {
        let stage = try Stage()
        let clients = DoorClients(quota: SlowRequestQuota(ShareLimits(ofProgram: 1000, total: 1000)))
        let others = try (0...SessionLimits.clientCount).map { _ in try Self.client() }
        let named = try others.map {
            try NamedClient(
                PassedClient(connection: nil, process: $0.descriptor), ofDoorOf: getuid(), facts: KernelFacts())
        }
        var stays = try named.dropLast().map { named in try clients.enter(named) { try stage.client(named) } }
        #expect(stays.count == SessionLimits.clientCount)
        let late = try #require(named.last)
        let refused = #expect(throws: Refusal.self) { _ = try clients.enter(late) { try stage.client(late) } }
        #expect(refused?.code == .tooMany && refused?.cause == "door.too-many-clients")
        stays.removeLast()
        stays.append(try clients.enter(late) { try stage.client(late) })
        withExtendedLifetime((stays, others)) {}
    }

    @Test func `requests for a client take places of the client's program, and none of the door's`() throws {
        let stage = try Stage()
        let (process, descriptor) = try Self.client()
        let client = try stage.client(
            NamedClient(PassedClient(connection: nil, process: descriptor), ofDoorOf: getuid(), facts: KernelFacts()))
        let quota = SlowRequestQuota(ShareLimits(ofProgram: 1, total: 10))
        let requests = SlowRequests(quota: quota, readings: quota, program: stage.program.ofOwner)
        let gate = DispatchSemaphore(value: 0)
        for (id, client) in [(1, nil), (2, client)] as [(UInt64, DoorClient?)] {
            try requests.start(id, for: client) { _ in
                gate.wait()
                requests.finish(id)
            }
        }
        for client in [nil, client] as [DoorClient?] {
            let refused = #expect(throws: Refusal.self) { try requests.start(3, for: client) { _ in } }
            #expect(refused?.cause == "request.too-many-of-program")
        }
        for _ in 1...2 { gate.signal() }
        requests.wait()
        withExtendedLifetime(process) {}
    }

    // MARK: the end of a client before its request is counted

    @Test func `a client that ends before its request is counted takes the question along`() throws {
        let facts = InterruptedFacts()
        let fixture = try BrokerFixture(facts: facts)
        let door = try fixture.client()
        fixture.prompter.prepare([.confirm])
        let registration = try WireRegisterApplicationRequest.with {
            $0.path = try door.status().caller.program
            ($0.applicationID, $0.isDoor, $0.question) = ("com.example.tests", true, TestClient.question)
        }
        try door.call(.registerApplication(registration))
        let (process, descriptor) = try Self.client()
        _ = try door.send(.openContext(.init()), for: descriptor)
        #expect(try door.answer().refused == nil)

        let (sessions, account, processID) = (fixture.broker.sessions, fixture.account, process.processID)
        let known: @Sendable () -> [DoorClient] = { sessions.all(of: account).flatMap(\.clients.all) }
        #expect(known().count == 1)
        facts.interrupt(processID) {
            kill(processID, SIGKILL)
            // The connection is told of the end, ends the client's requests, and forgets it: all before this request is one of them.
            let end = ContinuousClock.now + .seconds(60)
            while !known().isEmpty, ContinuousClock.now < end { usleep(1000) }
        }
        // Nobody answers the question that it asks.
        fixture.prompter.prepare([.wait])
        let rule = try AccessControl(
            availability: .always, using: Requirement(anyOf: [.applicationPassword]))
        let creation = WireCreateRightRequest.with {
            ($0.identifier, $0.accessControl) = ("late", Data(rule.canonicalBytes))
            $0.question = TestClient.question
        }
        _ = try door.send(.createRight(creation), for: descriptor)
        let refused = try #require(try door.answer().refused)
        #expect(refused.code == .appCancel || refused.code == .systemCancel, "\(refused)")
        #expect(known().isEmpty && facts.wasInterrupted)
    }
}

/// The kernel's facts. Once, after a process was compared and before the answer is heard, something happens to it. The process seems to
/// be the same ever after.
private final class InterruptedFacts: CallerFacts {
    private enum Step: Sendable {
        case none
        case waits(Int32, @Sendable () -> Void)
        case over(Int32)
    }

    private let kernel = KernelFacts()
    private let step = Mutex(Step.none)

    var wasInterrupted: Bool { step.withLock { if case .over = $0 { true } else { false } } }

    func interrupt(_ processID: Int32, _ act: @escaping @Sendable () -> Void) {
        step.withLock { $0 = .waits(processID, act) }
    }

    /// Whether the process seems to be the same, whatever the kernel says.
    fileprivate func isPlayed(_ processID: Int32) -> Bool {
        let act: (@Sendable () -> Void)? = step.withLock { step in
            guard case .waits(processID, let act) = step else { return nil }
            step = .over(processID)
            return act
        }
        act?()
        return step.withLock { if case .over(processID) = $0 { true } else { false } }
    }

    var areOfCallersAccount: Bool { kernel.areOfCallersAccount }

    func hold(
        _ processID: Int32, _ pidfd: SharedDescriptor?, of userID: UInt32?
    ) throws(FactFailure) -> any HeldProcess {
        InterruptedProcess(try kernel.hold(processID, pidfd, of: userID), self)
    }

    func terminal(behind descriptor: CInt) -> TerminalFact? { kernel.terminal(behind: descriptor) }

    func namesake(
        of terminal: TerminalFact, for status: ProcessStatus, of userID: UInt32
    ) throws(FactFailure) -> Int32? { try kernel.namesake(of: terminal, for: status, of: userID) }

    func hasLogin(of userID: UInt32, on line: String) -> Bool { kernel.hasLogin(of: userID, on: line) }
}

private final class InterruptedProcess: HeldProcess {
    private let process: any HeldProcess
    private let facts: InterruptedFacts
    /// From before anything happened to it.
    private let kept = Mutex<ProcessStatus?>(nil)

    init(_ process: any HeldProcess, _ facts: InterruptedFacts) { (self.process, self.facts) = (process, facts) }

    var id: Int32 { process.id }
    func executable() throws(FactFailure) -> ExecutedFile { try process.executable() }

    func executes(_ file: ExecutedFile, wholly: Bool) throws(FactFailure) -> Bool {
        if kept.withLock({ $0 }) == nil {
            let status = try process.status()
            kept.withLock { $0 = status }
        }
        if facts.isPlayed(id) { return true }
        return try process.executes(file, wholly: wholly)
    }

    func name(of file: ExecutedFile) throws(FactFailure) -> ExecutedName { try process.name(of: file) }
    func content() throws(FactFailure) -> ExecutedContent { try process.content() }
    func isInOwnNamespace() throws(FactFailure) -> Bool { try process.isInOwnNamespace() }
    func userID() throws(FactFailure) -> UInt32 { try process.userID() }
    func realUserID() throws(FactFailure) -> UInt32 { try process.realUserID() }
    func realGroupID() throws(FactFailure) -> UInt32 { try process.realGroupID() }
    func loginUserID() throws(FactFailure) -> UInt32? { try process.loginUserID() }
    func isInOwnUserNamespace() throws(FactFailure) -> Bool { try process.isInOwnUserNamespace() }

    func status() throws(FactFailure) -> ProcessStatus {
        if let kept = kept.withLock({ $0 }) { return kept }
        return try process.status()
    }

    func controlGroups() throws(FactFailure) -> String { try process.controlGroups() }
    func exit() throws(FactFailure) -> SharedDescriptor { try process.exit() }
}

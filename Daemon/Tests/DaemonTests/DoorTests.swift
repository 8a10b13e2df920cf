import AccessControl
import CImpostor
import CLinuxShims
import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import SocketTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A door makes requests for the programs that it serves. The daemon sees three processes: itself, the door, and the door's client.
@Suite(.timeLimit(.minutes(10))) struct DoorTests {
    private let stage: DoorStage

    init() throws { stage = try DoorStage() }

    // MARK: granted requests

    @Test func `a question is the client's, on its terminal, and names the door`() throws {
        let right = try stage.makeRight(.createRight("shared", .unrestricted, hasSecret: true))
        try stage.setPasscode()
        let bound = try stage.makeRight(.createRight("bound", .passcode, hasSecret: true))
        let terminal = try PseudoTerminal()
        let client = try stage.client(on: terminal)
        let context = try stage.openContext(for: client)
        let id = try stage.send(.authorize(bound, in: context), for: client, asking: true, label: "git@host")
        terminal.waitFor("Passcode: ")
        let program = try stage.program("client")
        #expect(terminal.shows("Program \(program) (process \(client.processID))"), "\(terminal.screen)")
        #expect(terminal.shows("Through \(stage.registrations.path)"), "\(terminal.screen)")
        #expect(terminal.shows("Named “git@host”, not checked"), "\(terminal.screen)")
        terminal.answer("Passcode: ", with: Stage.passcode)
        #expect(try stage.door.client.answer(to: id).factors == ["passcode"])
        #expect(try stage.ask(.readSecret(bound, in: context), for: client).tail == [1, 2, 3])

        #expect(try stage.ask(.authorize(right, in: context), for: client).factors == [])
        #expect(try stage.ask(.sign(right, in: context), for: client, tail: WireRequest.OneOf_Body.digest).isDone)
        let signed = try #require(try stage.records().last { $0.event == "sign" && $0.object == "shared" })
        #expect(signed.program == "\(program), through \(stage.registrations.path)")
        #expect(signed.processID == UInt32(client.processID) && signed.result == "granted")
        guard case .grants(let grants)? = try stage.daemon.client().ask(.listGrants(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        #expect(grants.grants.map(\.program) == [signed.program, signed.program])
        #expect(try stage.ask(.closeContext(.with { $0.contextID = context }), for: client).isDone)
    }

    @Test func `a client is named by its process, or by both`() throws {
        let client = try stage.client()
        let process = try client.process()
        for (kinds, descriptors) in [
            ([.process], [process.number]), ([.socket, .process], [client.accepted.number, process.number]),
            ([.process, .socket], [process.number, client.accepted.number]),
        ] as [([WirePassedKind], [CInt])] {
            guard case .status(let status)? = try stage.ask(kinds, descriptors, .status).body else {
                throw RawClient.UnexpectedAnswer()
            }
            #expect(status.caller.program == "\(try stage.program("client")), through \(stage.registrations.path)")
            #expect(status.caller.accessGroups == [RegistrationStage.group, RegistrationStage.applicationID])
        }
    }

    // MARK: programs that may vouch

    @Test func `a program that is not registered acts for nobody`() throws {
        let client = try stage.client()
        let stranger = try stage.registrations.stranger().greeted()
        for body in [.openContext(.init()), .status, .lock] as [WireRequest.OneOf_Body] {
            let id = try stranger.client.send(
                body, for: DoorStage.behalf([.socket]), descriptors: [client.accepted.number])
            let answer = try stranger.client.answer(to: id)
            #expect(answer.refusal == .missingEntitlement && answer.cause == "door.not-registered")
        }
        #expect(try stranger.client.status().mode == .userForTests, "its connection goes on")
        try stage.expectLogged("vouch", "door.not-registered", by: Caller.program)
    }

    @Test func `a registered program that is no door acts for nobody`() throws {
        let stage = try DoorStage(isDoor: false)
        let client = try stage.client()
        let answer = try stage.ask(.openContext(.init()), for: client)
        #expect(answer.refusal == .missingEntitlement && answer.cause == "door.not-a-door")
        try stage.expectLogged("vouch", "door.not-a-door", by: stage.registrations.path)
    }

    @Test func `a door whose file was replaced acts for nobody`() throws {
        let client = try stage.client()
        try stage.registrations.rebuild()
        let changed = try stage.registrations.tool()
        let id = try changed.client.send(
            .openContext(.init()), for: DoorStage.behalf([.socket]), descriptors: [client.accepted.number])
        #expect(try changed.client.answer(to: id).refusal == .programChanged)
        try stage.expectLogged("vouch", "program.changed")
    }

    @Test func `a door that was unregistered meanwhile releases nothing`() throws {
        let right = try stage.makeRight(.createRight("open", .unrestricted, hasSecret: true))
        let client = try stage.client()
        let context = try stage.openContext(for: client)
        #expect(try stage.ask(.authorize(right, in: context), for: client).factors == [])
        let terminal = stage.registrations.terminal
        terminal.clearScreen()
        let removal = try stage.registrations.owner.client.send(
            .removeApplication(
                .with { ($0.applicationID, $0.question) = (RegistrationStage.applicationID, .reason("to test")) }),
            descriptor: terminal.slave.number)
        terminal.answer("Type yes to go on: ", with: "yes")
        #expect(try stage.registrations.owner.client.answer(to: removal).isDone)
        let answer = try stage.ask(.readSecret(right, in: context), for: client)
        #expect(answer.refusal == .missingEntitlement && answer.cause == "door.not-registered" && answer.tail.isEmpty)
    }

    @Test func `a door cannot ask for what concerns the store`() throws {
        let client = try stage.client()
        let bodies: [WireRequest.OneOf_Body] = [
            .lock, .passcode(.set), .readLog(.init()), .listGrants(.init()), .revokeGrants(.init()),
            .registerApplication(.init()), .diagnose(.init()), .cancel(.init()), .authenticatorCommand(.init()),
            .removeKey(.with { $0.ofAnyGroup = true }), .listRights(.with { $0.ofAllApplications = true }),
        ]
        for body in bodies {
            let answer = try stage.ask(body, for: client)
            #expect(answer.refusal == .operationNotPermitted && answer.cause == "door.request", "\(body)")
        }
    }

    // MARK: possible clients

    @Test func `a process of another user is no client`() throws {
        // Root has one made; everybody else has the machine's first process, which is root's.
        let stranger =
            Account.isRoot
            ? try SpawnedProcess(Account.asNobody[0], Array(Account.asNobody.dropFirst()) + ["/bin/sleep", "600"]) : nil
        if let stranger {
            try eventually("it is another user's") {
                DaemonFolders.status(of: "/proc/\(stranger.processID)").st_uid == Account.nobody
            }
        }
        let process = try DoorStage.process(stranger?.processID ?? 1)
        let answer = try stage.ask([.process], [process.number])
        #expect(answer.refusal == .clientRefused && answer.cause == "client.foreign-user")
        try stage.expectLogged("vouch", "client.foreign-user", by: stage.registrations.path)
    }

    @Test func `a client that has ended is refused, by its connection and by its process`() throws {
        let right = try stage.makeRight(.createRight("open", .unrestricted, hasSecret: true))
        let client = try stage.client()
        let process = try client.process()
        let context = try stage.openContext(for: client)
        #expect(try stage.ask(.authorize(right, in: context), for: client).factors == [])
        client.caller.kill()
        try eventually("it has ended") {
            var exit = pollfd(fd: process.number, events: Int16(POLLIN), revents: 0)
            return poll(&exit, 1, 0) == 1
        }
        for answer in [
            try stage.ask(.readSecret(right, in: context), for: client),
            try stage.ask(.openContext(.init()), for: client), try stage.ask([.process], [process.number]),
        ] {
            #expect(answer.refusal == .clientChanged && answer.cause == "client.gone" && answer.tail.isEmpty)
        }
        try stage.expectLogged("vouch", "client.gone")
        #expect(try stage.door.client.status().mode == .userForTests, "the door goes on")
    }

    @Test func `a client that executes another program gets nothing, and no new context on its connection`() throws {
        let right = try stage.makeRight(.createRight("open", .unrestricted, hasSecret: true))
        let client = try stage.client(next: ["/bin/sleep", "600"])
        let context = try stage.openContext(for: client)
        #expect(try stage.ask(.authorize(right, in: context), for: client).factors == [])
        #expect(try stage.ask(.readSecret(right, in: context), for: client).tail == [1, 2, 3])
        try client.caller.executeNext("/usr/bin/sleep")
        for body in [.readSecret(right, in: context), .openContext(.init()), .authorize(right, in: context), .status]
            as [WireRequest.OneOf_Body]
        {
            let answer = try stage.ask(body, for: client)
            #expect(answer.refusal == .clientChanged && answer.cause == "client.changed" && answer.tail.isEmpty)
        }
        try stage.expectLogged("vouch", "client.changed")
        // Another client of the same door is not concerned.
        let other = try stage.client()
        #expect(try stage.ask(.authorize(right, in: stage.openContext(for: other)), for: other).factors == [])
    }

    @Test func `a client that is named by its process and executes another program gets nothing`() throws {
        let right = try stage.makeRight(.createRight("open", .unrestricted, hasSecret: true))
        let client = try stage.client(next: ["/bin/sleep", "600"])
        let process = try client.process()
        func ask(_ body: WireRequest.OneOf_Body) throws -> Answer {
            try stage.ask([.process], [process.number], body)
        }
        guard case .context(let opened)? = try ask(.openContext(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        let context = opened.contextID
        #expect(try ask(.authorize(right, in: context)).factors == [])
        for _ in 0..<3 { #expect(try ask(.readSecret(right, in: context)).tail == [1, 2, 3]) }
        try client.caller.executeNext("/usr/bin/sleep")
        for body in [.readSecret(right, in: context), .openContext(.init()), .authorize(right, in: context), .status]
            as [WireRequest.OneOf_Body]
        {
            let answer = try ask(body)
            #expect(answer.refusal == .clientChanged && answer.cause == "client.changed" && answer.tail.isEmpty)
        }
        client.caller.kill()
        try eventually("it has ended") {
            var exit = pollfd(fd: process.number, events: Int16(POLLIN), revents: 0)
            return poll(&exit, 1, 0) == 1
        }
        let answer = try ask(.readSecret(right, in: context))
        #expect(answer.refusal == .clientChanged && answer.cause == "client.gone" && answer.tail.isEmpty)
    }

    @Test func `what a client that executed another program holds can be closed, and then there is room again`() throws
    {
        let right = try stage.makeRight(.createRight("open", .unrestricted, hasSecret: true))
        var contexts: [UInt64] = []
        // One program may take so many places.
        let clients = try (0..<32).map { _ in try stage.client(next: ["/bin/sleep", "600"]) }
        for client in clients { contexts.append(try stage.openContext(for: client)) }
        #expect(try stage.ask(.authorize(right, in: contexts[0]), for: clients[0]).factors == [])
        let late = try stage.client()
        #expect(try stage.ask(.openContext(.init()), for: late).cause == "door.too-many-clients-of-program")
        try clients[0].caller.executeNext("/usr/bin/sleep")
        #expect(try stage.ask(.deauthorize(.with { $0.contextID = contexts[0] }), for: clients[0]).isDone)
        #expect(try stage.ask(.readSecret(right, in: contexts[0]), for: clients[0]).cause == "client.changed")
        #expect(
            try stage.ask(.closeContext(.with { $0.contextID = contexts[1] }), for: clients[0]).refusal
                == .unknownContext)
        #expect(try stage.ask(.closeContext(.with { $0.contextID = contexts[0] }), for: clients[0]).isDone)
        #expect(try stage.ask(.openContext(.init()), for: late).refusal == nil)
    }

    @Test func `a client that executes another program while it is asked gets no grant`() throws {
        try stage.setPasscode()
        let right = try stage.makeRight(.createRight("bound", .passcode, hasSecret: true))
        let terminal = try PseudoTerminal()
        let client = try stage.client(on: terminal, next: ["/bin/sleep", "600"])
        let context = try stage.openContext(for: client)
        let id = try stage.send(.authorize(right, in: context), for: client, asking: true)
        terminal.waitFor("Passcode: ")
        try client.caller.executeNext("/usr/bin/sleep")
        terminal.answer("Passcode: ", with: Stage.passcode)
        let answer = try stage.door.client.answer(to: id)
        #expect(answer.refusal == .clientChanged && answer.cause == "client.changed")
        try stage.expectLogged(
            "authorize", "client.changed", by: "\(stage.program("client")), through \(stage.registrations.path)")
    }

    @Test func `a client sees at once that the door ended their connection`() throws {
        // The daemon knows the client by that connection, and keeps the context.
        func connected() throws -> Caller {
            let client = try stage.client()
            _ = try stage.openContext(for: client)
            return client.caller
        }
        let caller = try connected()
        #expect(try caller.client.isEndedByDaemon, "the door's end is closed with the test's, and the daemon has none")
    }

    @Test func `a client that is killed takes its question along`() throws {
        try stage.setPasscode()
        let right = try stage.makeRight(.createRight("bound", .passcode, hasSecret: true))
        let terminal = try PseudoTerminal()
        let client = try stage.client(on: terminal)
        let context = try stage.openContext(for: client)
        let id = try stage.send(.authorize(right, in: context), for: client, asking: true)
        terminal.waitFor("Passcode: ")
        client.caller.kill()
        let answer = try stage.door.client.answer(to: id)
        #expect([.appCancel, .systemCancel].contains(answer.refusal) && answer.factors == nil)
    }

    @Test func `the door, the daemon and other doors are no clients`() throws {
        // They are named by their number, and must be open as long as they are sent.
        let door = try DoorStage.process(stage.door.processID)
        let itself = try withExtendedLifetime(door) { try stage.ask([.process], [door.number]) }
        #expect(itself.refusal == .clientRefused && itself.cause == "client.itself")
        // The other end of this socket is the daemon's.
        let daemon = try stage.ask([.socket], [stage.door.connection.number])
        #expect(daemon.refusal == .clientRefused && daemon.cause == "client.itself")
        let path = try stage.program("door2")
        try stage.registrations.register(path, as: "com.example.door2", groups: [], isDoor: true)
        let other = try stage.client("door2")
        let answer = try stage.ask(.openContext(.init()), for: other)
        #expect(answer.refusal == .clientRefused && answer.cause == "client.door")
        try stage.expectLogged("vouch", "client.door", by: stage.registrations.path)
    }

    @Test func `the connection of one client and the process of another are refused`() throws {
        let (one, other) = (try stage.client(), try stage.client())
        let process = try other.process()
        let answer = try withExtendedLifetime(process) {
            try stage.ask([.socket, .process], [one.accepted.number, process.number])
        }
        #expect(answer.refusal == .clientRefused && answer.cause == "client.mismatch")
        try stage.expectLogged("vouch", "client.mismatch")
    }

    @Test func `a socket that nobody connected to the door is no client`() throws {
        let listening = try UnixSocket.listen(at: stage.daemon.folders.root.path("other.socket"))
        let internet = try Descriptor(socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0), from: "socket")
        let unconnected = try Descriptor(ostiary_unix_socket(), from: "socket")
        for number in [listening.number, internet.number, unconnected.number] {
            let answer = try stage.ask([.socket], [number])
            #expect(answer.refusal == .clientRefused && answer.cause == "client.no-connection")
        }
    }

    // MARK: ends of grants

    /// An act of a program or the owner that ends a client's grant.
    enum End: String, CaseIterable { case lock, revocation, passcode, removal }

    @Test(arguments: End.allCases) func `a client's grant ends as any other`(end: End) throws {
        try stage.setPasscode()
        let right = try stage.makeRight(.createRight("bound", .passcode, hasSecret: true))
        let terminal = try PseudoTerminal()
        let client = try stage.client(on: terminal)
        let context = try stage.openContext(for: client, keepingFactors: true)
        let id = try stage.send(.authorize(right, in: context), for: client, asking: true)
        terminal.answer("Passcode: ", with: Stage.passcode)
        #expect(try stage.door.client.answer(to: id).factors == ["passcode"])
        #expect(try stage.ask(.readSecret(right, in: context), for: client).tail == [1, 2, 3])
        switch end {
        case .lock: #expect(try stage.daemon.client().ask(.lock).isDone)
        case .revocation:
            #expect(try stage.daemon.client().ask(.revokeGrants(.with { $0.which = .all(.init()) })).isDone)
        case .passcode: try stage.changePasscode(to: "another battery 8")
        case .removal: #expect(try stage.door.client.ask(.removeRight("bound")).isDone)
        }
        let answer = try stage.ask(.readSecret(right, in: context), for: client)
        #expect(answer.refusal == .notAuthorized && answer.tail.isEmpty, "\(answer.cause)")
        // Nobody may be asked: the kept proof must have ended, too.
        let silent = try stage.ask(.authorize(right, in: context), for: client)
        #expect((end == .removal ? [.notFound] : [.notInteractive, .locked]).contains(silent.refusal))
    }

    /// What ends a client's grant while its door waits for that.
    enum WatchedEnd: String, CaseIterable { case lock, close, execution, death }

    @Test(arguments: WatchedEnd.allCases)
    func `a door waits for the end of its client's grant`(end: WatchedEnd) throws {
        try stage.setPasscode()
        let right = try stage.makeRight(.createRight("open", .unrestricted, hasSecret: true))
        let (client, other) = (try stage.client(next: ["/bin/sleep", "600"]), try stage.client())
        let (context, second) = (try stage.openContext(for: client), try stage.openContext(for: other))
        for (client, context) in [(client, context), (other, second)] {
            #expect(try stage.ask(.authorize(right, in: context), for: client).factors == [])
        }
        func held(by client: DoorStage.Client) throws -> [UInt64]? {
            guard case .heldGrants(let held)? = try stage.ask(.heldGrants(.init()), for: client).body else {
                return nil
            }
            return held.contextIDs
        }
        #expect(try held(by: client) == [context] && held(by: other) == [second])
        let nonce = stage.door.client.nonce
        let listener = try stage.registrations.tool()
        let first = WireAwaitGrantEndRequest.with { $0.connection = nonce }
        guard case .grantEnds(let known)? = try listener.client.ask(.awaitGrantEnd(first)).body else {
            throw RawClient.UnexpectedAnswer()
        }
        let id = try listener.client.send(
            .awaitGrantEnd(.with { ($0.connection, $0.known) = (nonce, known.number) }))
        switch end {
        case .lock: #expect(try stage.daemon.client().ask(.lock).isDone)
        case .close: #expect(try stage.ask(.closeContext(.with { $0.contextID = context }), for: client).isDone)
        case .execution:
            try client.caller.executeNext("/usr/bin/sleep")
            // Nobody is told of an exec: the next request for the client finds it.
            #expect(try stage.ask(.status, for: client).cause == "client.changed")
        case .death: client.caller.kill()
        }
        guard case .grantEnds(let ends)? = try listener.client.answer(to: id).body else {
            throw RawClient.UnexpectedAnswer()
        }
        #expect(ends.number != known.number)
        #expect(try held(by: client) == ([.lock, .close].contains(end) ? [] : nil))
        #expect(try held(by: other) == (end == .lock ? [] : [second]))
    }

    @Test func `what a door's clients were granted ends with its own registration, also when it asked for that`() throws
    {
        let terminal = try PseudoTerminal()
        let stage = try DoorStage(on: terminal)
        let right = try stage.makeRight(.createRight("open", .unrestricted, hasSecret: true))
        let client = try stage.client()
        let context = try stage.openContext(for: client)
        #expect(try stage.ask(.authorize(right, in: context), for: client).factors == [])
        let adoption = WireRegisterApplicationRequest.with {
            ($0.path, $0.adopts, $0.question) = (stage.registrations.path, true, .reason("to test"))
        }
        let id = try stage.door.client.send(.registerApplication(adoption), descriptor: terminal.slave.number)
        terminal.answer("Type yes to go on: ", with: "yes")
        #expect(try stage.door.client.answer(to: id).refusal == nil)
        let answer = try stage.ask(.readSecret(right, in: context), for: client)
        #expect(answer.refusal == .notAuthorized && answer.tail.isEmpty, "\(answer.cause)")
    }

    // MARK: descriptors

    private static let threadDescriptor: SharedDescriptor? = {
        let number = impostor_open_thread()
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }()

    @Test(.enabled(if: threadDescriptor != nil, "the kernel makes no descriptors of threads (before Linux 6.9)"))
    func `a descriptor of a thread names no process`() throws {
        let thread = try #require(Self.threadDescriptor)
        #expect(ostiary_process_of(thread.number) == -1)
        try stage.door.client.send(
            .openContext(.init()), for: DoorStage.behalf([.process]), descriptors: [thread.number])
        #expect(try stage.door.client.isEndedByDaemon, "as with a descriptor of any other file")
    }

    @Test func `connections that leave descriptors before their frames are complete keep nobody from being served`()
        throws
    {
        let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
        let client = try stage.client()
        let limit = try String(contentsOfFile: "/proc/\(stage.daemon.processID)/limits", encoding: .utf8)
            .split(separator: "\n").first { $0.hasPrefix("Max open files") }?.split(separator: " ").compactMap {
                Int($0)
            }
        // The smaller one of the daemon's wish and the system's limit.
        #expect(try #require(limit?.first) >= min(try #require(limit?.last), 8192))
        // Almost as many connections as this process may have.
        let connections = try (0..<56).map { _ in try UnixSocket.connect(to: stage.daemon.folders.socket) }
        let flooding = try connections.map { try RawClient($0) }
        for client in flooding { try client.greet() }
        let three = [CInt](repeating: null.number, count: 3)
        for connection in connections { try connection.sendRaw(descriptors: three, with: 0) }
        for _ in 0..<10 { #expect(try stage.ask(.status, for: client).refusal == nil) }
        #expect(try stage.openContext(for: client) != 0)
        withExtendedLifetime((flooding, null.number)) {}
    }

    @Test func `descriptors that are not those which the request names are refused`() throws {
        let client = try stage.client()
        let (socket, process) = (client.accepted.number, try client.process())
        let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
        let cases: [([WirePassedKind], [CInt])] = [
            ([.process], [socket]), ([.socket], [process.number]), ([.terminal], [null.number]),
            ([.socket, .process], [process.number, socket]), ([.socket, .socket], [socket, socket]),
            ([.process, .process], [process.number, process.number]), ([.socket], [socket, null.number]),
            ([.socket, .terminal], [socket]), ([.socket, .terminal], [null.number, socket]), ([], []), ([], [socket]),
            ([.socket], []), ([.unspecified], [socket]), ([.UNRECOGNIZED(9)], [socket]),
            ([.socket, .socket, .socket], [socket, socket, socket]),
        ]
        for (kinds, descriptors) in cases {
            let answer = try stage.ask(kinds, descriptors)
            #expect(answer.refusal == .malformed && answer.cause == "door.descriptors", "\(kinds) \(descriptors)")
        }
        // A request without a question takes no terminal, and one with a question takes no other device.
        let silent = try stage.ask([.socket, .terminal], [socket, null.number])
        #expect(silent.refusal == .malformed && silent.cause == "door.descriptors")
        #expect(try stage.ask([.socket], [socket]).refusal == nil, "the connection goes on")
    }

    @Test func `nothing stays open of descriptors that were refused, or of clients that have left`() throws {
        let client = try stage.client()
        let process = try client.process()
        _ = try stage.ask([.socket], [client.accepted.number])
        let count = stage.daemon.descriptorCount
        for _ in 0..<40 {
            _ = try stage.ask([.process, .socket], [client.accepted.number, process.number])
            #expect(try stage.ask([.process], [process.number], .status).refusal == nil)
        }
        try eventually("the daemon has as many descriptors as before") { stage.daemon.descriptorCount == count }
    }

    @Test func `more descriptors than can be named end the connection, as one does that nobody named`() throws {
        let client = try stage.client()
        let null = try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
        let count = stage.daemon.descriptorCount
        for descriptors in [
            [CInt](repeating: client.accepted.number, count: 4), [CInt](repeating: client.accepted.number, count: 200),
        ] {
            let connection = try UnixSocket.connect(to: stage.daemon.folders.socket)
            let flood = try RawClient(connection)
            try flood.greet()
            try connection.sendRaw(descriptors: descriptors, with: 0)
            #expect(try flood.isEndedByDaemon)
        }
        for descriptors in [[client.accepted.number], [null.number, null.number]] {
            let silent = try stage.registrations.stranger().greeted()
            try silent.client.send(.openContext(.init()), for: nil, descriptors: descriptors)
            #expect(try silent.client.isEndedByDaemon)
        }
        try eventually("the daemon has as many descriptors as before") { stage.daemon.descriptorCount == count }
    }

    @Test func `a connection of protocol 7 knows no clients and takes no sockets`() throws {
        let client = try stage.client()
        for hasBehalf in [true, false] {
            let former = try stage.daemon.connect()
            let greeting = try former.greeting()
            let hello = WireHello.with { ($0.protocolVersion, $0.nonce) = (7, greeting.nonce) }
            #expect(try former.ask(.hello(hello)).isDone)
            let request = WireRequest.with {
                ($0.id, $0.body) = (9, .openContext(.init()))
                $0.onBehalf = hasBehalf ? DoorStage.behalf([.socket]) : nil
            }
            // The bytes of version 8, which version 7 would have to overlook.
            try former.send(request, descriptors: hasBehalf ? [] : [client.accepted.number])
            #expect(try former.isEndedByDaemon)
        }
    }

    // MARK: shared parts of clients

    @Test func `a context belongs to its client alone`() throws {
        let right = try stage.makeRight(.createRight("open", .unrestricted, hasSecret: true))
        let (one, other) = (try stage.client(), try stage.client())
        let (context, second) = (try stage.openContext(for: one), try stage.openContext(for: other))
        let own = try stage.door.client.openContext()
        #expect(Set([context, second, own]).count == 3)
        #expect(try stage.ask(.authorize(right, in: context), for: one).factors == [])
        #expect(try stage.ask(.readSecret(right, in: context), for: other).refusal == .unknownContext)
        #expect(try stage.door.client.ask(.readSecret(right, in: context)).refusal == .unknownContext)
        #expect(try stage.ask(.readSecret(right, in: own), for: one).refusal == .unknownContext)
        // The same process on another connection of its own is another client.
        let process = try one.process()
        #expect(
            try stage.ask([.process], [process.number], .readSecret(right, in: context)).refusal == .unknownContext)
        #expect(try stage.ask(.readSecret(right, in: context), for: one).tail == [1, 2, 3])
    }

    @Test func `a key that waits for its item belongs to the client that it was made for`() throws {
        let (one, other) = (try stage.client(), try stage.client())
        let accessControl = AccessControl(availability: .whenUnlocked, using: .unrestricted)
        let creation = WireCreateKeyRequest.with {
            ($0.kind, $0.awaitsItem, $0.accessControl) = (.p256, true, Data(accessControl.canonicalBytes))
        }
        guard case .key(let key)? = try stage.ask(.createKey(creation), for: one).body else {
            throw RawClient.UnexpectedAnswer()
        }
        let addition = WireRequest.OneOf_Body.addItem(
            .with {
                ($0.itemClass, $0.keyID) = ("keys", key.keyID)
                $0.attributes = [.with { ($0.key, $0.value) = ("pdmn", .text("dk")) }]
            })
        let removal = WireRequest.OneOf_Body.removeKey(.with { $0.keyID = key.keyID })
        for body in [addition, removal] {
            #expect(try stage.ask(body, for: other).refusal == .notFound)
            #expect(try stage.door.client.ask(body).refusal == .notFound)
        }
        // The client has no context, and is not forgotten meanwhile.
        #expect(try stage.ask(addition, for: one).items?.count == 1)
        #expect(try stage.ask(addition, for: one).refusal != nil, "the key is stored")
    }

    @Test func `a door uses its own objects, and none of its client's`() throws {
        let program = try stage.program("client")
        let direct = try stage.registrations.tool(program)
        let mine = try #require(
            try direct.client.ask(.createRight("mine", .unrestricted, hasSecret: true), tail: [9]).right)
        #expect(try direct.client.ask(.addItem("mine", in: nil), tail: [9]).items?.count == 1)
        let client = try stage.client()
        let context = try stage.openContext(for: client)
        #expect(try stage.ask(.findRight("mine"), for: client).refusal == .notFound)
        #expect(try stage.ask(.authorize(mine.rightID, in: context), for: client).refusal == .notFound)
        #expect(try stage.ask(.findItems("mine"), for: client).refusal == .notFound)
        #expect(try stage.ask(.findItems("mine", in: program), for: client).refusal == .missingEntitlement)
    }

    @Test func `an item for one program is refused to another client unasked, and asked for once by its own`() throws {
        try stage.setPasscode()
        let (own, other) = (try stage.program("client"), try stage.program("other"))
        let rule = try AccessControl(
            availability: .whenUnlocked,
            requirements: [
                .create: .unrestricted, .read: Requirement(anyOf: [.passcode]), .change: .unrestricted,
                .delete: .unrestricted,
            ])
        let addition = WireAddItemRequest.with {
            ($0.itemClass, $0.hasData_p, $0.accessControl) = ("free", true, Data(rule.canonicalBytes))
            $0.attributes = [("labl", "mail"), ("only", own), (".service", "imap")].map { key, text in
                .with { ($0.key, $0.value) = (key, .text(text)) }
            }
        }
        let id = try #require(try stage.door.client.ask(.addItem(addition), tail: [7]).items?.first).itemID
        let reading = WireFindItemsRequest.with {
            ($0.query.itemClass, $0.returnsData, $0.use.question) = ("free", true, .reason("to test"))
            $0.query.attributes = [.with { ($0.key, $0.value) = (".service", .text("imap")) }]
        }
        let (terminal, second) = (try PseudoTerminal(), try PseudoTerminal())
        let (client, stranger) = (try stage.client(on: terminal), try stage.client("other", on: second))
        let planting = WireUpdateItemsRequest.with { ($0.query.itemID, $0.replacesData) = (id, true) }
        let deletion = WireDeleteItemsRequest.with { ($0.query.itemID, $0.use.question) = (id, .reason("to test")) }
        for body in [.findItems(reading), .updateItems(planting), .deleteItems(deletion)]
            as [WireRequest.OneOf_Body]
        {
            // Nobody types anything on its terminal.
            let asked = try stage.send(body, for: stranger, asking: body == .findItems(reading))
            let answer = try stage.door.client.answer(to: asked)
            #expect(answer.refusal == .operationNotPermitted && answer.cause == "item.other-program")
            #expect(answer.tail.isEmpty)
        }
        try stage.expectLogged("item-read", "item.other-program", by: "\(other), through \(stage.registrations.path)")
        let asked = try stage.send(.findItems(reading), for: client, asking: true)
        terminal.answer("Passcode: ", with: Stage.passcode)
        #expect(try stage.door.client.answer(to: asked).tail == [7])
        #expect(try stage.door.client.ask(.findItems(reading)).cause == "item.other-program", "nor the door itself")
        terminal.clearScreen()
        let deleted = try stage.send(.deleteItems(deletion), for: client, asking: true)
        terminal.answer("Passcode: ", with: Stage.passcode)
        #expect(try stage.door.client.answer(to: deleted).isDone)
    }

    @Test func `a client that cancels again and again has to wait, and the others have not`() throws {
        try stage.setPasscode()
        let right = try stage.makeRight(.createRight("bound", .passcode, hasSecret: true))
        let (first, second) = (try PseudoTerminal(), try PseudoTerminal())
        let one = try stage.client("one", on: first)
        let context = try stage.openContext(for: one)
        for _ in 1...3 {
            let id = try stage.send(.authorize(right, in: context), for: one, asking: true)
            first.waitFor("Passcode: ")
            first.type("\u{3}")
            #expect(try stage.door.client.answer(to: id).refusal == .userCancel)
            first.clearScreen()
        }
        let refused = try stage.send(.authorize(right, in: context), for: one, asking: true)
        #expect(try stage.door.client.answer(to: refused).refusal == .cooldown)
        let other = try stage.client("other", on: second)
        let id = try stage.send(.authorize(right, in: stage.openContext(for: other)), for: other, asking: true)
        second.answer("Passcode: ", with: Stage.passcode)
        #expect(try stage.door.client.answer(to: id).factors == ["passcode"])
    }

    @Test func `a door acts for a limited number of clients, and there is room when one has left`() throws {
        // One program may take so many places.
        var clients = try (0..<32).map { _ in try stage.client() }
        for client in clients { _ = try stage.openContext(for: client) }
        let late = try stage.client()
        let answer = try stage.ask(.openContext(.init()), for: late)
        #expect(answer.refusal == .tooMany && answer.cause == "door.too-many-clients-of-program")
        _ = try stage.openContext(for: stage.client("other"))
        clients.removeFirst()
        try eventually("there is room again") { try stage.ask(.openContext(.init()), for: late).refusal == nil }
        #expect(try stage.ask(.openContext(.init()), for: clients[0]).refusal == nil, "another one more of a client")
    }

    @Test func `what a door calls its client is short`() throws {
        let client = try stage.client()
        let long = try stage.ask([.socket], [client.accepted.number], label: String(repeating: "x", count: 65))
        #expect(long.refusal == .invalidParameter && long.cause == "door.label")
        #expect(
            try stage.ask([.socket], [client.accepted.number], label: String(repeating: "x", count: 64)).refusal == nil)
    }
}

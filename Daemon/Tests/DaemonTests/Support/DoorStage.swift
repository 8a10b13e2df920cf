import CLinuxShims
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A daemon, a program that the owner registered as a door, and programs that connect to the door. The test accepts their
/// connections in the door's place; all that the daemon gets comes from the door's own process.
struct DoorStage {
    let registrations: RegistrationStage
    let door: Caller
    private let listener: UnixSocket
    private let listenerPath: String

    var daemon: DaemonProcess { registrations.daemon }

    /// - Parameter terminal: where the door runs, if it asks in its own name.
    init(isDoor: Bool = true, on terminal: PseudoTerminal? = nil) throws {
        registrations = try RegistrationStage()
        try registrations.register(isDoor: isDoor)
        if let terminal {
            door = try Caller(at: registrations.daemon.folders, on: terminal, program: registrations.path).greeted()
        } else {
            door = try registrations.tool()
        }
        listenerPath = registrations.daemon.folders.root.path("door.socket")
        listener = try UnixSocket.listen(at: listenerPath)
    }

    /// A program that connected to the door.
    struct Client {
        let caller: Caller
        /// The door's end of its connection.
        let accepted: UnixSocket
        var terminal: PseudoTerminal?

        var processID: pid_t { caller.processID }

        /// A pidfd.
        func process() throws -> SharedDescriptor { try DoorStage.process(processID) }
    }

    static func process(_ id: pid_t) throws -> SharedDescriptor {
        SharedDescriptor(try Descriptor(ostiary_open_process(id), from: "pidfd_open"))
    }

    /// A program of its own for a client.
    func program(_ name: String) throws -> String {
        let path = daemon.folders.root.path(name)
        if !FileManager.default.fileExists(atPath: path) {
            try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
        }
        return path
    }

    /// Starts a client and accepts its connection.
    func client(
        _ name: String = "client", on terminal: PseudoTerminal? = nil, next: [String] = []
    ) throws -> Client {
        let program = try program(name)
        let caller: Caller
        if let terminal {
            caller = try Caller(
                at: daemon.folders, on: terminal, program: program, connectingTo: listenerPath, next: next)
        } else {
            caller = try Caller(atSocket: listenerPath, program: program, next: next)
        }
        return Client(caller: caller, accepted: try listener.accept(), terminal: terminal)
    }

    /// Two clients that were started in one terminal.
    func clients(of terminal: PseudoTerminal) throws -> (Client, Client) {
        let callers = try Caller.pair(on: terminal, program: program("client"), connectingTo: listenerPath)
        let connections = try [listener.accept(), listener.accept()]
        func client(_ caller: Caller) throws -> Client {
            let accepted = try #require(
                try connections.first { try $0.peerCredentials().processID == caller.processID })
            return Client(caller: caller, accepted: accepted, terminal: terminal)
        }
        return try (client(callers.0), client(callers.1))
    }

    // MARK: requests for clients

    static func behalf(_ kinds: [WirePassedKind], label: String = "") -> WireOnBehalf {
        .with { ($0.descriptors, $0.label) = (kinds, label) }
    }

    /// Sends a request for a client, with its connection and, where it has one and is asked there, its terminal.
    @discardableResult
    func send(
        _ body: WireRequest.OneOf_Body, for client: Client, asking: Bool = false, label: String = "", tail: [UInt8] = []
    ) throws -> UInt64 {
        let terminal = asking ? client.terminal?.slave.number : nil
        return try door.client.send(
            body, for: Self.behalf(terminal == nil ? [.socket] : [.socket, .terminal], label: label), tail: tail,
            descriptors: [client.accepted.number] + (terminal.map { [$0] } ?? []))
    }

    func ask(_ body: WireRequest.OneOf_Body, for client: Client, tail: [UInt8] = []) throws -> Answer {
        try door.client.answer(to: send(body, for: client, tail: tail))
    }

    /// Sends a request with these descriptors under these names.
    func ask(
        _ kinds: [WirePassedKind], _ descriptors: [CInt], _ body: WireRequest.OneOf_Body = .openContext(.init()),
        label: String = ""
    ) throws -> Answer {
        try door.client.answer(
            to: door.client.send(body, for: Self.behalf(kinds, label: label), descriptors: descriptors))
    }

    func openContext(for client: Client, keepingFactors: Bool = false) throws -> UInt64 {
        let request = WireOpenContextRequest.with { $0.keepsFactors = keepingFactors }
        guard case .context(let opened)? = try ask(.openContext(request), for: client).body else {
            throw RawClient.UnexpectedAnswer()
        }
        return opened.contextID
    }

    /// A right of the door, made by it.
    func makeRight(_ body: WireRequest.OneOf_Body) throws -> Data {
        try #require(try door.client.ask(body, tail: [1, 2, 3]).right).rightID
    }

    /// The owner sets a passcode.
    func setPasscode() throws {
        let (owner, terminal) = (registrations.owner.client, registrations.terminal)
        terminal.clearScreen()
        let setting = try owner.send(.passcode(.set), descriptor: terminal.slave.number)
        terminal.answer("New passcode: ", with: Stage.passcode)
        terminal.answer("Repeat new passcode: ", with: Stage.passcode)
        try #require(try owner.answer(to: setting).isDone)
    }

    /// The owner sets another passcode.
    func changePasscode(to passcode: String) throws {
        let (owner, terminal) = (registrations.owner.client, registrations.terminal)
        terminal.clearScreen()
        let change = try owner.send(.passcode(.change), descriptor: terminal.slave.number)
        terminal.answer("Passcode: ", with: Stage.passcode)
        terminal.answer("New passcode: ", with: passcode)
        terminal.answer("Repeat new passcode: ", with: passcode)
        try #require(try owner.answer(to: change).isDone)
    }

    // MARK: the log

    func records() throws -> [WireLogRecord] { try daemon.client().log() }

    func expectLogged(
        _ event: String, _ reason: String, by program: String? = nil, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let reader = try daemon.client()
        try eventually("the log tells of \(event): \(reason)") {
            try reader.log().contains {
                $0.event == event && $0.result == "refused" && $0.reason == reason
                    && (program == nil || $0.program == program)
            }
        }
    }
}

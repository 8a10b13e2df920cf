import CLinuxShims
import Foundation
import Glibc
import HelperProcesses
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import ProcessFacts
import Prompting
import Settings
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import UnixSocket

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import SignIns

/// A broker of several users, with a socket for modules. The test says as whom a module's process counts.
final class SignInStage {
    static let ada = SystemUser(id: 10_001, name: "ada")
    static let eve = SystemUser(id: 10_002, name: "eve")
    /// The system knows them, and the store does not.
    static let grace = SystemUser(id: 10_003, name: "grace")
    static let root: UInt32 = 0

    let fixture: BrokerFixture
    let listener: UnixSocket
    let path: String
    private let asker = Asker()
    private var server: SignInServer

    /// The effective user of processes that connect.
    private final class Asker: Sendable {
        let userID = Mutex<UInt32>(SignInStage.root)
        let behind = Mutex<UInt32?>(nil)
    }

    init(
        sensors: AddedAuthenticators = .none, prompts: PromptConfiguration = PromptConfiguration(),
        sessions: any SessionRecords = SeatedPerson(), facts: any CallerFacts = KernelFacts(),
        asking: @escaping @Sendable (ScriptedPrompter) -> any Prompter = { $0 }
    ) throws {
        fixture = try BrokerFixture(
            serves: .anybody(closing: .never), sensors: sensors, facts: facts, prompts: prompts, asking: asking)
        path = fixture.folder.path("pam.socket")
        listener = try Self.listen(at: path)
        server = try Self.serve(listener, fixture.broker, sessions, asker)
        for user in [Self.ada, Self.eve] { try setPasscode(of: user) }
    }

    deinit {
        server.stop()
        fixture.close()
    }

    private static func serve(
        _ listener: UnixSocket, _ broker: Broker, _ sessions: any SessionRecords, _ asker: Asker
    ) throws -> SignInServer {
        let users = [ada, eve, grace]
        let server = try SignInServer(
            listening: listener, services: broker.services, sessions: sessions,
            prompts: broker.configuration.prompts, policy: PasscodePolicy(exposure: .offline),
            users: SignInUsers(
                peer: { socket in
                    let peer = try socket.peerCredentials()
                    return PeerCredentials(
                        processID: peer.processID, userID: asker.userID.withLock { $0 }, groupID: peer.groupID)
                }, named: { name in users.first { $0.name == name } }, numbered: { id in users.first { $0.id == id } },
                behind: { _, _, _ in asker.behind.withLock { $0 } }))
        Thread { server.run() }.start()
        return server
    }

    /// A socket that keeps messages apart, as the service manager makes it and the daemon takes it over.
    static func listen(at path: String) throws -> UnixSocket {
        let number = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        let descriptor = try Descriptor(number, from: "socket")
        guard ostiary_bind_private(descriptor.number, path) == 0, Glibc.listen(descriptor.number, 64) == 0 else {
            throw SystemCallError("bind", subject: path)
        }
        return try .inherited(descriptor.release())
    }

    /// Ends the server, and begins to serve the same listener again.
    func restartServer() throws {
        server.stop()
        server = try Self.serve(listener, fixture.broker, SeatedPerson(), asker)
    }

    func stopServer() { server.stop() }

    // MARK: the store

    private func setPasscode(of user: SystemUser) throws {
        fixture.prompter.prepare([.text(BrokerFixture.passcode), .text(BrokerFixture.passcode)])
        try fixture.client(as: user).passcode(.set)
        fixture.prompter.prepare([])
    }

    func account(_ user: SystemUser = ada) -> OwnerAccount { fixture.account(of: user)! }

    func lock(_ user: SystemUser = ada) { account(user).ring.lock() }

    func isUnlocked(_ user: SystemUser = ada) -> Bool { account(user).ring.lockState.isUnlocked }

    func failedCount(_ user: SystemUser = ada) throws -> UInt32 { try account(user).keeper.attempts().failedCount }

    /// The records of sign-ins, as `result object operation`.
    func records(_ user: SystemUser = ada, _ event: String = "sign-in") throws -> [String] {
        try fixture.client(as: user).log().filter { $0.event == event }.map {
            "\($0.result) \($0.object) \($0.operation)"
        }
    }

    // MARK: modules

    /// A module in a process of this user. It was greeted.
    func module(asUser userID: UInt32 = root) throws -> ScriptedModule {
        asker.userID.withLock { $0 = userID }
        let module = try ScriptedModule(connectedTo: path)
        guard try module.receive() == Message.hello else { throw NeverHappened(what: "the daemon greets") }
        return module
    }

    /// Root's programs that connect from now on are run by this user; nil for the machine's own.
    func runPrograms(by userID: UInt32?) { asker.behind.withLock { $0 = userID } }

    /// What a request comes to.
    func answer(_ request: [UInt8], asUser userID: UInt32 = root) throws -> [UInt8] {
        let module = try module(asUser: userID)
        try module.send(request)
        return try module.next()
    }

    /// What a question comes to when its first field is answered.
    func answer(_ query: [UInt8], typing secret: String, asUser userID: UInt32 = root) throws -> [UInt8] {
        let module = try module(asUser: userID)
        try module.send(query)
        var message = try module.next()
        // After wrong ones it says first how many are left.
        while message.starts(with: Message.head + [0x03]) { message = try module.next() }
        guard message.starts(with: Message.head + [0x04]) else { throw NeverHappened(what: "the daemon asks") }
        try module.send(Message.typed(secret))
        return try module.next()
    }
}

/// The bytes of messages.
enum Message {
    static let head: [UInt8] = [0x4F, 0x50, 0x01]
    static let hello = head + [0x01]
    static let wait = head + [0x02]
    static let ok = head + [0x06]
    static let no = head + [0x07]
    static let cancelled = head + [0x12]

    static func unavailable(_ obstacle: SignInObstacle) -> [UInt8] { head + [0x08, obstacle.rawValue] }
    static func done(_ result: SignInResult) -> [UInt8] { head + [0x09, result.rawValue] }

    static func made(_ kind: UInt8, _ texts: [String], flags: UInt8? = nil) -> [UInt8] {
        let parts = texts.flatMap { text in
            let bytes = Array(text.utf8)
            return [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
        }
        return head + [kind] + parts + (flags.map { [$0] } ?? [])
    }

    static func query(_ user: String = "ada", service: String = "sudo", remote: String = "", flags: UInt8 = 4)
        -> [UInt8]
    {
        made(0x10, [user, service, remote, ""], flags: flags)
    }

    static func typed(_ secret: String) -> [UInt8] { made(0x11, [secret]) }
    static func open(_ user: String = "ada", with secret: String) -> [UInt8] { made(0x20, [user, "login", secret]) }
    static func change(_ user: String = "ada", from old: String, to new: String) -> [UInt8] {
        made(0x30, [user, old, new])
    }
    static func reset(_ user: String = "ada") -> [UInt8] { made(0x31, [user]) }
    static func shown(_ kind: UInt8, _ text: String) -> [UInt8] { made(kind, [text]) }
}

/// A module that sends what a test says.
final class ScriptedModule {
    let socket: UnixSocket

    init(connectedTo path: String) throws {
        socket = try HelperSocket.connect(to: path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])
        try socket.setReceiveTimeout(seconds: 20)
    }

    func send(_ bytes: [UInt8], terminal: CInt = -1) throws {
        try bytes.withUnsafeBytes { try socket.send($0, descriptor: terminal) }
    }

    /// The next message; empty when the daemon has hung up.
    func receive() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try bytes.withUnsafeMutableBytes { try socket.receive(into: $0, expecting: []).count }
        return Array(bytes[..<count])
    }

    /// The next message but `wait`.
    func next() throws -> [UInt8] {
        while true {
            let message = try receive()
            if message != Message.wait { return message }
        }
    }

    func hangUp() { socket.shutdown() }
}

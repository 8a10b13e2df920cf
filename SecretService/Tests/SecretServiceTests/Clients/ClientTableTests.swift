import Foundation
import Glibc
import MessageBus
import SecretItems
import SecretProgramSupport
import Synchronization
import Testing
import UnixSocket

@testable import SecretService

/// Which client a connection is of.
@Suite(.timeLimit(.minutes(10))) struct ClientTableTests {
    private static let name = "org.example.Service"
    private static let path = "/org/example/one"
    private static let interface = "org.example.Service1"

    /// Callers, as the bus describes them.
    private final class Callers: Sendable {
        private let state = Mutex<[BusCaller]>([])
        var all: [BusCaller] { state.withLock { $0 } }
        func add(_ caller: BusCaller) { state.withLock { $0.append(caller) } }
    }

    /// Two connections of this process.
    private let (former, later): (BusCaller, BusCaller)
    /// A pidfd of this process.
    private let alive: SharedDescriptor

    init() throws {
        let (bus, callers) = (try TestBus(), Callers())
        let method = ServedMethod("Call") { (call, _) throws(BusFault) in
            callers.add(call.caller)
            call.answer()
        }
        let interface = ServedInterface(Self.interface, methods: [method]) { $0 == Self.path }
        let server = try BusServer(
            .address(bus.address), thread: "ostiary-test",
            serving: ServedObjects(at: Self.path, interfaces: [interface]))
        try server.requestName(Self.name)
        for _ in 0..<2 {
            _ = try BusProgram(bus.address).call(Self.path, Self.interface, "Call", to: Self.name)
        }
        server.close()
        let all = callers.all
        (former, later) = (try #require(all.first), try #require(all.last))
        alive = SharedDescriptor(Descriptor(owning: try ProcessNumber.hold(getpid())))
    }

    /// A pidfd of a process that has ended.
    private static func ended() throws -> SharedDescriptor {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["600"]
        try process.run()
        let number = try ProcessNumber.hold(process.processIdentifier)
        // It may keep out the signals that this thread keeps out.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        return SharedDescriptor(Descriptor(owning: number))
    }

    @Test func `the connections of one process are one client`() throws {
        let table = ClientTable(PlayedStore(), HolderLimits()) { [alive] (_) throws(StoreRefusal) in alive }
        let client = try table.client(of: former)
        #expect(try table.client(of: later) === client && former.name != later.name)
    }

    /// A bus that gives pidfds gives that of the process which connected, and its number. The process may have left the connection to another
    /// one and ended, and its number may be a client's by now.
    @Test func `a connection whose process has ended is not that of the client with its number`() throws {
        let (ended, name) = (try Self.ended(), later.name)
        let table = ClientTable(PlayedStore(), HolderLimits()) { [alive] (caller) throws(StoreRefusal) in
            caller.name == name ? ended : alive
        }
        _ = try table.client(of: former)
        #expect(former.processID == later.processID)
        #expect(isUnknown(later, to: table))
        #expect(!table.contains(later.name) && table.contains(former.name))
    }

    @Test func `a process that has another number than the bus says is no client`() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["600"]
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        let other = SharedDescriptor(Descriptor(owning: try ProcessNumber.hold(process.processIdentifier)))
        let table = ClientTable(PlayedStore(), HolderLimits()) { (_) throws(StoreRefusal) in other }
        #expect(isUnknown(former, to: table) && !table.contains(former.name))
    }

    private func isUnknown(_ caller: BusCaller, to table: ClientTable) -> Bool {
        do throws(StoreRefusal) {
            _ = try table.client(of: caller)
            return false
        } catch {
            guard case .noClient = error else { return false }
            return true
        }
    }
}

import MessageBus
import SecretProgramSupport
import Synchronization
import Testing

@testable import SecretService

/// sd-bus looks for an object at each part of a path, so that a few calls at very long ones would hold up all others.
@Suite(.timeLimit(.minutes(10))) struct LongPathTests {
    private static let name = "org.example.Service"
    private static let interface = "org.example.Service1"

    /// The paths that sd-bus asked for.
    private final class Looked: Sendable {
        private let paths = Mutex<[String]>([])
        var all: [String] { paths.withLock { $0 } }
        func add(_ path: String) { paths.withLock { $0.append(path) } }
    }

    @Test(arguments: [(1024, true), (1026, false), (60_000, false)])
    func `a call at a very long path is refused without a look at it`(byteCount: Int, isLooked: Bool) throws {
        let (bus, looked) = (try TestBus(), Looked())
        let method = ServedMethod("Call") { (call, _) throws(BusFault) in call.answer() }
        let interface = ServedInterface(Self.interface, methods: [method]) { path in
            looked.add(path)
            return false
        }
        let server = try BusServer(
            .address(bus.address), thread: "ostiary-test",
            serving: ServedObjects(at: "/org/example", interfaces: [interface]))
        defer { server.close() }
        try server.requestName(Self.name)
        let prefix = "/org/example"
        let path = prefix + String(repeating: "/a", count: (byteCount - prefix.utf8.count) / 2)
        #expect(path.utf8.count == byteCount)
        let program = try BusProgram(bus.address)
        #expect(throws: BusProgramError.answered("org.freedesktop.DBus.Error.UnknownObject")) {
            try program.call(path, Self.interface, "Call", to: Self.name)
        }
        #expect(looked.all.contains(path) == isLooked && (isLooked || looked.all.isEmpty))
    }
}

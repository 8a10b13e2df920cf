import Foundation
import Glibc
import Synchronization
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import MessageBus

/// Objects whose properties are read later, and what a served connection finds out about others.
@Suite(.timeLimit(.minutes(10))) struct LaterReadingTests {
    private static let name = "org.example.Later"
    private static let interface = "org.example.Later1"
    private static let path = "/org/example/later"
    private static let properties = "org.freedesktop.DBus.Properties"

    /// The readings that wait, and what was called.
    private final class Held: Sendable {
        private let state = Mutex<[(call: BusCall, name: String?)]>([])
        var readings: [(call: BusCall, name: String?)] { state.withLock { $0 } }
        var callers: [BusCaller] { readings.map { $0.call.caller } }
        func add(_ call: BusCall, _ name: String?) { state.withLock { $0.append((call, name)) } }
    }

    private let bus: PrivateBus
    private let server: BusServer
    private let held = Held()

    init() throws {
        bus = try PrivateBus()
        let held = held
        let interface = ServedInterface(
            Self.interface,
            properties: [
                ServedProperty.readLater("Label", "s") { (call, _) throws(BusFault) in call.answer() },
                ServedProperty.readLater("Count", "u"),
            ],
            readingLater: { (call, name) throws(BusFault) in held.add(call, name) },
            hasObject: { $0 == Self.path })
        server = try BusServer(
            .address(bus.address), thread: "ostiary-test",
            serving: ServedObjects(at: "/org/example", interfaces: [interface], paths: { [Self.path] }))
        try server.requestName(Self.name)
    }

    private func get(_ arguments: String...) throws -> String {
        let member = arguments.count == 1 ? "GetAll" : "Get"
        return try bus.call(Self.name, Self.path, "\(Self.properties).\(member)", arguments.map { "'\($0)'" })
    }

    private func client() throws -> Bus { try Bus(on: UnixSocket.connect(to: bus.path)) }

    private func begin(_ client: Bus, _ member: String, _ arguments: [String]) throws -> PendingCall {
        let call = try client.send(Self.name, Self.path, Self.properties, member, arguments)
        try client.flush(until: .now + .seconds(10))
        return call
    }

    private func answer(_ call: PendingCall, _ client: Bus) throws -> BusMessage {
        while true {
            let message = try client.next()
            if message.isAnswer(to: call) { return message }
        }
    }

    @Test func `a property is answered later, on its own or with all`() throws {
        let client = try client()
        _ = try client.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
        let one = try begin(client, "Get", [Self.interface, "Label"])
        let all = try begin(client, "GetAll", [Self.interface])
        try eventually("both wait") { held.readings.count == 2 }
        #expect(held.readings.map { $0.name } == ["Label", nil])
        held.readings[1].call.answer { (values) throws(BusFault) in
            try values.appendArray(of: "{sv}") { (values) throws(BusFault) in
                try values.appendDictionaryEntry(of: "sv") { (values) throws(BusFault) in
                    try values.append("Label")
                    try values.appendVariant(of: "s") { (values) throws(BusFault) in try values.append("all") }
                }
            }
        }
        #expect(try answer(all, client).types == "a{sv}")
        held.readings[0].call.answer { (values) throws(BusFault) in
            try values.appendVariant(of: "s") { (values) throws(BusFault) in try values.append("one") }
        }
        let answered = try answer(one, client)
        #expect(try answered.enter(.variant, "s") && answered.readText() == "one")
    }

    @Test func `what the interface does not have is answered at once`() throws {
        for arguments in [[Self.interface, "Nothing"], ["org.example.Nothing", "Label"]] {
            #expect(throws: PrivateBus.CallFailed.self) { try get(arguments[0], arguments[1]) }
        }
        #expect(throws: PrivateBus.CallFailed.self) { try get("org.example.Nothing") }
        #expect(throws: PrivateBus.CallFailed.self) {
            try bus.call(
                Self.name, "/org/example/other", "\(Self.properties).GetAll", ["'\(Self.interface)'"])
        }
        #expect(held.readings.isEmpty)
        let shown = try bus.call(Self.name, Self.path, "org.freedesktop.DBus.Introspectable.Introspect")
        #expect(shown.contains(#"<property name="Label" type="s" access="readwrite">"#), "\(shown)")
    }

    @Test func `the owner of a name is found, and nobody where there is none`() throws {
        #expect(try server.owner(of: "org.example.Nobody") == nil)
        let own = try server.owner(of: Self.name)
        #expect(own?.hasPrefix(":") == true)
        server.close()
        #expect(throws: BusError.self) {
            // The connection ends a moment later.
            for _ in 0..<1_000 {
                _ = try server.owner(of: Self.name)
                usleep(10_000)
            }
        }
    }

    @Test func `a caller's process is held while it is on the bus, and not afterwards`() throws {
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/gdbus")
        program.arguments = [
            "call", "--system", "--dest", Self.name, "--object-path", Self.path, "--method",
            "\(Self.properties).Get", Self.interface, "Label",
        ]
        program.environment = ["PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": bus.address]
        program.standardOutput = FileHandle.nullDevice
        try program.run()
        try eventually("the call waits") { held.callers.count == 1 }
        let caller = held.callers[0]
        #expect(caller.processID == program.processIdentifier)
        #expect(try server.process(of: caller) != nil)
        kill(program.processIdentifier, SIGKILL)
        program.waitUntilExit()
        // A bus that gave a pidfd itself with the call is asked again, too. It may notice the end a moment later.
        try eventually("the caller has left") { try server.process(of: caller) == nil }
    }
}

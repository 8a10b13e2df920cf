import Foundation
import Glibc
import Synchronization
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import MessageBus

@Suite struct HoldingsTests {
    private func holder(_ peer: Int, process: Int32, program: UInt64?) -> Holder {
        Holder(peer: ":1.\(peer)", processID: process, program: program.map { CallerFile(device: 0, inode: $0) })
    }

    @Test func `each limit is reached by the one that it is for`() throws {
        var held = Holdings(HolderLimits(ofPeer: 2, ofProcess: 3, ofProgram: 4, total: 5))
        let (first, second) = (holder(1, process: 7, program: 1), holder(2, process: 7, program: 1))
        try held.take(2, for: first)
        #expect(throws: ReachedLimit.ofPeer(2)) { try held.take(for: first) }
        try held.take(for: second)
        #expect(throws: ReachedLimit.ofProcess(3)) { try held.take(for: second) }
        let third = holder(3, process: 8, program: 1)
        try held.take(for: third)
        #expect(throws: ReachedLimit.ofProgram(4)) { try held.take(for: third) }
        let other = holder(4, process: 9, program: 2)
        #expect(held.left(for: other) == 1 && held.left(for: third) == 0)
        #expect(throws: ReachedLimit.total(5)) { try held.take(2, for: other) }
        try held.take(for: other)
        #expect(throws: ReachedLimit.total(5)) { try held.take(for: other) }
    }

    @Test func `what is given back can be taken again, and nobody is remembered who has nothing`() throws {
        var held = Holdings(HolderLimits(ofPeer: 2, ofProcess: 2, ofProgram: 2, total: 2))
        let one = holder(1, process: 7, program: 1)
        try held.take(2, for: one)
        held.giveBack(2, of: one)
        #expect(held == Holdings(held.limits))
        try held.take(for: holder(2, process: 8, program: nil))
        #expect(held.total == 1)
    }

    @Test func `processes and programs that nobody knows count as one`() throws {
        var held = Holdings(HolderLimits(ofProgram: 1))
        try held.take(for: holder(1, process: 7, program: nil))
        #expect(throws: ReachedLimit.ofProgram(1)) { try held.take(for: holder(2, process: 8, program: nil)) }
    }

    @Test func `the words say whose limit it is`() {
        #expect(ReachedLimit.ofPeer(1).words("prompts") == "This connection has 1 prompts already.")
        #expect(ReachedLimit.ofProcess(2).words("prompts") == "This process has 2 prompts already.")
        #expect(ReachedLimit.ofProgram(3).words("prompts") == "The processes of this program have 3 prompts already.")
        #expect(ReachedLimit.total(4).words("prompts") == "All programs together have 4 prompts already.")
    }
}

/// What callers may have waiting at a served connection.
@Suite(.timeLimit(.minutes(10))) struct CallBudgetTests {
    private static let tooMuch = "org.freedesktop.DBus.Error.LimitsExceeded"
    private static let name = "org.example.Keeper"
    private static let interface = "org.example.Keeper1"
    private static let path = "/org/example/keeper"

    private final class Kept: Sendable {
        private let state = Mutex<[BusCall]>([])
        var calls: [BusCall] { state.withLock { $0 } }
        func add(_ call: BusCall) { state.withLock { $0.append(call) } }
    }

    private let bus: PrivateBus
    private let kept = Kept()

    init() throws { bus = try PrivateBus() }

    /// Serves a method that reads a text, and keeps its calls.
    private func serve(_ limits: ServingLimits) throws -> BusServer {
        let keep = ServedMethod("Keep", "s") { [kept] (call, arguments) throws(BusFault) in
            _ = try arguments.readString()
            kept.add(call)
        }
        let interface = ServedInterface(Self.interface, methods: [keep]) { $0 == Self.path }
        let server = try BusServer(
            .address(bus.address), thread: "ostiary-test",
            serving: ServedObjects(at: Self.path, interfaces: [interface]), limits: limits)
        try server.requestName(Self.name)
        return server
    }

    private func client() throws -> Bus {
        let client = try Bus(on: UnixSocket.connect(to: bus.path))
        _ = try client.call(BusDriver.name, BusDriver.path, BusDriver.name, "GetId")
        return client
    }

    private func keep(_ byteCount: Int, _ client: Bus) throws -> PendingCall {
        try client.send(Self.name, Self.path, Self.interface, "Keep", [String(repeating: "x", count: byteCount)])
    }

    private func refusal(of call: PendingCall, _ client: Bus) throws -> String? {
        let end = ContinuousClock.now + .seconds(60)
        while let message = try client.next(unlessReadable: nil, until: end) {
            guard message.isAnswer(to: call) else { continue }
            do throws(BusError) {
                try message.requireResult(of: call)
                return nil
            } catch { return error.name }
        }
        return "no answer came"
    }

    /// Waits until the call is kept, or refused.
    private func isKept(_ call: PendingCall, _ client: Bus, as count: Int) throws -> Bool {
        while kept.calls.count < count {
            let message = try client.next(unlessReadable: nil, until: .now + .milliseconds(20))
            if let message, message.isAnswer(to: call) { return false }
        }
        return true
    }

    @Test func `what was read of calls that wait counts, and the next one is refused`() throws {
        // A text costs its bytes and eight more.
        let server = try serve(ServingLimits(bytes: HolderLimits(ofProcess: 1_000)))
        defer { server.close() }
        let (first, second) = (try client(), try client())
        for _ in 0..<2 { _ = try keep(400, first) }
        try eventually("both wait") { kept.calls.count == 2 }
        #expect(try refusal(of: keep(200, second), second) == Self.tooMuch)
        _ = try keep(1_000 - 2 * 408 - 8, second)
        try eventually("what fits is kept") { kept.calls.count == 3 }
        #expect(try refusal(of: keep(0, first), first) == Self.tooMuch)
        // Another process has its own share.
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/gdbus")
        program.arguments = [
            "call", "--system", "--dest", Self.name, "--object-path", Self.path, "--method", "\(Self.interface).Keep",
            "'other'",
        ]
        program.environment = ["PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": bus.address]
        program.standardOutput = FileHandle.nullDevice
        try program.run()
        try eventually("another process is served") { kept.calls.count == 4 }
        kept.calls[3].answer()
        program.waitUntilExit()
        kept.calls[0].answer()
        #expect(try refusal(of: keep(401, second), second) == Self.tooMuch)
        _ = try keep(400, second)
        try eventually("what an answer gave back is used") { kept.calls.count == 5 }
    }

    @Test func `a caller that leaves gives back what its calls had`() throws {
        let server = try serve(ServingLimits(bytes: HolderLimits(total: 500)))
        defer { server.close() }
        var leaving: Bus? = try client()
        _ = try keep(400, #require(leaving))
        try eventually("the call waits") { kept.calls.count == 1 }
        let other = try client()
        #expect(try refusal(of: keep(400, other), other) == Self.tooMuch)
        leaving = nil
        try eventually("another call is taken") { try isKept(keep(400, other), other, as: 2) }
    }

    @Test func `a process has so many connections that call`() throws {
        let server = try serve(ServingLimits(peers: HolderLimits(ofProcess: 2)))
        defer { server.close() }
        var clients = [try client(), try client()]
        for client in clients { _ = try keep(1, client) }
        try eventually("both wait") { kept.calls.count == 2 }
        let third = try client()
        #expect(try refusal(of: keep(1, third), third) == Self.tooMuch)
        clients.removeFirst()
        try eventually("its place is free") { try isKept(keep(1, third), third, as: 3) }
    }

    /// The arguments of a call that waits are let go, also those that its handler did not read.
    @Test func `a call that waits does not keep what it brought`() throws {
        let bus = bus
        let kept = kept
        let keep = ServedMethod("Keep", "v") { (call, arguments) throws(BusFault) in
            try arguments.skip()
            kept.add(call)
        }
        let interface = ServedInterface(Self.interface, methods: [keep]) { $0 == Self.path }
        let server = try BusServer(
            .address(bus.address), thread: "ostiary-test",
            serving: ServedObjects(at: Self.path, interfaces: [interface]), limits: ServingLimits())
        defer { server.close() }
        try server.requestName(Self.name)
        let client = try client()
        let before = try residentByteCount()
        for number in 1...10 {
            _ = try client.send(Self.name, Self.path, Self.interface, "Keep") { (values) throws(BusFault) in
                try values.appendVariant(of: "s") { (values) throws(BusFault) in
                    try values.append(String(repeating: "x", count: 16 << 20))
                }
            }
            try client.flush(until: .now + .seconds(60))
            try eventually("the call waits") { kept.calls.count == number }
        }
        // Tests beside this one have memory, too; what the calls brought would be 160 MiB.
        #expect(try residentByteCount() - before < 120 << 20)
    }

    private func residentByteCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
    }
}

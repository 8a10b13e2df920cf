import Dispatch
import Foundation
import Glibc
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import Threading
import UnixSocket

@testable import MessageBus

/// A connection to a bus, on a private one with a service of its own.
@Suite(.timeLimit(.minutes(10))) struct BusTests {
    static let service = "org.example.Reader"
    static let path = "/org/example/Reader"
    static let interface = "org.example.Reader1"

    let bus: PrivateBus
    let connection: Bus

    init() throws {
        bus = try PrivateBus()
        connection = try Bus(on: UnixSocket.connect(to: bus.path))
    }

    func startService() throws -> MockService {
        try MockService(Self.service, at: Self.path, interface: Self.interface, on: bus)
    }

    /// A signal of the service's object.
    static let match = SignalMatch(interface, "Read", from: service, path: path)

    // MARK: calls

    @Test func `a call returns what the other side answered`() throws {
        let driver = "org.freedesktop.DBus"
        let answer = try connection.call(driver, "/org/freedesktop/DBus", driver, "GetNameOwner", driver)
        #expect(try answer.readText() == driver)
        #expect(answer.sender == driver)
    }

    @Test func `an error that the other side answered has its name`() throws {
        let service = try startService()
        defer { service.stop() }
        let error = #expect(throws: BusError.self) {
            try connection.call(Self.service, Self.path, Self.interface, "NoSuchMethod")
        }
        #expect(error?.name == "org.freedesktop.DBus.Error.UnknownMethod")
        #expect(error?.call == "NoSuchMethod")
    }

    @Test func `a service that does not run is not started, and is an error`() throws {
        let error = #expect(throws: BusError.self) {
            try connection.call(Self.service, Self.path, Self.interface, "Read")
        }
        #expect(error?.name == "org.freedesktop.DBus.Error.NameHasNoOwner")
        #expect(error?.isNameWithoutOwner == true)
    }

    @Test func `a bus that lets nobody in is given up in time`() throws {
        bus.pause()
        let begin = ContinuousClock.now
        let late = try Bus(on: UnixSocket.connect(to: bus.path))
        let error = #expect(throws: BusError.self) { try late.call(Self.service, Self.path, Self.interface, "Ping") }
        #expect(error?.code == ETIMEDOUT)
        #expect(begin.duration(to: .now) < .seconds(15))
    }

    @Test func `an answer of another type is an error`() throws {
        let driver = "org.freedesktop.DBus"
        let answer = try connection.call(driver, "/org/freedesktop/DBus", driver, "GetNameOwner", driver)
        #expect(throws: BusError("sd_bus_message_read_basic", code: ENXIO)) { try answer.readUInt32() }
        _ = try answer.readText()
        #expect(throws: BusError("sd_bus_message_read_basic", code: ENXIO)) { try answer.readText() }
    }

    // MARK: signals

    /// The next signal of this name; the bus sends others in between.
    private func nextSignal(_ interface: String = Self.interface, _ member: String = "Read") throws -> BusMessage {
        while true {
            let message = try connection.next()
            if message.isSignal(interface, member) { return message }
        }
    }

    @Test func `a signal that was asked for comes, with the object that it is about and its sender`() throws {
        let service = try startService()
        let owner = try ServiceOwner(of: Self.service, on: connection)
        try connection.receive(Self.match)
        try service.emit(Self.interface, "Unwanted", "no")
        try service.emit(Self.interface, "Read", "first")
        try service.emit(Self.interface, "Read", "second")
        let first = try nextSignal()
        #expect(try first.readText() == "first")
        #expect(first.path == Self.path)
        #expect(owner.isSender(of: first))
        #expect(try nextSignal().readText() == "second")
    }

    @Test func `a signal that somebody else sends is not the service's`() throws {
        let service = try startService()
        let owner = try ServiceOwner(of: Self.service, on: connection)
        try connection.receive(Self.match)
        let name = try #require(try bus.name(ofProcess: getpid()))
        try bus.emit(Self.path, Self.interface + ".Read", ["'forged'"], to: name)
        try service.emit(Self.interface, "Read", "real")
        // No match keeps it away: it was sent to this connection itself.
        let forged = try nextSignal()
        #expect(try forged.readText() == "forged")
        #expect(!owner.isSender(of: forged))
        let real = try nextSignal()
        #expect(try real.readText() == "real")
        #expect(owner.isSender(of: real))
    }

    @Test func `the owner of a name is followed as it comes and goes`() throws {
        var owner = try ServiceOwner(of: Self.service, on: connection)
        #expect(owner.connection == nil)
        let service = try startService()
        while try !owner.follow(connection.next()) {}
        let first = try #require(owner.connection)
        service.stop()
        while try !owner.follow(connection.next()) {}
        #expect(owner.connection == nil)
        let next = try startService()
        defer { next.stop() }
        while try !owner.follow(connection.next()) {}
        #expect(owner.connection != nil && owner.connection != first)
    }

    @Test func `nobody but the bus says who owns a name`() throws {
        let service = try startService()
        defer { service.stop() }
        var owner = try ServiceOwner(of: Self.service, on: connection)
        let real = owner.connection
        let name = try #require(try bus.name(ofProcess: getpid()))
        try bus.emit(
            "/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged",
            ["'\(Self.service)'", "':1.1'", "':1.9'"],
            to: name)
        let forged = try nextSignal("org.freedesktop.DBus", "NameOwnerChanged")
        #expect(try !owner.follow(forged))
        #expect(real != nil && owner.connection == real)
    }

    // MARK: the end of a wait

    @Test func `another thread ends a wait`() throws {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let writer = ends[1]
        Thread.detachNewThread {
            usleep(50_000)
            _ = write(writer, "x", 1)
        }
        while let message = try connection.next(unlessReadable: ends[0]) {
            #expect(!message.isSignal(Self.interface, "Read"))
        }
        #expect(try connection.next(unlessReadable: ends[0]) == nil, "it stays so")
    }

    @Test func `a bus that ends, ends the wait with an error`() throws {
        _ = try ServiceOwner(of: Self.service, on: connection)
        bus.stop()
        let error = #expect(throws: BusError.self) { while true { _ = try connection.next() } }
        #expect(error?.code == ECONNRESET)
    }
}

/// A thread that keeps a connection to a bus.
@Suite(.timeLimit(.minutes(10))) struct BusThreadTests {
    @Test func `a bus that comes later is used, and the next one when it is lost`() throws {
        let bus = try PrivateBus()
        let path = bus.path
        bus.stop()
        let thread = BusThread(name: "ostiary-test", socketPath: path) { (connection, thread) throws(BusError) in
            _ = try ServiceOwner(of: BusTests.service, on: connection)
            thread.isWorking()
            while !thread.isStopped { _ = try connection.next() }
        }
        #expect(thread.state == .starting)
        thread.start(by: Threads.startEventually)
        defer { thread.stop() }
        try eventually("there is no bus") { thread.state == .withoutBus }
        try bus.startAnother()
        try bus.publish()
        try eventually("the bus is used") { thread.state == .working }
        bus.stop()
        try eventually("the bus is gone") { thread.state == .withoutBus }
        try bus.startAnother()
        try bus.publish()
        try eventually("the next bus is used") { thread.state == .working }
    }

    /// Starts the thread; the semaphore is signalled at its end.
    private func start(_ thread: BusThread) -> DispatchSemaphore {
        let ended = DispatchSemaphore(value: 0)
        thread.start { name, body in
            Threads.startEventually(name) {
                body()
                ended.signal()
            }
        }
        return ended
    }

    @Test func `after its stop the bus has no connection of it, and the thread ends`() throws {
        let bus = try PrivateBus()
        let thread = BusThread(name: "ostiary-test", socketPath: bus.path) { (connection, thread) throws(BusError) in
            _ = try ServiceOwner(of: BusTests.service, on: connection)
            thread.isWorking()
            while true { _ = try connection.next() }
        }
        let ended = start(thread)
        try eventually("the bus is used") { thread.state == .working }
        #expect(try bus.names(ofProcess: getpid()).count == 1)
        thread.stop()
        #expect(ended.wait(timeout: .now() + 30) == .success)
        #expect(try bus.names(ofProcess: getpid()).isEmpty)
    }

    @Test func `a stop ends the wait for the next try`() throws {
        let thread = BusThread(
            name: "ostiary-test", socketPath: "/nonexistent/bus", firstDelay: RetryDelay(seconds: 60)
        ) { (_, _) throws(BusError) in Issue.record("there is no bus") }
        let ended = start(thread)
        try eventually("there is no bus") { thread.state == .withoutBus }
        thread.stop()
        #expect(ended.wait(timeout: .now() + 30) == .success)
    }
}

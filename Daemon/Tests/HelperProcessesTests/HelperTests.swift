import Cancellations
import Glibc
import HelperProcesses
import HelperTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

/// How the helper of a test is reached.
enum Way: CaseIterable, Sendable { case spawned, activated }

/// A helper that obeys its messages, reached in one way.
struct Stage {
    let road: HelperRoad
    private let activated: ActivatedHelper?

    init(_ way: Way) throws {
        let program = Build.program("test-helper")
        activated = way == .activated ? try ActivatedHelper(program) : nil
        road = activated?.road ?? .spawned(program: program)
    }

    func start(_ given: GivenDescriptors = .none) throws -> Helper {
        try Helper(road, addingToEnvironment: [HelperEnvironment.programFolders], giving: given)
    }
}

extension Helper {
    /// The answer to a message; nil at the end, or after 20 seconds.
    borrowing func ask(_ text: String, atMost limit: Int = 1024) throws -> String? {
        tell(text)
        guard try wait() == .message, case .bytes(let bytes) = receive(atMost: limit) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    borrowing func wait(seconds: Double = 20, _ stop: PollableCancellation? = nil) throws -> Event {
        let stop = try stop ?? PollableCancellation()
        return wait(until: .now.advanced(by: .seconds(seconds)), stoppedBy: stop.descriptor)
    }

    // A macro takes no value that cannot be copied.

    borrowing func tell(_ text: String, _ location: SourceLocation = #_sourceLocation) {
        let isSent = send(Array(text.utf8))
        #expect(isSent, sourceLocation: location)
    }

    borrowing func pass(_ text: String, _ descriptors: [CInt]) -> Bool {
        send(Array(text.utf8), passing: descriptors)
    }

    borrowing func text() -> String? {
        guard case .bytes(let bytes) = receive(atMost: 1024) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What came, with the first byte behind each descriptor.
    borrowing func received(atMost limit: Int, expecting count: Int) -> String {
        switch receive(atMost: limit, expecting: count) {
        case .message(let bytes, let descriptors):
            var read = [UInt8](repeating: 0, count: descriptors.count)
            for (index, descriptor) in descriptors.enumerated() { _ = Glibc.read(descriptor.number, &read[index], 1) }
            return "\(bytes.count) bytes, " + read.map { "\($0)" }.joined(separator: " ")
        case .ended: return "ended"
        case .tooLong: return "too long"
        case .surplusDescriptors: return "surplus"
        }
    }

    consuming func expectEnd(_ location: SourceLocation = #_sourceLocation) {
        let isGone = end()
        #expect(isGone, sourceLocation: location)
    }

    borrowing func process() throws -> pid_t { try #require(pid_t(ask("process") ?? "")) }
}

@Suite("A helper, whichever way it is reached", .timeLimit(.minutes(10)))
struct HelperTests {
    // MARK: given descriptors and messages

    @Test(arguments: Way.allCases) func `messages keep apart`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        #expect(try helper.ask("echo one") == "one")
        helper.tell("echo two")
        #expect(try helper.ask("echo three") == "two")
        #expect(helper.receive(atMost: 100) == .bytes(Array("three".utf8)))
        helper.expectEnd()
    }

    @Test(arguments: Way.allCases) func `it has its descriptors and no others`(way: Way) throws {
        let pipe = try PipeEnds()
        let reader = pipe.reader.number
        #expect(write(pipe.writer.number, [42], 1) == 1)
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start(GivenDescriptors(connection: 3, count: 6) { $0 == 5 ? reader : -1 })
        #expect(try helper.ask("descriptors") == "0 1 2 3 4 5")
        #expect(try helper.ask("read 5") == "42")
        #expect(try helper.ask("read 4") == "nothing")
        helper.expectEnd()
    }

    @Test(arguments: Way.allCases) func `without further descriptors it has its connection alone`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        #expect(try helper.ask("descriptors") == "0 1 2 3")
        helper.expectEnd()
    }

    /// The places are taken by other descriptors at the start: the service manager gives the connection as number 3.
    @Test(arguments: Way.allCases) func `its connection may have any number`(way: Way) throws {
        let pipe = try PipeEnds()
        let reader = pipe.reader.number
        #expect(write(pipe.writer.number, [9], 1) == 1)
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start(GivenDescriptors(connection: 6, count: 9) { $0 == 3 ? reader : -1 })
        #expect(try helper.ask("descriptors") == "0 1 2 3 4 5 6 7 8")
        #expect(try helper.ask("read 3") == "9")
        helper.expectEnd()
    }

    @Test(arguments: Way.allCases) func `nothing is left of the service manager's variables`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        #expect(try helper.ask("listen") == ".")
        helper.expectEnd()
    }

    // MARK: descriptors with messages

    @Test(arguments: Way.allCases) func `descriptors go to it with a message, in order`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let first = try PipeEnds()
        let second = try PipeEnds()
        #expect(write(first.writer.number, [41], 1) == 1 && write(second.writer.number, [42], 1) == 1)
        let areTwoPassed = helper.pass("passed", [first.reader.number, second.reader.number])
        #expect(areTwoPassed)
        #expect(helper.text() == "41 42.")
        #expect(try helper.ask("passed") == ".")
        // More than a message can carry are not sent, and the helper is as before.
        let areFourPassed = helper.pass("passed", [CInt](repeating: first.reader.number, count: 4))
        #expect(!areFourPassed)
        #expect(try helper.ask("echo here") == "here")
        helper.expectEnd()
    }

    @Test(arguments: Way.allCases) func `descriptors come from it with a message, in order`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        helper.tell("give 3 5")
        #expect(helper.received(atMost: 5, expecting: 3) == "5 bytes, 1 2 3")
        helper.tell("give 2 5")
        #expect(helper.received(atMost: 5, expecting: 3) == "5 bytes, 1 2")
        helper.tell("echo none")
        #expect(helper.received(atMost: 5, expecting: 1) == "4 bytes, ")
        helper.expectEnd()
    }

    @Test(arguments: Way.allCases) func `a message with other descriptors than expected leaves none here`(
        way: Way
    ) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        helper.tell("give 2 5")
        #expect(helper.received(atMost: 5, expecting: 1) == "surplus")
        helper.tell("give 1 6")
        #expect(helper.received(atMost: 5, expecting: 1) == "too long")
        helper.tell("give 1 5")
        #expect(helper.receive(atMost: 5) == .bytes([7, 7, 7, 7, 7]))
        helper.tell("die")
        #expect(helper.received(atMost: 5, expecting: 1) == "ended")
        helper.expectEnd()
    }

    // MARK: faults

    @Test(arguments: Way.allCases) func `a helper that dies before it answers is noticed`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        helper.tell("die")
        if try helper.wait() == .message { #expect(helper.receive(atMost: 100) == .ended) }
        helper.expectEnd()
    }

    @Test(arguments: Way.allCases) func `what it said before it died counts`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let process = try helper.process()
        helper.tell("answer-and-die")
        try eventually("it is gone") { !isRunning(process) }
        #expect(try helper.wait() == .message)
        #expect(helper.receive(atMost: 100) == .bytes(Array("last words".utf8)))
        #expect(helper.receive(atMost: 100) == .ended)
        helper.expectEnd()
    }

    /// The child of foreign code may have taken the connection along.
    @Test(arguments: Way.allCases) func `its death is noticed though another process holds its connection`(way: Way)
        throws
    {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let child = try #require(pid_t(helper.ask("leave-child") ?? ""))
        #expect(try helper.wait() == .ended)
        #expect(isRunning(child))
        helper.expectEnd()
        // It is in the process group of a spawned helper.
        if way == .spawned { try eventually("the child is gone") { !isRunning(child) } }
        kill(child, SIGKILL)
    }

    @Test(arguments: Way.allCases) func `a message of the limit is taken, and a longer one is not`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        #expect(try helper.ask("long 1024")?.utf8.count == 1024)
        helper.tell("long 1025")
        #expect(try helper.wait() == .message)
        #expect(helper.receive(atMost: 1024) == .tooLong)
        // Nothing of it is left.
        #expect(try helper.ask("echo next") == "next")
        helper.expectEnd()
    }

    @Test(arguments: Way.allCases) func `a flood fills no memory of the daemon, and ends with the helper`(way: Way)
        throws
    {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        helper.tell("flood")
        for _ in 0..<1000 { #expect(helper.receive(atMost: 4) == .bytes(Array("more".utf8))) }
        let start = ContinuousClock.now
        helper.expectEnd()
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test(arguments: Way.allCases) func `a silent helper takes no longer than the deadline`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let process = try helper.process()
        #expect(try helper.wait(seconds: 0.2) == .timedOut)
        helper.expectEnd()
        try eventually("it is gone") { !isRunning(process) }
    }

    @Test(arguments: Way.allCases) func `a cancel ends the wait for it`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let stop = try PollableCancellation()
        stop.cancel()
        #expect(try helper.wait(stop) == .stopped)
        helper.expectEnd()
    }

    @Test(arguments: Way.allCases) func `a helper that does not read holds nobody up for long`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let process = try helper.process()
        helper.tell("sleep")
        let start = ContinuousClock.now
        let message = [UInt8](repeating: 1, count: 4096)
        while helper.send(message) {}
        #expect(ContinuousClock.now - start < .seconds(20))
        helper.end()
        kill(process, SIGKILL)
    }

    /// It obeys neither a signal nor the end of its connection.
    @Test(arguments: Way.allCases) func `a stubborn helper takes its end no longer than the limit`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let process = try #require(pid_t(helper.ask("stubborn") ?? ""))
        let start = ContinuousClock.now
        let isGone = helper.end()
        #expect(ContinuousClock.now - start < HelperProcessLimits.end + .seconds(5))
        #expect(isGone == (way == .spawned))
        #expect(isRunning(process) == (way == .activated))
        kill(process, SIGKILL)
    }

    @Test(arguments: Way.allCases) func `a helper that is stuck ends after the daemon's end, and not before`(way: Way)
        throws
    {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let process = try #require(pid_t(helper.ask("stuck") ?? ""))
        // It may still clean up and answer.
        helper.hangUp()
        sleep(2)
        #expect(isRunning(process))
        helper.expectEnd()
        try eventually("it is gone") { !isRunning(process) }
    }

    @Test func `a helper counts as gone when it is, and not when the wait for it ends`() throws {
        let stage = try Stage(.activated)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let process = try #require(pid_t(helper.ask("stubborn") ?? ""))
        let isGone = Atomic(false)
        let wasGone = helper.end { isGone.store(true, ordering: .sequentiallyConsistent) }
        let wasTold = isGone.load(ordering: .sequentiallyConsistent)
        #expect(!wasGone && !wasTold)
        kill(process, SIGKILL)
        try eventually("it counts as gone") { isGone.load(ordering: .sequentiallyConsistent) }
    }

    @Test(arguments: Way.allCases) func `a helper that ends at once counts as gone at once`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        let count = Atomic(0)
        let wasGone = helper.end { count.add(1, ordering: .sequentiallyConsistent) }
        let told = count.load(ordering: .sequentiallyConsistent)
        #expect(wasGone && told == 1)
    }

    @Test(arguments: Way.allCases) func `a helper that is told to end may still answer`(way: Way) throws {
        let stage = try Stage(way)
        defer { withExtendedLifetime(stage) {} }
        let helper = try stage.start()
        helper.tell("echo bye")
        helper.hangUp()
        #expect(helper.receive(atMost: 100) == .bytes(Array("bye".utf8)))
        #expect(helper.receive(atMost: 100) == .ended)
        helper.expectEnd()
    }

    // MARK: its start

    @Test func `a program that cannot be started is said so`() throws {
        let error = #expect(throws: HelperUnavailability.self) {
            try Helper(.spawned(program: "/nonexistent")).end()
        }
        #expect(error == .notStarted(SystemCallError("posix_spawn", subject: "/nonexistent", code: ENOENT)))
        #expect(error?.description.contains("/nonexistent") == true)
        #expect(!HelperRoad.spawned(program: "/nonexistent").isThere)
    }

    /// The variables are the service manager's only if they name this process.
    @Test func `variables for another process are passed over`() throws {
        let helper = try Helper(
            .spawned(program: Build.program("test-helper")),
            addingToEnvironment: ["LISTEN_PID=1", "LISTEN_FDS=1"])
        #expect(try helper.ask("echo here") == "here")
        helper.expectEnd()
    }
}

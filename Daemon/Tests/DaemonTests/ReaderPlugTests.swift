import DeviceTestSupport
import FingerprintTestSupport
import Foundation
import Glibc
import OstiaryMessages
import SystemBusTestSupport
import TerminalTestSupport
import Testing

/// Programs that watch the environment are told of a reader that is plugged in or out: real daemon, real fprintd. udev is played.
@Suite(.timeLimit(.minutes(10)), .enabled(if: PlayedUdev.isPossible, "only root can play udev in a namespace"))
struct ReaderPlugTests {
    private let stack: FingerprintStack
    private let daemon: DaemonProcess

    init() throws {
        stack = try FingerprintStack()
        let folders = try DaemonFolders()
        let options =
            folders.options(systemBus: stack.bus.path) + [
                "--finger-services-user", "\(getuid())", "--templates-socket", "/nowhere/templates",
            ]
        let start = try DaemonStart(in: folders, options: options, under: PlayedUdev.wrapper)
        let daemon = try DaemonProcess(start, in: folders)
        self.daemon = daemon
        // The connection that follows session locks, so that it is not counted later.
        let bus = stack.bus
        try eventually("the daemon is on the bus") { try bus.name(ofProcess: daemon.processID) != nil }
    }

    /// Counts the questions to fprintd: each makes a connection to the bus, and the bus numbers its connections.
    private struct QuestionCount {
        private let bus: PrivateBus
        private var lastNumber: Int
        private var count = 0

        private let former: Set<Int>

        init(on bus: PrivateBus) throws {
            self.bus = bus
            former = try Self.numbers(on: bus)
            lastNumber = former.max() ?? 0
        }

        /// Whether there is no connection but those of before, and the one that asks.
        func areOver() throws -> Bool {
            let numbers = try Self.numbers(on: bus)
            return numbers.subtracting(former) == numbers.max().map { [$0] }
        }

        /// The questions since the beginning.
        mutating func value() throws -> Int {
            let number = try Self.newestNumber(on: bus)
            // One is the connection that asked.
            count += number - lastNumber - 1
            lastNumber = number
            return count
        }

        private static func newestNumber(on bus: PrivateBus) throws -> Int { try #require(numbers(on: bus).max()) }

        private static func numbers(on bus: PrivateBus) throws -> Set<Int> {
            let driver = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.ListNames")
            let names = try bus.call(driver.0, driver.1, driver.2).matches(of: /:1\.([0-9]+)/)
            return Set(names.compactMap { Int($0.output.1) })
        }
    }

    private func environment(in answer: Answer) throws -> WireEnvironment {
        guard case .environment(let state)? = answer.body else { throw RawClient.UnexpectedAnswer() }
        return state
    }

    private func environment(of client: RawClient) throws -> WireEnvironment {
        try environment(in: client.ask(.environment(.init())))
    }

    /// Leaves a watch, and returns when it has asked fprintd and has its answer: a reader that goes before would be noticed.
    private func watch(_ client: RawClient, after known: WireEnvironment) throws -> UInt64 {
        var questions = try QuestionCount(on: stack.bus)
        let id = try client.send(.environment(.with { $0.known = known }))
        try eventually("the watch has asked") { try questions.value() > 0 }
        try eventually("the watch has its answer") { try questions.areOver() }
        return id
    }

    private func announce(_ action: String, count: Int = 1) throws {
        try PlayedUdev.announce(.init(action), to: daemon.processID, count: count)
    }

    @Test func `a reader that is plugged out and in again is told to programs that watch`() throws {
        let client = try daemon.client()
        let known = try environment(of: client)
        #expect(known.biometry != nil)
        let first = try watch(client, after: known)
        try stack.killService()
        try stack.startService(hasReaders: false)
        // fprintd announces nothing.
        #expect(!client.hasAnswer(within: 1_500))
        try announce("remove")
        let without = try environment(in: client.answer(to: first))
        #expect(without.biometry == nil)

        let second = try watch(client, after: without)
        try stack.killService()
        try stack.startService()
        try announce("add")
        #expect(try environment(in: client.answer(to: second)) == known)
    }

    @Test func `devices that change nothing tell nobody, and many of them ask fprintd once`() throws {
        let client = try daemon.client()
        let id = try watch(client, after: environment(of: client))
        var questions = try QuestionCount(on: stack.bus)
        try announce("add", count: 20)
        try eventually("fprintd is asked") { try questions.value() > 0 }
        #expect(!client.hasAnswer(within: 3_000))
        #expect(try questions.value() == 1)
        // The watch still waits.
        try stack.killService()
        try stack.startService(hasReaders: false)
        try announce("remove")
        #expect(try environment(in: client.answer(to: id)).biometry == nil)
    }

    @Test func `devices ask fprintd nothing while nobody watches`() throws {
        let client = try daemon.client()
        _ = try environment(of: client)
        var questions = try QuestionCount(on: stack.bus)
        try announce("add")
        #expect(!client.hasAnswer(within: 3_000))
        #expect(try questions.value() == 0)
    }
}

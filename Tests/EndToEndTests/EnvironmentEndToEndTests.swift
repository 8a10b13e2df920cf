import DaemonTestSupport
import Foundation
import Glibc
import Testing

/// An app that watches how its user can be authenticated, against the real daemon and other processes.
@Suite("The environment, end to end", .serialized, .timeLimit(.minutes(10)))
struct EnvironmentEndToEndTests {
    private let daemon: PrivateDaemon

    init() throws { daemon = try PrivateDaemon() }

    /// A program that prints a line for each change, until it is killed or its input ends.
    private final class Watching {
        let process = Process()
        private let (input, output) = (Pipe(), Pipe())

        init(_ daemon: PrivateDaemon) throws {
            process.executableURL = BuiltProgram.named("right-scenarios")
            process.arguments = ["environment"]
            process.environment = daemon.environment
            (process.standardInput, process.standardOutput) = (input, output)
            try process.run()
        }

        deinit {
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }

        /// The next line; fails after 30 seconds.
        func line() throws -> String {
            var bytes: [UInt8] = []
            let file = output.fileHandleForReading.fileDescriptor
            while true {
                var polled = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
                var byte: UInt8 = 0
                guard poll(&polled, 1, 30_000) > 0, read(file, &byte, 1) == 1 else {
                    throw TestSupportError(
                        "The program said nothing more after “\(String(decoding: bytes, as: UTF8.self))”.")
                }
                if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
                bytes.append(byte)
            }
        }

        /// Asks it for the state; the line that it answers with.
        func ask() throws -> String {
            try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
            return try line()
        }

        /// Ends it in order.
        func end() throws {
            try input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
    }

    @Test func `an observer is told when another process sets and removes the passcode`() throws {
        let program = try Watching(daemon)
        #expect(try program.line() == "at first: passcode not set")
        try daemon.setPasscode()
        #expect(try program.line() == "changed: passcode not set, now passcode set")
        #expect(try program.ask() == "asked: passcode set")
        try daemon.removePasscode()
        #expect(try program.line() == "changed: passcode set, now passcode not set")
        try program.end()
        #expect(program.process.terminationStatus == 0)
    }

    @Test func `an observer outlives the daemon, and is told what has changed, and nothing else`() throws {
        try daemon.setPasscode()
        let program = try Watching(daemon)
        #expect(try program.line() == "at first: passcode set")
        daemon.kill()
        try daemon.start()
        // It asks the new daemon: had it been told of the restart, this would not be the next line.
        #expect(try program.ask() == "asked: passcode set")
        try daemon.removePasscode()
        #expect(try program.line() == "changed: passcode set, now passcode not set")
    }

    @Test func `an observer is told when wrong passcodes bring a delay`() throws {
        try daemon.setPasscode()
        let program = try Watching(daemon)
        #expect(try program.line() == "at first: passcode set")
        let ostiary = BuiltProgram.named("ostiary")
        #expect(try PlayedTerminal(ostiary, ["lock"], in: daemon).status == 0)
        let wrong = ["wrong one 1", "wrong one 2", "wrong one 3"]
        for _ in 0..<2 { #expect(try PlayedTerminal(ostiary, ["unlock"], answers: wrong, in: daemon).status == 3) }
        #expect(try program.line() == "changed: passcode set, now passcode locked")
    }

    @Test func `programs that are killed leave no watch behind`() throws {
        for _ in 0..<2 {
            // As many as one program may have at once.
            let programs = try (0..<32).map { _ in try Watching(daemon) }
            for program in programs { #expect(try program.line() == "at first: passcode not set") }
            for program in programs { Glibc.kill(program.process.processIdentifier, SIGKILL) }
            for program in programs { program.process.waitUntilExit() }
        }
        let program = try Watching(daemon)
        #expect(try program.line() == "at first: passcode not set")
        try daemon.setPasscode()
        #expect(try program.line() == "changed: passcode not set, now passcode set")
    }

    // MARK: questions

    private func played(_ scenario: String, answers: [String]) throws -> PlayedTerminal {
        try PlayedTerminal(BuiltProgram.named("right-scenarios"), [scenario], answers: answers, in: daemon)
    }

    @Test func `two evaluations at once are asked one after the other, and neither is cancelled`() throws {
        try daemon.setPasscode()
        let run = try played("queue", answers: [PrivateDaemon.passcode, PrivateDaemon.passcode])
        #expect(run.shows("both: true, true"))
    }

    @Test func `an invalidation takes the question away, and the next evaluation asks`() throws {
        try daemon.setPasscode()
        let invalidated = try played("invalidation", answers: [])
        #expect(invalidated.shows("Passcode:"))
        #expect(invalidated.shows("invalidated: LAError -9"))
        let next = try played("queue", answers: [PrivateDaemon.passcode, PrivateDaemon.passcode])
        #expect(next.shows("both: true, true"))
    }
}

import Foundation
import Glibc
import MessageBus
import SecretProgramSupport
import Testing

@testable import SecretService

/// The ends of the service's connections.
@Suite(.timeLimit(.minutes(10))) struct LostConnectionTests {
    /// A bus that takes no message larger than this. It ends a connection that sends one.
    private static func narrowBus() throws -> TestBus { try TestBus(limits: ["max_message_size": 150_000]) }

    /// Has the service answer with more than the bus takes.
    static func overfill(_ program: SecretProgram) throws {
        let session = try program.openSession()
        let items = try (0..<2).map { number in
            try program.create(
                "Large \(number)", [:], String(repeating: "x", count: 100_000), in: SecretProgram.sessionCollection,
                session: session)
        }
        _ = try? program.call(SecretProgram.root, "Service", "GetSecrets", [.paths(items), .path(session)])
    }

    @Test func `a connection that the bus ends is lost, and the service with it`() throws {
        let served = try ServedSecrets(on: Self.narrowBus())
        let program = try served.program()
        try Self.overfill(program)
        try eventually("the service has ended") { !served.endings.all.isEmpty }
        guard case .lost(let words) = try #require(served.endings.all.first) else {
            Issue.record("\(served.endings.all)")
            return
        }
        let expected = "The connection to the session's bus was lost (the bus ended the connection:"
        #expect(words.hasPrefix(expected), "\(words)")
        #expect(served.endings.all.count == 1, "its two connections have one end")
        #expect(throws: BusProgramError.self) { _ = try program.search([:]) }
    }

    @Test func `a service that is closed ends once, and not by a failure`() throws {
        let served = try ServedSecrets()
        served.service.close()
        try eventually("the service has ended") { !served.endings.all.isEmpty }
        #expect(served.endings.all == [.closed])
    }

    @Test func `the first end tells the reason, and the last one the end`() {
        let lost = BusError("recvmsg", code: EBADMSG)
        let busEnd = BusError("sd_bus_process", code: ECONNRESET)
        let ends = ConnectionEnds(count: 2)
        #expect(ends.add(lost) == nil && ends.add(nil) == ServiceEnd(lost))
        let others = ConnectionEnds(count: 2)
        #expect(others.add(nil) == nil && others.add(busEnd) == .busEnded)
        let both = ConnectionEnds(count: 2)
        #expect(both.add(busEnd) == nil && both.add(lost) == .busEnded)
        let closed = ConnectionEnds(count: 2)
        #expect(closed.add(nil) == nil && closed.add(nil) == .closed)
    }
}

import Cancellations
import FingerprintTestSupport
import Glibc
import SystemBusTestSupport
import Testing

@testable import FingerprintReader

/// fprintd and the bus end, hang or come back at each step of a verification.
@Suite(.timeLimit(.minutes(10))) struct ServiceFaultTests {
    let stack: FingerprintStack
    let reader: FingerprintReader

    init() throws {
        stack = try FingerprintStack()
        reader = stack.fingerprintReader()
        try stack.enroll(.rightIndex, skin: "owner")
    }

    func attempt(_ body: () throws -> Void) { do { try body() } catch { Issue.record(error) } }

    /// Asking again works.
    func expectMatch(_ location: SourceLocation = #_sourceLocation) throws {
        let result = try reader.verify { if $0 == .armed { try stack.play(.touch("owner")) } }
        #expect(result == .match, sourceLocation: location)
    }

    // MARK: killed

    @Test func `without fprintd there is no verification`() throws {
        try stack.killService()
        #expect(throws: ReaderFailure.withoutService) { try reader.verify { _ in } }
        try stack.startService()
        try expectMatch()
    }

    @Test(arguments: [false, true])
    func `fprintd that is killed after the claim ends it, even if it is started again`(isRestarted: Bool) throws {
        #expect(throws: ReaderFailure.serviceEnded) {
            try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
                attempt { try stack.killService() }
                if isRestarted { attempt { try stack.startService() } }
                return try claimed.verify(within: .seconds(120)) { _ in Issue.record("armed") }
            }
        }
        if !isRestarted { try stack.startService() }
        try expectMatch()
    }

    @Test(arguments: [false, true])
    func `fprintd that is killed while it waits ends the verification, even if it is started again`(isRestarted: Bool)
        throws
    {
        #expect(throws: ReaderFailure.serviceEnded) {
            try reader.verify { event in
                guard event == .armed else { return }
                try stack.killService()
                if isRestarted { try stack.startService() }
            }
        }
        if !isRestarted { try stack.startService() }
        try expectMatch()
    }

    @Test func `fprintd that is killed after a bad touch ends the verification`() throws {
        #expect(throws: ReaderFailure.serviceEnded) {
            try reader.verify { event in
                if event == .armed { try stack.play(.badTouch(0)) }
                if event == .hint(.scanAgain) { try stack.killService() }
            }
        }
        try stack.startService()
        try expectMatch()
    }

    @Test func `a match counts for nothing when fprintd is killed before it answers the stop`() throws {
        #expect(throws: ReaderFailure.serviceEnded) {
            try reader.verify { event in
                guard event == .armed else { return }
                try stack.play(.touch("owner"))
                // The match lies in the connection by then, and is read when this returns.
                try stack.waitUntilDisarmed()
                try stack.killService()
            }
        }
        try stack.startService()
        try expectMatch()
    }

    @Test func `fprintd that is killed before the release leaves the result as it was`() throws {
        let result = try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
            let result = try claimed.verify(within: .seconds(120)) { event in
                if event == .armed { attempt { try stack.play(.touch("owner")) } }
            }
            attempt { try stack.killService() }
            return result
        }
        #expect(result == .match)
        try stack.startService()
        try expectMatch()
    }

    // MARK: silent

    /// A reader with little patience.
    var impatient: FingerprintReader {
        let limits = ReaderLimits(answer: .milliseconds(300), ending: .milliseconds(300))
        return FingerprintReader(socketPath: stack.bus.path, serviceUserID: getuid(), limits: limits)
    }

    @Test func `fprintd that does not answer ends the question about readers by time-out`() throws {
        stack.freezeService()
        #expect(impatient.state() == .unusable(.silent))
        stack.thawService()
        try expectMatch()
    }

    @Test func `fprintd that does not answer the start ends the verification by time-out`() throws {
        #expect(throws: ReaderFailure.silent) {
            try impatient.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
                stack.freezeService()
                return try claimed.verify(within: .seconds(120)) { _ in Issue.record("armed") }
            }
        }
        try stack.thawServiceUntilFree()
        try expectMatch()
    }

    @Test func `fprintd that falls silent while it waits ends the verification by time-out`() throws {
        #expect(throws: ReaderFailure.silent) {
            try impatient.verify(within: .milliseconds(300)) { if $0 == .armed { stack.freezeService() } }
        }
        try stack.thawServiceUntilFree()
        try expectMatch()
    }

    @Test func `a cancelled verification ends soon although fprintd does not answer`() throws {
        let stop = try PollableCancellation()
        let begin = ContinuousClock.now
        #expect(throws: ReaderFailure.stopped) {
            try impatient.verify(stop) { event in
                guard event == .armed else { return }
                stack.freezeService()
                stop.cancel()
            }
        }
        #expect(ContinuousClock.now - begin < .seconds(20))
        try stack.thawServiceUntilFree()
        try expectMatch()
    }

    // MARK: the bus

    @Test func `a bus that ends while the reader waits ends the verification`() throws {
        #expect(throws: ReaderFailure.withoutBus) {
            try reader.verify { if $0 == .armed { stack.bus.stop() } }
        }
        #expect(throws: ReaderFailure.withoutBus) { try reader.verify { _ in } }
        #expect(reader.state() == .unusable(.withoutBus))
    }

    @Test func `a bus that accepts and says nothing is silent`() throws {
        let mute = try MuteListener()
        let limits = ReaderLimits(answer: .milliseconds(300), ending: .milliseconds(300))
        let reader = FingerprintReader(socketPath: mute.path, serviceUserID: getuid(), limits: limits)
        #expect(reader.state() == .unusable(.silent))
    }

    @Test func `a cancel ends the wait for a bus that says nothing`() throws {
        let mute = try MuteListener()
        let reader = FingerprintReader(socketPath: mute.path, serviceUserID: getuid())
        let stop = try PollableCancellation()
        stop.cancel()
        #expect(throws: ReaderFailure.stopped) { try reader.verify(stop) { _ in } }
    }
}

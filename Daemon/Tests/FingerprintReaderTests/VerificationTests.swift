import Cancellations
import FingerprintTestSupport
import Foundation
import Glibc
import Testing

@testable import FingerprintReader

/// Verification on the real fprintd with a reader that libfprint plays.
@Suite(.timeLimit(.minutes(10))) struct VerificationTests {
    let stack: FingerprintStack
    let reader: FingerprintReader

    init() throws {
        stack = try FingerprintStack()
        reader = stack.fingerprintReader()
        try stack.enroll(.rightIndex, skin: "owner")
    }

    // MARK: touches

    @Test func `the enrolled finger matches`() throws {
        var events: [ClaimedReader.VerificationEvent] = []
        let result = try reader.verify { event in
            events.append(event)
            if event == .armed { try stack.play(.touch("owner")) }
        }
        #expect(result == .match)
        #expect(events == [.armed, .expects(.rightIndex)])
        try expectFree()
    }

    @Test func `another finger does not match, and the next touch is asked for in the same claim`() throws {
        var results: [ClaimedReader.VerificationResult] = []
        try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
            for skin in ["stranger", "owner", "stranger"] {
                results.append(
                    try claimed.verify(within: .seconds(120)) { event in
                        if event == .armed { play(.touch(skin)) }
                    })
            }
        }
        #expect(results == [.noMatch, .match, .noMatch])
        try expectFree()
    }

    @Test func `a bad touch is a hint and no try`() throws {
        var hints: [ScanHint] = []
        let result = try reader.verify { event in
            if event == .armed {
                for reason in 0..<4 { play(.badTouch(reason)) }
                play(.touch("owner"))
            }
            if case .hint(let hint) = event { hints.append(hint) }
        }
        #expect(result == .match)
        #expect(hints == [.scanAgain, .swipeTooShort, .notCentered, .removeAndScanAgain])
    }

    @Test func `a finger that is not enrolled cannot be verified`() throws {
        #expect(throws: ReaderFailure.nothingEnrolled) {
            try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
                try claimed.verify(.leftThumb, within: .seconds(120)) { _ in }
            }
        }
        try expectFree()
    }

    @Test func `a user without fingers cannot be verified`() throws {
        #expect(throws: ReaderFailure.nothingEnrolled) {
            try reader.withClaim(for: "nobody", until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
                try claimed.verify(within: .seconds(120)) { _ in play(.touch("owner")) }
            }
        }
        try expectFree()
    }

    // MARK: the reader

    @Test func `a fault of the reader ends the verification, and the next one works`() throws {
        #expect(throws: ReaderFailure.readerFault) { try reader.verify { if $0 == .armed { play(.fault(0)) } } }
        try expectFree()
        try expectMatch()
    }

    @Test func `a reader that is unplugged ends the verification, and works when it is back`() throws {
        #expect(throws: ReaderFailure.disconnected) { try reader.verify { if $0 == .armed { play(.unplug) } } }
        #expect(throws: ReaderFailure.withoutReader) { try reader.verify { _ in } }
        #expect(reader.state() == .unusable(.withoutReader))
        // A virtual reader is plugged in only by a start of fprintd.
        try stack.killService()
        try stack.startService()
        try expectMatch()
    }

    @Test func `a reader that is unplugged between claim and start is disconnected`() throws {
        #expect(throws: ReaderFailure.disconnected) {
            try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
                play(.unplug)
                return try claimed.verify(within: .seconds(120)) { _ in }
            }
        }
    }

    // MARK: ends

    @Test func `a verification that is cancelled is no miss, and disarms the reader`() throws {
        let stop = try PollableCancellation()
        #expect(throws: ReaderFailure.stopped) {
            try reader.verify(stop) { event in
                guard event == .armed else { return }
                let isArmed = try stack.isArmed()
                #expect(isArmed)
                stop.cancel()
            }
        }
        #expect(try !stack.isArmed())
        try expectFree()
        try expectMatch()
    }

    @Test func `a touch that came before the cancel was noticed does not count`() throws {
        let stop = try PollableCancellation()
        #expect(throws: ReaderFailure.stopped) {
            try reader.verify(stop) { event in
                guard event == .armed else { return }
                play(.touch("owner"))
                stop.cancel()
            }
        }
        try expectFree()
    }

    @Test func `nothing is claimed for a verification that was cancelled before`() throws {
        let stop = try PollableCancellation()
        stop.cancel()
        #expect(throws: ReaderFailure.stopped) { try reader.verify(stop) { _ in Issue.record("armed") } }
        try expectFree()
    }

    @Test func `a claim is given back when it is cancelled between claim and start`() throws {
        let stop = try PollableCancellation()
        #expect(throws: ReaderFailure.stopped) {
            try reader.withClaim(until: stop) { (claimed) throws(ReaderFailure) in
                stop.cancel()
                return try claimed.verify(within: .seconds(120)) { _ in Issue.record("armed") }
            }
        }
        try expectFree()
    }

    @Test func `a cancel at any moment of claim and start leaves the reader free`() throws {
        for microseconds in stride(from: UInt32(0), to: 20_000, by: 250) {
            let stop = try PollableCancellation()
            Thread.detachNewThread {
                usleep(microseconds)
                stop.cancel()
            }
            #expect(throws: ReaderFailure.stopped) { try reader.verify(stop) { _ in } }
            try expectFree()
            let isArmed = try stack.isArmed()
            #expect(!isArmed)
        }
    }

    @Test func `a reader that nobody touches ends by time-out, disarmed`() throws {
        #expect(try reader.verify(within: .milliseconds(100)) { _ in } == .timedOut)
        #expect(try !stack.isArmed())
        try expectFree()
        try expectMatch()
    }

    @Test func `an error of the borrower gives the claim back`() throws {
        #expect(throws: ReaderFailure.unexpected("mine")) {
            try reader.withClaim(until: PollableCancellation()) { (_) throws(ReaderFailure) in throw .unexpected("mine")
            }
        }
        try expectFree()
    }

    // MARK: helpers of this suite

    func play(_ event: SensorEvent) {
        do { try stack.play(event) } catch { Issue.record(error) }
    }

    func expectMatch(_ location: SourceLocation = #_sourceLocation) throws {
        let result = try reader.verify { if $0 == .armed { play(.touch("owner")) } }
        #expect(result == .match, sourceLocation: location)
    }

    /// Another program can have the reader.
    func expectFree(_ location: SourceLocation = #_sourceLocation) throws {
        #expect(throws: Never.self, sourceLocation: location) { try stack.claimOnce() }
    }
}

extension FingerprintReader {
    /// One verification in a claim of its own; `touch` is called with each event.
    func verify(
        _ stop: PollableCancellation? = nil, within duration: Duration = .seconds(120),
        _ touch: (ClaimedReader.VerificationEvent) throws -> Void
    ) throws -> ClaimedReader.VerificationResult {
        try withClaim(until: stop ?? PollableCancellation()) { (claimed) throws(ReaderFailure) in
            try claimed.verify(within: duration) { event in
                do { try touch(event) } catch { Issue.record(error) }
            }
        }
    }
}

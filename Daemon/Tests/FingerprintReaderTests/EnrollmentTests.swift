import Cancellations
import FingerprintTestSupport
import Glibc
import Testing

@testable import FingerprintReader

/// Fingers are enrolled and deleted on the real fprintd.
@Suite(.timeLimit(.minutes(10))) struct EnrollmentTests {
    typealias Event = ClaimedReader.EnrollmentEvent

    /// One enrolment; `touch` is called with each event.
    func enroll(
        _ finger: Finger, on stack: FingerprintStack, _ stop: PollableCancellation? = nil,
        within duration: Duration = .seconds(120),
        _ touch: (Event) throws -> Void
    ) throws -> ClaimedReader.EnrollmentResult {
        try stack.fingerprintReader().withClaim(until: stop ?? PollableCancellation()) {
            (claimed) throws(ReaderFailure) in
            try claimed.enroll(finger, within: duration) { event in
                do { try touch(event) } catch { Issue.record(error) }
            }
        }
    }

    func verify(_ skin: String, on stack: FingerprintStack, at reader: VirtualReader = .verifying) throws
        -> ClaimedReader.VerificationResult
    {
        try stack.fingerprintReader().verify { if $0 == .armed { try stack.play(.touch(skin), at: reader) } }
    }

    @Test func `each touch is reported, with the number that the reader wants`() throws {
        let stack = try FingerprintStack()
        var events: [Event] = []
        let result = try enroll(.leftRing, on: stack) { event in
            events.append(event)
            if event == .stagePassed(2) { try stack.play(.badTouch(1)) }
            try stack.play(.touch("owner"))
        }
        #expect(result == .completed)
        #expect(
            events.prefix(5) == [
                .armed(stageCount: 5), .stagePassed(1), .stagePassed(2), .hint(.swipeTooShort), .stagePassed(3),
            ])
        #expect(try verify("owner", on: stack) == .match)
    }

    @Test func `a finger that is enrolled again under its name replaces the first one`() throws {
        let stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "first")
        try stack.enroll(.rightIndex, skin: "second")
        #expect(try verify("first", on: stack) == .noMatch)
        #expect(try verify("second", on: stack) == .match)
    }

    @Test func `a reader that tells fingers apart refuses the same finger under another name`() throws {
        let stack = try FingerprintStack([.identifying])
        try stack.enroll(.rightIndex, skin: "owner", at: .identifying)
        let result = try enroll(.leftIndex, on: stack) { event in try stack.play(.touch("owner"), at: .identifying) }
        #expect(result == .duplicate)
    }

    @Test func `a reader that tells fingers apart knows each of them`() throws {
        let stack = try FingerprintStack([.identifying])
        try stack.enroll(.rightIndex, skin: "first", at: .identifying)
        try stack.enroll(.leftIndex, skin: "second", at: .identifying)
        for skin in ["first", "second"] { #expect(try verify(skin, on: stack, at: .identifying) == .match) }
        #expect(try verify("third", on: stack, at: .identifying) == .noMatch)
    }

    @Test func `an enrolment that is cancelled leaves nothing`() throws {
        let stack = try FingerprintStack()
        let stop = try PollableCancellation()
        #expect(throws: ReaderFailure.stopped) {
            try enroll(.rightIndex, on: stack, stop) { event in
                if event == .stagePassed(2) { stop.cancel() } else { try stack.play(.touch("owner")) }
            }
        }
        #expect(stack.fingerprintReader().state() == .nothingEnrolled(ReaderStateTests.virtual))
        try stack.enroll(.rightIndex, skin: "owner")
        #expect(try verify("owner", on: stack) == .match)
    }

    @Test func `an enrolment that nobody touches ends by time-out`() throws {
        let stack = try FingerprintStack()
        #expect(try enroll(.rightIndex, on: stack, within: .milliseconds(100)) { _ in } == .timedOut)
        #expect(try !stack.isArmed())
    }

    @Test func `a reader that is unplugged ends the enrolment`() throws {
        let stack = try FingerprintStack()
        #expect(throws: ReaderFailure.disconnected) {
            try enroll(.rightIndex, on: stack) { _ in try stack.play(.unplug) }
        }
    }

    @Test func `fprintd that is killed ends the enrolment`() throws {
        let stack = try FingerprintStack()
        #expect(throws: ReaderFailure.serviceEnded) {
            try enroll(.rightIndex, on: stack) { _ in try stack.killService() }
        }
    }

    @Test func `a finger that is not enrolled cannot be deleted`() throws {
        let stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "owner")
        #expect(throws: ReaderFailure.nothingEnrolled) {
            try stack.fingerprintReader().withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
                try claimed.delete(.leftIndex)
            }
        }
        #expect(try verify("owner", on: stack) == .match)
    }
}

import FingerprintTestSupport
import Glibc
import Testing

@testable import FingerprintReader

/// Verification on the real fprintd with a reader that libfprint plays.
@Suite(.timeLimit(.minutes(2))) struct VerificationTests {
    let stack: FingerprintStack
    let reader: FingerprintReader

    init() throws {
        stack = try FingerprintStack()
        reader = stack.fingerprintReader()
        try stack.enroll(.rightIndex, skin: "owner")
    }

    /// One verification; `touch` is called with each event.
    func verify(
        within duration: Duration = .seconds(20), _ stop: ReaderStop? = nil,
        _ touch: (ClaimedReader.VerificationEvent) throws -> Void
    ) throws -> ClaimedReader.VerificationResult {
        let stop = try stop ?? ReaderStop()
        return try reader.withClaim(until: stop) { (claimed) throws(ReaderFailure) in
            try claimed.verify(within: duration) { event in
                do { try touch(event) } catch { Issue.record(error) }
            }
        }
    }

    @Test func `the enrolled finger matches`() throws {
        var events: [ClaimedReader.VerificationEvent] = []
        let result = try verify { event in
            events.append(event)
            if event == .armed { try stack.play(.touch("owner")) }
        }
        #expect(result == .match)
        #expect(events == [.armed, .expects(.rightIndex)])
    }

    @Test func `another finger does not match`() throws {
        let result = try verify { event in if event == .armed { try stack.play(.touch("stranger")) } }
        #expect(result == .noMatch)
    }
}

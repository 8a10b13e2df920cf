import Cancellations
import FingerprintTestSupport
import Glibc
import SystemBusTestSupport
import Testing

@testable import FingerprintReader

/// A match that fprintd did not send, not for this reader, or not at this time, counts for nothing.
@Suite(.timeLimit(.minutes(10))) struct ForgedSignalTests {
    static let path = "/net/reactivated/Fprint/Device/0"
    static let status = "net.reactivated.Fprint.Device.VerifyStatus"
    static let match = ["'verify-match'", "true"]

    // MARK: before the reader is armed

    @Test func `a finger that lies on the reader is waited for until it is lifted`() throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: nil, on: bus)
        try service.addFingerPresence()
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        var toldCount = 0
        try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
            try claimed.waitUntilFingerIsOff {
                toldCount += 1
                do { try service.liftFinger() } catch { Issue.record(error) }
            }
            // At once now.
            try claimed.waitUntilFingerIsOff { toldCount += 1 }
        }
        #expect(toldCount == 1)
    }

    @Test func `a wait for a lifted finger can be stopped`() throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: nil, on: bus)
        try service.addFingerPresence()
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        let stop = try PollableCancellation()
        #expect(throws: ReaderFailure.stopped) {
            try reader.withClaim(until: stop) { (claimed) throws(ReaderFailure) in
                try claimed.waitUntilFingerIsOff { stop.cancel() }
            }
        }
    }

    @Test func `a reader that does not know whether a finger lies on it is not waited for`() throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: nil, on: bus)
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        var toldCount = 0
        try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
            try claimed.waitUntilFingerIsOff { toldCount += 1 }
        }
        #expect(toldCount == 0)
        withExtendedLifetime(service) {}
    }

    // MARK: by others

    @Test(arguments: [false, true])
    func `a match from another program on the bus is ignored`(isSentStraight: Bool) throws {
        let stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "owner")
        let result = try stack.fingerprintReader().verify { event in
            guard event == .armed else { return }
            let receivers: [String?] = isSentStraight ? try stack.bus.names(ofProcess: getpid()) : [nil]
            #expect(!receivers.isEmpty)
            for receiver in receivers { try stack.bus.emit(Self.path, Self.status, Self.match, to: receiver) }
            try stack.play(.touch("stranger"))
        }
        #expect(result == .noMatch)
    }

    @Test func `a match of another reader is ignored`() throws {
        let stack = try FingerprintStack([.verifying, .identifying])
        let paths = try stack.fingerprintReader().readers()
        let other = try #require(paths.first { $0.name.contains("storage") }).path
        let own = try #require(paths.first { $0.path != other }).path
        try stack.enroll(.rightIndex, skin: "owner", path: own)
        try stack.enroll(.leftIndex, skin: "other", at: .identifying, path: other)
        let result = try stack.fingerprintReader().withClaim(of: own, until: PollableCancellation()) {
            (claimed) throws(ReaderFailure) in
            try claimed.verify(within: .seconds(120)) { event in
                guard event == .armed else { return }
                do {
                    // The same fprintd sends it to everybody.
                    let matched = try stack.fingerprintReader().withClaim(of: other, until: PollableCancellation()) {
                        (claimed) throws(ReaderFailure) in
                        try claimed.verify(within: .seconds(120)) { event in
                            if event == .armed { try? stack.play(.touch("other"), at: .identifying) }
                        }
                    }
                    #expect(matched == .match)
                    try stack.play(.touch("stranger"))
                } catch { Issue.record(error) }
            }
        }
        #expect(result == .noMatch)
    }

    @Test func `a match of another reader is ignored, even if it is sent straight to this program`() throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: nil, on: bus)
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        let result = try reader.verify(within: .seconds(1)) { event in
            guard event == .armed else { return }
            for name in try bus.names(ofProcess: getpid()) { try service.sendMatchOfAnotherReader(to: name) }
        }
        #expect(result == .timedOut)
    }

    @Test func `a service that runs as another user than root is not asked`() throws {
        let stack = try FingerprintStack()
        let reader = FingerprintReader(socketPath: stack.bus.path, serviceUserID: getuid() + 1)
        #expect(throws: ReaderFailure.untrustedService) { try reader.verify { _ in } }
        #expect(reader.state() == .unusable(.untrustedService))
    }

    @Test func `a match from a program that took fprintd's name meanwhile is ignored`() throws {
        let stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "owner")
        var usurper: MisbehavingFprint?
        #expect(throws: ReaderFailure.serviceEnded) {
            try stack.fingerprintReader().verify { event in
                guard event == .armed else { return }
                try stack.killService()
                usurper = try MisbehavingFprint(matchingDuring: nil, on: stack.bus)
                try usurper?.sendMatch()
            }
        }
        withExtendedLifetime(usurper) {}
    }

    // MARK: too early or too late

    @Test(arguments: [MisbehavingFprint.Moment.claim, .start])
    func `a match that comes before the start was answered is ignored`(moment: MisbehavingFprint.Moment) throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: moment, on: bus, sendsMissAfterStart: true)
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        #expect(try reader.verify { _ in } == .noMatch)
        withExtendedLifetime(service) {}
    }

    @Test func `a match that comes after a miss is ignored`() throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: .stop, on: bus, sendsMissAfterStart: true)
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        let results = try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
            [try claimed.verify(within: .seconds(120)) { _ in }, try claimed.verify(within: .seconds(20)) { _ in }]
        }
        #expect(results == [.noMatch, .noMatch])
        withExtendedLifetime(service) {}
    }

    @Test func `a match that comes after a cancel is ignored`() throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: .stop, on: bus)
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        let stop = try PollableCancellation()
        #expect(throws: ReaderFailure.stopped) { try reader.verify(stop) { if $0 == .armed { stop.cancel() } } }
        withExtendedLifetime(service) {}
    }

    @Test func `a match that comes after the time-out is ignored`() throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: .stop, on: bus)
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        #expect(try reader.verify(within: .milliseconds(100)) { _ in } == .timedOut)
        withExtendedLifetime(service) {}
    }

    @Test func `the same service's match at the right time counts`() throws {
        let bus = try PrivateBus()
        let service = try MisbehavingFprint(matchingDuring: nil, on: bus)
        let reader = FingerprintReader(socketPath: bus.path, serviceUserID: getuid())
        #expect(try reader.verify { if $0 == .armed { try service.sendMatch() } } == .match)
    }
}

import Cancellations
import FingerprintTestSupport
import Foundation
import Glibc
import StoreTestSupport
import SystemBusTestSupport
import Testing

@testable import FingerprintReader

/// What is said about readers when nobody verifies anything.
@Suite(.timeLimit(.minutes(10))) struct ReaderStateTests {
    static let virtual = ReaderDescription(
        path: "/net/reactivated/Fprint/Device/0", name: "Virtual device for debugging", scanType: .swipe)

    @Test func `without a bus`() {
        let reader = FingerprintReader(socketPath: "/nowhere/system_bus_socket")
        #expect(reader.state() == .unusable(.withoutBus))
        #expect(throws: ReaderFailure.withoutBus) { try reader.readers() }
    }

    @Test func `without fprintd`() throws {
        let bus = try PrivateBus()
        let reader = FingerprintReader(socketPath: bus.path)
        #expect(reader.state() == .unusable(.withoutService))
        #expect(throws: ReaderFailure.withoutService) { try reader.readers() }
    }

    @Test func `with an fprintd that does not start`() throws {
        let folder = try TestFolder()
        try FingerprintProgram.writeBrokenService(in: folder)
        let bus = try PrivateBus(servicesFolder: folder.path)
        #expect(FingerprintReader(socketPath: bus.path).state() == .unusable(.serviceNotStarted))
    }

    @Test func `without a reader`() throws {
        let reader = try FingerprintStack([]).fingerprintReader
        #expect(try reader().readers() == [])
        #expect(reader().state() == .unusable(.withoutReader))
    }

    @Test func `without a finger`() throws {
        let stack = try FingerprintStack()
        #expect(stack.fingerprintReader().state() == .nothingEnrolled(Self.virtual))
    }

    // MARK: polkit

    private static let verify = "net.reactivated.fprint.device.verify"
    private static let setUserName = "net.reactivated.fprint.device.setusername"

    private func claimFailure(of reader: FingerprintReader, for user: String?) throws -> ReaderFailure? {
        let stop = try PollableCancellation()
        do throws(ReaderFailure) { try reader.withClaim(for: user, until: stop) { _ in } } catch { return error }
        return nil
    }

    /// The machine's daemon names its users, and a person's own daemon does not.
    @Test(arguments: [[], [verify], [setUserName]])
    func `a refusal of polkit for another user names the rule`(_ permitted: [String]) throws {
        let stack = try FingerprintStack(permitting: permitted)
        let reader = stack.fingerprintReader()
        #expect(reader.state(for: "daemon") == .unusable(.deniedForOthers))
        #expect(try claimFailure(of: reader, for: "daemon") == .deniedForOthers)
        let own = permitted.contains(Self.verify)
        #expect(reader.state() == (own ? .nothingEnrolled(Self.virtual) : .unusable(.denied)))
        #expect(try claimFailure(of: reader, for: nil) == (own ? nil : .denied))
    }

    @Test func `with both actions of the rule, another user's reader is there`() throws {
        let stack = try FingerprintStack(permitting: [Self.verify, Self.setUserName])
        let reader = stack.fingerprintReader()
        #expect(reader.state(for: "daemon") == .nothingEnrolled(Self.virtual))
        #expect(try claimFailure(of: reader, for: "daemon") == nil)
    }

    @Test func `the words of that refusal say what is missing`() {
        #expect(
            ReaderFailure.deniedForOthers.explanation
                == "The fingerprint service does not let the daemon verify for other users: 50-ostiary.rules is missing."
        )
        #expect(ReaderFailure.deniedForOthers.advice.contains("/usr/share/polkit-1/rules.d"))
    }

    @Test func `the rule permits what the daemon needs, and neither enrolment nor deletion`() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../packaging/system/polkit/50-ostiary.rules").standardizedFileURL
        let rule = try String(contentsOf: path, encoding: .utf8)
        let names = rule.matches(of: /"((?:net|org)\.[a-z._-]+)"/).map { String($0.1) }
        #expect(
            names == [
                Self.verify, Self.setUserName, "org.debian.pcsc-lite.access_pcsc", "org.debian.pcsc-lite.access_card",
            ])
        #expect(rule.contains("subject.user === \"ostiary\""))
    }

    @Test func `with fingers, and with none again`() throws {
        let stack = try FingerprintStack()
        let reader = stack.fingerprintReader()
        try stack.enroll(.rightIndex, skin: "first")
        try stack.enroll(.leftThumb, skin: "second")
        guard case .ready(Self.virtual, let fingers) = reader.state() else {
            Issue.record("\(reader.state())")
            return
        }
        #expect(Set(fingers) == [.rightIndex, .leftThumb])
        for finger in [Finger.rightIndex, .leftThumb] {
            try reader.withClaim(until: PollableCancellation()) { (claimed) throws(ReaderFailure) in
                try claimed.delete(finger)
            }
        }
        #expect(reader.state() == .nothingEnrolled(Self.virtual))
    }

    @Test func `of several readers each is listed`() throws {
        let reader = try FingerprintStack([.verifying, .identifying])
        let names = try reader.fingerprintReader().readers().map(\.name)
        #expect(
            Set(names) == [
                "Virtual device for debugging", "Virtual device with storage and identification for debugging",
            ])
    }

    @Test func `a question arms nothing and claims nothing`() throws {
        let stack = try FingerprintStack()
        let other = try FingerprintAsker(.hold, on: stack.bus)
        try other.waitFor("held")
        #expect(stack.fingerprintReader().state() == .nothingEnrolled(Self.virtual))
        #expect(try !stack.isArmed())
    }

    @Test func `fprintd that does not run is started by the bus, each time`() throws {
        let stack = try FingerprintStack(isOnDemand: true)
        let reader = stack.fingerprintReader()
        #expect(reader.state() == .nothingEnrolled(Self.virtual))
        try stack.enroll(.rightIndex, skin: "owner")
        try stack.killService()
        #expect(reader.state() == .ready(Self.virtual, [.rightIndex]))
        try stack.killService()
        #expect(try reader.verify { if $0 == .armed { try stack.play(.touch("owner")) } } == .match)
    }
}

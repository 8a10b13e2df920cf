import AccessControl
import FingerprintReader
import FingerprintTestSupport
import Foundation
import GRDB
import Glibc
import HelperProcesses
import OstiaryMessages
import Owners
import ProcessFacts
import Prompting
import StoreTestSupport
import SystemBusTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport

/// What doctor and status say of fingers, and whether the command that they name mends it.
@Suite("The doctor on fingers", .timeLimit(.minutes(10)))
struct FingerDiagnosisTests {
    private func finding(_ check: String, _ fixture: BrokerFixture) throws -> WireFinding {
        try #require(try fixture.client().diagnosis().findings.first { $0.check == check })
    }

    private func expect(
        _ check: String, _ verdict: WireFinding.Verdict, says words: String, advises advice: String = "",
        _ fixture: BrokerFixture, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let finding = try finding(check, fixture)
        #expect(finding.verdict == verdict, "\(finding)", sourceLocation: location)
        #expect(finding.message.contains(words), "\(finding)", sourceLocation: location)
        #expect(advice.isEmpty ? finding.advice.isEmpty : finding.advice.contains(advice), sourceLocation: location)
    }

    private static let reader = "fingerprint reader"
    private static let set = "set of fingers"
    private static let questions = "questions for a finger"

    // MARK: where nothing can be used

    private static func broker(_ bus: String) throws -> BrokerFixture {
        try BrokerFixture(
            fingers: FingerSources(
                systemBus: bus, serviceUserID: getuid(),
                templates: HelperSocketAddress(path: "/nowhere/templates", managerUserID: getuid())))
    }

    @Test func `a daemon that uses no fingers says that`() throws {
        let fixture = try BrokerFixture()
        try expect("fingers", .ok, says: "This daemon uses none.", fixture)
        #expect(try fixture.client().status().biometry == nil)
    }

    @Test func `no bus, no fprintd, one that does not start, and no reader are told apart`() throws {
        let none = try Self.broker("/nowhere/bus")
        try expect(Self.reader, .notice, says: "There is no system bus", advises: "systemctl start dbus.socket", none)
        try expect("fingers", .notice, says: "None can be used", advises: "Set a passcode with `ostiary", none)
        try none.setPasscode()
        try expect("fingers", .notice, says: "None can be used", advises: "Your passcode does the same", none)
        let bus = try PrivateBus()
        let without = try Self.broker(bus.path)
        try expect(Self.reader, .notice, says: "not installed", advises: "sudo apt install fprintd", without)
        let folder = try TestFolder()
        let text = "[D-BUS Service]\nName=net.reactivated.Fprint\nExec=/bin/false\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("fprint.service")))
        let failing = try PrivateBus(servicesFolder: folder.path)
        let broken = try Self.broker(failing.path)
        try expect(
            Self.reader, .problem, says: "installed and does not start", advises: "systemctl status fprintd.service",
            broken)
        let bare = try FingerFixture([])
        try expect(Self.reader, .notice, says: "No fingerprint reader is connected", advises: "lsusb", bare.broker)
        let status = try #require(try bare.broker.client().status().biometry)
        #expect(status.sensor.isEmpty && status.obstacle == "biometry.no-sensor" && !status.waitsForPasscode)
        try expect(Self.set, .notice, says: "does not run", advises: "systemctl enable", bare.broker)
        do {
            try bare.create("set", [.biometryCurrentSet, .passcode])
            Issue.record("it was made")
        } catch let refused as Refused { #expect(refused.cause == "biometry.no-sensor") }
        // What follows from it is not told again.
        #expect(try bare.broker.client().diagnosis().findings.allSatisfy { $0.check != Self.questions })
    }

    // MARK: where a reader is

    @Test func `what works is told, with the reader's name and the number of fingers`() throws {
        let fixture = try FingerFixture(hasTemplates: true)
        let broker = fixture.broker
        try expect(Self.reader, .ok, says: "Virtual device for debugging is connected.", broker)
        try expect("fingers", .ok, says: "1 is enrolled and can be used.", broker)
        try expect(Self.set, .ok, says: "ostiary-templates tells", broker)
        try expect(Self.questions, .ok, says: "A finger may answer", broker)
        let status = try #require(try broker.client().status().biometry)
        #expect(status.sensor == "Virtual device for debugging" && status.fingerCount == 1 && status.isSetKnown)
        #expect(status.obstacle.isEmpty && status.explanation.isEmpty && !status.waitsForPasscode)
        #expect(status.missCount == 0 && status.missLimit == 5)
    }

    @Test func `no passcode, and then no finger, have commands of their own`() throws {
        let stack = try FingerprintStack()
        let broker = try Self.broker(stack.bus.path)
        try expect("fingers", .notice, says: "none is set", advises: "`ostiary passcode set`", broker)
        try broker.setPasscode()
        try expect(
            "fingers", .notice, says: "No finger is enrolled.", advises: "`ostiary fingerprint enroll`", broker)
        #expect(try broker.client().status().biometry?.obstacle == "biometry.not-enrolled")
    }

    @Test func `fingers that wait for the passcode are told of it, until it is entered`() throws {
        let fixture = try FingerFixture()
        try fixture.broker.restart()
        try expect(
            "fingers", .notice, says: "after the passcode was entered", advises: "`ostiary unlock`", fixture.broker)
        #expect(try fixture.broker.client().status().biometry?.waitsForPasscode == true)
        try fixture.unlock()
        try expect("fingers", .ok, says: "1 is enrolled", fixture.broker)
        try fixture.stack.enroll(.leftThumb, skin: "other")
        // The store is open meanwhile.
        #expect(try fixture.broker.client().status().unlocked)
        try expect(
            "fingers", .notice, says: "after the passcode was entered", advises: "`ostiary unlock`", fixture.broker)
        #expect(try fixture.broker.client().status().biometry?.obstacle == "biometry.rests")
        try fixture.unlock()
        try expect("fingers", .ok, says: "2 are enrolled", fixture.broker)
    }

    @Test func `wrong fingers are counted, and a lockout is told until the passcode is entered`() throws {
        let fixture = try FingerFixture()
        let miss = SensorEvent.touch("stranger")
        #expect(try fixture.refused("finger", [.wait], [miss, miss, miss])?.cause == "biometry.not-recognised")
        #expect(try fixture.broker.client().status().biometry?.missCount == 3)
        #expect(try fixture.refused("finger", [.wait], [miss, miss])?.cause == "biometry.lockout")
        let status = try #require(try fixture.broker.client().status().biometry)
        #expect(status.missCount == 5 && status.obstacle == "biometry.lockout" && status.waitsForPasscode)
        try expect(
            "fingers", .notice, says: "Too many fingers or faces were not recognised", advises: "`ostiary unlock`",
            fixture.broker)
        try fixture.unlock()
        #expect(try fixture.broker.client().status().biometry?.missCount == 0)
        try expect("fingers", .ok, says: "1 is enrolled", fixture.broker)
    }

    @Test func `a missing ostiary-templates is told, with what it means`() throws {
        let fixture = try FingerFixture()
        try expect(
            Self.set, .notice, says: "ostiary-templates does not run",
            advises: "sudo systemctl enable --now ostiary-templates.socket", fixture.broker)
        #expect(try fixture.broker.client().status().biometry?.isSetKnown == false)
    }

    @Test func `the unit of the daemon that was asked is named, also when it is gone`() throws {
        let machines = "ostiary-templates-daemon"
        let fixture = try FingerFixture(unit: machines)
        try expect(
            Self.set, .notice, says: "ostiary-templates does not run",
            advises: "sudo systemctl enable --now ostiary-templates-daemon.socket", fixture.broker)

        let gone = try FingerFixture(hasTemplates: true, unit: machines)
        let helper = try #require(gone.templates)
        try FileManager.default.removeItem(atPath: helper.socketPath)
        try expect(
            "fingers", .problem, says: "see the line `set of fingers`",
            advises: "sudo systemctl enable --now ostiary-templates-daemon.socket", gone.broker)
        let status = try #require(try gone.broker.client().status().biometry)
        #expect(status.obstacle == "biometry.templates-gone")
        #expect(status.explanation.contains("enable --now ostiary-templates-daemon.socket"), "\(status.explanation)")
    }

    @Test func `templates that cannot be read are a problem`() throws {
        let fixture = try FingerFixture(hasTemplates: true)
        let folder = "\(fixture.stack.templates)/\(TemplatesHelper.userName)"
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/link", withDestinationPath: "/")
        try expect(Self.set, .problem, says: "so none is used", advises: "ostiary-templates@", fixture.broker)
        try expect("fingers", .problem, says: "see the line `set of fingers`", advises: "journalctl", fixture.broker)
    }

    @Test(
        arguments: [
            (.remote, "a session from another machine", "at the machine itself"),
            (.notActive, "no active session", "loginctl activate"), (.sessionLocked, "locked", "unlock-session"),
            (.withoutSession, "no session of yours", "Log in at this machine"),
            (.unknownSession, "systemd-logind does not tell", "systemctl status systemd-logind"),
        ] as [(SensorRefusal, String, String)])
    func `where no finger answers, the reason is told`(refusal: SensorRefusal, words: String, advice: String) throws {
        let fixture = try FingerFixture()
        fixture.prompter.refuseSensors(because: refusal)
        try expect(Self.questions, .notice, says: words, advises: advice, fixture.broker)
    }

    // MARK: the counter

    @Test func `a counter of wrong fingers that does not verify is named, and the passcode mends it`() throws {
        let fixture = try FingerFixture()
        let store = StoppedStore(of: fixture.broker.folder)
        let isOfFingers = "row_key = CAST('biometry' AS BLOB)"
        fixture.broker.close()
        #expect(try store.alter("failed_count", of: "attempt_counters", where: isOfFingers) == 1)
        try fixture.broker.restart()
        let advice = "run `ostiary unlock`, which makes this counter new"
        try expect(
            "wrong tries", .problem, says: "One counts wrong fingers: no finger is used", advises: advice,
            fixture.broker)
        #expect(try !finding("wrong tries", fixture.broker).message.contains("application password"))
        try expect("fingers", .problem, says: "cannot be read how many", advises: "`ostiary unlock`", fixture.broker)
        let status = try #require(try fixture.broker.client().status().biometry)
        #expect(status.missCount == nil && status.obstacle == "biometry.record" && status.waitsForPasscode)
        try fixture.unlock()
        #expect(try finding("wrong tries", fixture.broker).verdict == .ok)
        try fixture.expectNextWorks()
    }
}

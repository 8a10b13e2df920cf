import AccessControl
import FingerprintReader
import FingerprintTestSupport
import Foundation
import OstiaryMessages
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport

/// Fingers on the real fprintd beside a face through the real `ostiary-pam`.
@Suite("A finger beside a face", .timeLimit(.minutes(10)))
struct FingerAndFaceTests {
    private let services: PAMServices
    private let fixture: FingerFixture

    init() throws {
        services = try PAMServices()
        // Nobody is before the camera.
        try services.writeModule("hang")
        fixture = try FingerFixture(hasTemplates: true, face: services)
    }

    /// The service has this module from now on, and the passcode was entered since.
    private func use(_ module: String) throws {
        try services.write("auth required \(module)\n")
        try fixture.unlock()
    }

    private var sensors: [[PromptSensor.Kind]] { fixture.prompter.asked.map { $0.sensors.map(\.kind) } }

    @Test func `is asked for in one question with it, and either opens`() throws {
        #expect(try fixture.open("finger") == ["biometry"])
        #expect(sensors == [[.finger, .face]])
        try use("pam_permit.so")
        #expect(try fixture.open("finger", [.wait], []) == ["biometry-face"])
        #expect(sensors == [[.finger, .face]])
        try fixture.stack.waitUntilFree()
        #expect(try !fixture.stack.isArmed())
        let note = try fixture.broker.client().status().factors.first { $0.factor == "biometry" }?.note
        #expect(note?.hasSuffix(", 1 finger; faces through the PAM service face") == true)
    }

    @Test func `decides what kind of biometry programs are told of`() throws {
        #expect(try fixture.broker.client().environment().biometry?.type == 1)
        try fixture.stack.killService()
        let biometry = try #require(try fixture.broker.client().environment().biometry)
        #expect(biometry.type == 2 && biometry.isUsable)
    }

    @Test func `alone opens what is bound to the current set: no face does`() throws {
        try use("pam_permit.so")
        let grants = try fixture.grantCount()
        #expect(try fixture.refused("set", [.cancel])?.code == .userCancel)
        #expect(sensors == [[.finger]])
        #expect(try fixture.refused("set or passcode", [.cancel])?.code == .userCancel)
        #expect(sensors == [[.finger]])
        #expect(try fixture.grantCount() == grants)
        try fixture.stack.waitUntilFree()
        #expect(try fixture.open("set") == ["biometry-current-set"])
        // With the reader gone nothing opens it, though the face is known.
        try fixture.stack.killService()
        #expect(try fixture.refused("set")?.code == .biometryNotAvailable)
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try fixture.open("finger", [.wait], []) == ["biometry-face"])
    }

    @Test func `in hand from a face, biometry does not stand for the current set`() throws {
        try use("pam_permit.so")
        let client = try fixture.broker.client()
        let context = try client.openContext(keepingFactors: true)
        fixture.prompter.prepare([.wait])
        #expect(try client.authorize(Requirement(anyOf: [.biometry]), in: context) == ["biometry-face"])
        fixture.prompter.prepare([.cancel])
        let right = try client.find("set")
        #expect(try refusal { _ = try client.authorize(right, in: context) } == .userCancel)
        #expect(sensors == [[.finger]])
    }

    // MARK: misses

    @Test func `has its misses counted together with those of faces`() throws {
        try use("pam_deny.so")
        #expect(try fixture.refused("finger")?.cause == "biometry.not-recognised")
        #expect(try fixture.state().missCount == 3)
        try fixture.stack.waitUntilFree()
        #expect(try !fixture.stack.isArmed())
        #expect(try fixture.refused("finger")?.cause == "biometry.lockout")
        #expect(try fixture.state().missCount == 5)
        #expect(try fixture.refused("finger")?.cause == "biometry.lockout")
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try fixture.refused("set")?.cause == "biometry.lockout")
        try use("pam_permit.so")
        #expect(try fixture.open("finger", [.wait], []) == ["biometry-face"])
    }

    @Test func `locks the face too after five misses, and three of them end the helper`() throws {
        let grants = try fixture.grantCount()
        let strangers = Array(repeating: SensorEvent.touch("stranger"), count: 3)
        #expect(try fixture.refused("finger", [.wait], strangers)?.cause == "biometry.not-recognised")
        #expect(try fixture.refused("finger", [.wait], Array(strangers.prefix(2)))?.cause == "biometry.lockout")
        #expect(try fixture.state().face?.obstacle == .lockedOut)
        #expect(try fixture.refused("finger")?.cause == "biometry.lockout")
        #expect(try fixture.grantCount() == grants)
        try use("pam_permit.so")
        #expect(try fixture.open("finger", [.wait], []) == ["biometry-face"])
    }

    // MARK: one of the two fails

    @Test func `goes on when the face's module fails`() throws {
        try use("pam_not_installed.so")
        fixture.prompter.prepare([.wait])
        fixture.during(
            [], untilSaid: "The PAM module for faces is missing or cannot be loaded.",
            then: { [fixture] in try fixture.stack.play(.touch("owner")) })
        #expect(try fixture.broker.authorizeAndSign("finger") == ["biometry"])
    }

    @Test func `whose reader is unplugged leaves the question to the face`() throws {
        try services.writeScript("while [ ! -e \(services.folder.path("go")) ]; do sleep 0.02; done")
        try fixture.unlock()
        fixture.prompter.prepare([.wait])
        fixture.during(
            [.unplug], untilSaid: "The fingerprint reader was unplugged.",
            then: { [services] in try services.write("", to: "go") })
        #expect(try fixture.broker.authorizeAndSign("finger") == ["biometry-face"])
    }

    @Test func `that fails with the face ends the question that has nothing else`() throws {
        try use("pam_not_installed.so")
        fixture.prompter.prepare([.wait])
        fixture.during(
            [], untilSaid: "The PAM module for faces is missing or cannot be loaded.",
            then: { [fixture] in try fixture.stack.play(.unplug) })
        #expect(try fixture.refusedWhilePrepared("finger")?.cause == "biometry.disconnected")
    }

    // MARK: changes

    @Test func `that is enrolled makes the face rest too`() throws {
        try use("pam_permit.so")
        try fixture.stack.enroll(.leftThumb, skin: "second")
        let refused = try fixture.refused("finger")
        #expect(refused?.code == .biometryLockout && refused?.cause == "biometry.rests")
        #expect(fixture.prompter.asked.isEmpty)
        try fixture.unlock()
        #expect(try fixture.open("finger", [.wait], []) == ["biometry-face"])
    }
}

import AccessControl
import Foundation
import Glibc
import HelperProcesses
import OstiaryMessages
import Owners
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport

/// Rights that a face opens, through the real `ostiary-pam` and real PAM modules.
@Suite("A face", .timeLimit(.minutes(10)))
struct FaceTests {
    private let fixture: FaceFixture

    init() throws { fixture = try FaceFixture() }

    // MARK: opening

    @Test func `opens what any of biometry and passcode opens, in one question with the passcode`() throws {
        #expect(try fixture.open("either") == ["biometry-face"])
        let asked = fixture.prompter.asked
        #expect(asked.map(\.kind) == [.enterPasscode] && asked.map(\.sensors) == [[FaceFixture.sensor]])
        let grant = try #require(try fixture.broker.client().log().last { $0.event == "authorize" })
        #expect(grant.result == "granted" && grant.factors == ["biometry-face"] && grant.strength == "broker-bound")
        let use = try #require(try fixture.broker.client().log().last { $0.event == "sign" })
        #expect(use.factors == ["biometry-face"])
    }

    @Test func `opens with the passcode what both must open, the face first`() throws {
        let factors = try fixture.open("both", [.wait, .text(BrokerFixture.passcode)])
        #expect(Set(factors) == ["biometry-face", "passcode"])
        #expect(fixture.prompter.askedKinds == [.sensor, .enterPasscode])
    }

    @Test func `satisfies the policies, and the reuse of its proof names it`() throws {
        for policy: Int32 in [1, 2] {
            fixture.prompter.prepare([.wait])
            let client = try fixture.broker.client()
            #expect(try client.evaluatePolicy(policy, in: client.openContext()) == ["biometry-face"])
        }
        fixture.prompter.prepare([])
        let client = try fixture.broker.client()
        #expect(try client.evaluatePolicy(1, in: client.openContext(), reusing: 100) == ["biometry-face"])
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `is what programs, status and doctor are told of`() throws {
        let client = try fixture.broker.client()
        let biometry = try #require(try client.environment().biometry)
        #expect(biometry.type == 2 && biometry.isEnrolled && biometry.isUsable && !biometry.isLockedOut)
        #expect(biometry.stateHash.isEmpty)
        let factor = try #require(try client.status().factors.first { $0.factor == "biometry" })
        #expect(factor.available && factor.strength == "broker-bound")
        #expect(factor.note == "faces through the PAM service face")
        let finding = try #require(try client.diagnosis().findings.first { $0.check == "face" })
        #expect(finding.verdict == .ok)
        #expect(
            finding.message
                == "The PAM service face (pam_permit.so) looks for your face beside questions in the sheet, and on no "
                + "terminal (face.on-terminals).")
    }

    @Test func `is not looked for unless a service is configured`() throws {
        let broker = try BrokerFixture(fingers: .missing)
        try broker.setPasscode()
        #expect(try #require(broker.account.biometryState()).face == nil)
        #expect(try broker.client().environment().biometry == nil)
        try broker.create("either", Requirement(anyOf: [.biometry, .passcode]), .always)
        #expect(try broker.opens("either", answers: [.text(BrokerFixture.passcode)]))
        #expect(broker.prompter.asked.map(\.sensors) == [[]])
        let finding = try #require(try broker.client().diagnosis().findings.first { $0.check == "face" })
        #expect(finding.verdict == .ok && finding.message.contains("no face.pam-service"))
    }

    // MARK: the current set

    @Test func `is no set that an object could be bound to, and the missing reader is named`() throws {
        let set = try Requirement(anyOf: [.biometryCurrentSet, .passcode])
        let refused = #expect(throws: Refused.self) { try fixture.broker.create("set", set, .always) }
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.service")
    }

    // MARK: the passcode before it

    @Test func `waits for the passcode after a start`() throws {
        try fixture.broker.restart()
        let refused = try fixture.refused("face")
        #expect(refused?.code == .biometryLockout && refused?.cause == "biometry.rests")
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try #require(try fixture.broker.client().environment().biometry).isLockedOut)
        #expect(try fixture.open("either", [.text(BrokerFixture.passcode)]) == ["passcode"])
        #expect(fixture.prompter.asked.map(\.sensors) == [[]])
        #expect(try fixture.open("face") == ["biometry-face"])
    }

    @Test func `waits for the passcode after its service was changed, also when it is changed back`() throws {
        let before = "auth required pam_permit.so\n"
        try fixture.services.write("auth required pam_permit.so debug\n")
        #expect(try fixture.refused("face")?.cause == "biometry.rests")
        try fixture.services.write(before)
        #expect(try fixture.refused("face")?.cause == "biometry.rests")
        #expect(fixture.prompter.asked.isEmpty)
        try fixture.unlock()
        #expect(try fixture.open("face") == ["biometry-face"])
    }

    @Test func `proves nothing for later when its service was changed`() throws {
        fixture.prompter.prepare([.wait])
        let client = try fixture.broker.client()
        let context = try client.openContext(keepingFactors: true)
        let rule = try Requirement(anyOf: [.biometry])
        #expect(try client.authorize(rule, in: context) == ["biometry-face"])
        try fixture.services.write("auth required pam_permit.so debug\n")
        _ = try fixture.state()
        fixture.prompter.prepare([])
        #expect(try refusal { _ = try client.evaluatePolicy(1, in: context, reusing: 100) } == .biometryLockout)
        #expect(try refusal { _ = try client.authorize(rule, in: context) } == .biometryLockout)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `is recognised in vain when its service is changed meanwhile`() throws {
        let grants = try fixture.grantCount()
        try fixture.services.writeScript(fixture.waitingScript)
        try fixture.unlock()
        fixture.whenSaid("begun") { [services = fixture.services] in
            try services.write("auth required pam_permit.so\n")
            try services.write("", to: "go")
        }
        #expect(try fixture.refused("face")?.cause == "biometry.rests")
        try fixture.expectNothingGranted(since: grants)
    }

    // MARK: a service that cannot be used

    @Test func `cannot be looked for through a service that is refused`() throws {
        try fixture.services.write("auth required pam_permit.so\nauth required pam_permit.so\n")
        let refused = try fixture.refused("face")
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.face-service")
        #expect(refused?.explanation.contains("line 2: only one module is allowed") == true)
        #expect(fixture.prompter.asked.isEmpty)
        let client = try fixture.broker.client()
        let biometry = try #require(try client.environment().biometry)
        #expect(biometry.type == 2 && !biometry.isEnrolled && !biometry.isUsable)
        let finding = try #require(try client.diagnosis().findings.first { $0.check == "face" })
        #expect(finding.verdict == .problem && finding.message.contains("only one module is allowed"))
        #expect(try client.status().factors.first { $0.factor == "biometry" }?.available == false)
        // A rule that nothing here could satisfy is not made.
        let created = #expect(throws: Refused.self) {
            try fixture.broker.create("new", Requirement(anyOf: [.biometry]), .always)
        }
        #expect(created?.code == .biometryNotAvailable)
    }

    @Test func `cannot be looked for without the helper`() throws {
        let services = try PAMServices()
        try services.write("auth required pam_permit.so\n")
        let broker = try BrokerFixture(
            fingers: .missing, face: services.source, helpers: .beside(program: "/nowhere/ostiaryd"))
        try broker.setPasscode()
        let client = try broker.client()
        let context = try client.openContext()
        let refused = #expect(throws: Refused.self) { try client.evaluatePolicy(1, in: context) }
        #expect(refused?.code == .biometryNotAvailable && refused?.cause == "biometry.face-helper")
        #expect(broker.prompter.unpreparedCount == 0)
        let finding = try #require(try client.diagnosis().findings.first { $0.check == "face" })
        #expect(finding.verdict == .problem && finding.message.contains("/nowhere/ostiary-pam cannot be started"))
    }
}

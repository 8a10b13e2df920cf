import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport

/// Modules and helpers that fail or misbehave while a face is looked for. Nothing is granted that was not proved, and the next
/// evaluation works.
@Suite("While a face is looked for", .timeLimit(.minutes(10)))
struct FaceFaultTests {
    private let fixture: FaceFixture
    private let grants: Int

    init() throws {
        fixture = try FaceFixture()
        grants = try fixture.grantCount()
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let module: String
        let code: WireFailureCode
        let cause: String
        var testDescription: String { module }

        init(_ module: String, _ cause: String, _ code: WireFailureCode = .biometryNotAvailable) {
            (self.module, self.cause, self.code) = (module, cause, code)
        }
    }

    // MARK: modules that decide nothing

    @Test(arguments: [
        Fault("pam_unix.so", "biometry.face-asked"), Fault("pam_not_installed.so", "biometry.face-module"),
        Fault("pam_debug.so auth=authinfo_unavail", "biometry.face-unavailable"),
        Fault("pam_debug.so auth=user_unknown", "biometry.face-not-enrolled", .biometryNotEnrolled),
    ])
    func `a module decides nothing`(_ fault: Fault) throws {
        try fixture.use(fault.module)
        let refused = try fixture.refused("face")
        #expect(refused?.code == fault.code && refused?.cause == fault.cause)
        #expect(try fixture.state().missCount == 0)
        #expect(try fixture.open("either", [.text(BrokerFixture.passcode)]) == ["passcode"])
        try fixture.expectNothingGranted(since: grants + 1)
    }

    @Test(arguments: [
        Fault("say-style 1", "biometry.face-asked"), Fault("say-style 2", "biometry.face-asked"),
        Fault("crash", "biometry.face-helper"), Fault("exit", "biometry.face-helper"),
        Fault("garbage", "biometry.face-helper"), Fault("other-user", "biometry.face-unavailable"),
    ])
    func `a module misbehaves`(_ fault: Fault) throws {
        try fixture.useModule(fault.module)
        let refused = try fixture.refused("face")
        #expect(refused?.code == fault.code && refused?.cause == fault.cause)
        #expect(try fixture.state().missCount == 0)
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `a module that asks for a password gets none, though the passcode is typed`() throws {
        // It asks without echo, keeps what it gets, and says yes.
        try fixture.useModule("say-style 1")
        fixture.whenSaid(
            "The PAM module asked for something to be typed. Only modules that look for a face by themselves count.")
        #expect(try fixture.open("either", [.text(BrokerFixture.passcode)]) == ["passcode"])
    }

    @Test func `the helper is killed`() throws {
        try fixture.services.writeStarter("kill -9 $PPID; sleep 1000")
        try fixture.unlock()
        #expect(try fixture.refused("face")?.cause == "biometry.face-helper")
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `a sensor that failed is not asked again when the question is`() throws {
        try fixture.use("pam_not_installed.so")
        fixture.whenSaid("The PAM module for faces is missing or cannot be loaded.")
        #expect(try fixture.open("either", [.text("wrong"), .text(BrokerFixture.passcode)]) == ["passcode"])
        #expect(fixture.prompter.asked.map(\.sensors) == [[FaceFixture.sensor], []])
    }

    // MARK: questions that end

    @Test(arguments: [true, false])
    func `a question that ends, ends the helper and what it started`(isAlone: Bool) throws {
        try fixture.services.writeStarter("sleep 1000")
        try fixture.unlock()
        fixture.prompter.prepare([.cancel])
        fixture.whenStarted()
        #expect(try refusal { _ = try fixture.broker.authorizeAndSign(isAlone ? "face" : "either") } == .userCancel)
        let module = try fixture.startedProcess()
        try eventually("the module ended") { !isRunning(module) }
        #expect(try fixture.state().missCount == 0)
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `a passcode that comes first ends the helper`() throws {
        try fixture.services.writeStarter("sleep 1000")
        try fixture.unlock()
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        fixture.whenStarted()
        #expect(try fixture.broker.authorizeAndSign("either") == ["passcode"])
        let module = try fixture.startedProcess()
        try eventually("the module ended") { !isRunning(module) }
    }

    @Test func `a yes that comes together with a no is none`() throws {
        #expect(try fixture.refused("face", [.cancelAnyway])?.code == .userCancel)
        #expect(try fixture.refused("either", [.cancelAnyway])?.code == .userCancel)
        #expect(try fixture.grantCount() == grants)
    }

    @Test func `a yes that comes after a no is none`() throws {
        // The module says yes as soon as the question has ended.
        try fixture.services.writeScript("trap '' TERM; \(fixture.waitingScript)")
        try fixture.unlock()
        fixture.prompter.prepare([.cancel])
        fixture.whenSaid("begun")
        #expect(try refusal { _ = try fixture.broker.authorizeAndSign("face") } == .userCancel)
        try fixture.services.write("", to: "go")
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `a program that goes away ends it`() throws {
        try fixture.services.writeStarter("sleep 1000")
        try fixture.unlock()
        fixture.prompter.prepare([.wait])
        let client = try fixture.broker.client()
        let (right, context) = (try client.find("face"), try client.openContext())
        _ = try client.send(
            .authorize(
                .with {
                    ($0.contextID, $0.subject) = (context, .rightID(right.rightID))
                    $0.question = TestClient.question
                }))
        let module = try fixture.startedProcess()
        client.end()
        try eventually("the module ended") { !isRunning(module) }
        try fixture.expectNothingGranted(since: grants)
    }

    // MARK: faces that are not the owner's

    @Test func `three that are not recognised end an evaluation, and the log tells of them`() throws {
        try fixture.use("pam_deny.so")
        let refused = try fixture.refused("face")
        #expect(refused?.code == .authenticationFailed && refused?.cause == "biometry.not-recognised")
        #expect(refused?.explanation == "The face was not recognised.")
        #expect(
            fixture.texts == [
                "Not recognised. 2 tries left.", "Not recognised. 1 try left.", "Not recognised.",
            ])
        let attempts = try fixture.broker.client().log().filter { $0.event == "attempt" }
        // Equal ones are folded.
        #expect(!attempts.isEmpty && attempts.allSatisfy { $0.operation == "biometry-face" && $0.object == "face" })
        #expect(try fixture.state().missCount == 3)
        try fixture.expectNothingGranted(since: grants)
    }

    @Test func `five in a row lock biometry, over a restart too, until the passcode is entered`() throws {
        try fixture.use("pam_deny.so")
        #expect(try fixture.refused("face")?.cause == "biometry.not-recognised")
        #expect(try fixture.refused("face")?.cause == "biometry.lockout")
        for _ in 1...2 {
            let refused = try fixture.refused("face")
            #expect(refused?.code == .biometryLockout && refused?.cause == "biometry.lockout")
            #expect(fixture.prompter.asked.isEmpty)
            #expect(try fixture.state().missCount == 5)
            try fixture.broker.restart()
        }
        try fixture.use("pam_permit.so")
        #expect(try fixture.open("face") == ["biometry-face"])
        #expect(try fixture.state().missCount == 0)
        #expect(try fixture.grantCount() == grants + 1)
    }

    @Test func `one that is recognised forgives misses`() throws {
        // Twice no, then yes.
        try fixture.useModule("no-times 2 \(fixture.services.folder.path("count"))")
        #expect(try fixture.open("face") == ["biometry-face"])
        #expect(fixture.texts == ["Not recognised. 2 tries left.", "Not recognised. 1 try left."])
        #expect(try fixture.state().missCount == 0)
    }

    @Test func `two questions at once look one after the other`() throws {
        try fixture.services.writeScript("echo begun; sleep 0.5")
        try fixture.unlock()
        fixture.prompter.always { _ in .wait }
        defer { fixture.prompter.always(nil) }
        let results = try concurrently(2) { [fixture] _ in try fixture.broker.authorizeAndSign("face") }
            .map { try $0.get() }
        #expect(results == [["biometry-face"], ["biometry-face"]])
        #expect(fixture.texts.contains("Another question waits for a face; this one is next."))
    }
}

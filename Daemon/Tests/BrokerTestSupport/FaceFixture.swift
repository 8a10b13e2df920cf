import AccessControl
import Foundation
import Glibc
import HelperProcesses
import OstiaryMessages
import Owners
import PAMTestSupport
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import Authenticators
@testable import Broker

/// A broker that looks for faces through the real `ostiary-pam` and the real libpam, and knows no reader for fingers. The
/// passcode is set, and there is a right for each kind of rule.
final class FaceFixture {
    let services: PAMServices
    let broker: BrokerFixture
    var prompter: ScriptedPrompter { broker.prompter }

    static let sensor = PromptSensor(.face, DisplayText("Look at the camera."))

    /// The helper for faces alone.
    static var helpers: HelperRoads {
        var helpers = HelperRoads.missing
        helpers.face = .spawned(program: Build.program("ostiary-pam"))
        return helpers
    }

    /// - Parameter module: the module of the service, with its arguments.
    init(_ module: String = "pam_permit.so") throws {
        services = try PAMServices()
        try services.write("auth required \(module)\n")
        broker = try BrokerFixture(
            fingers: .missing, face: services.source, helpers: Self.helpers)
        try broker.setPasscode()
        try broker.create("face", Requirement(anyOf: [.biometry]), .always)
        try broker.create("either", Requirement(anyOf: [.biometry, .passcode]), .always)
        try broker.create("both", Requirement(anyOf: [[.biometry, .passcode]]), .always)
    }

    /// The service has this module from now on, and the passcode was entered since.
    func use(_ module: String) throws {
        try services.write("auth required \(module)\n")
        try unlock()
    }

    /// The service has the tests' own module, which does this, and the passcode was entered since.
    func useModule(_ arguments: String) throws {
        try services.writeModule(arguments)
        try unlock()
    }

    func unlock() throws {
        prompter.prepare([.text(BrokerFixture.passcode)])
        let client = try broker.client()
        _ = try client.authorize(Requirement(anyOf: [.passcode]), in: client.openContext())
    }

    func state() throws -> BiometryState { try #require(broker.account.biometryState()) }

    var texts: [String] { prompter.updates.map(\.text.string) }

    /// Authorizes a right and uses it; the factors that were used.
    func open(_ name: String, _ answers: [ScriptedPrompter.Answer] = [.wait]) throws -> [String] {
        prompter.prepare(answers)
        return try broker.authorizeAndSign(name)
    }

    func refused(_ name: String, _ answers: [ScriptedPrompter.Answer] = [.wait]) throws -> Refused? {
        prompter.prepare(answers)
        do {
            _ = try broker.authorizeAndSign(name)
            return nil
        } catch let refused as Refused { return refused }
    }

    func grantCount() throws -> Int {
        try broker.client().log().count { $0.event == "authorize" && $0.result == "granted" }
    }

    /// Nothing was granted since there were `count` grants, and a face opens the next time.
    func expectNothingGranted(since count: Int) throws {
        #expect(try grantCount() == count)
        try use("pam_permit.so")
        #expect(try open("face") == ["biometry-face"])
    }

    /// Has `body` done while the next question is visible and the module has said `text`.
    func whenSaid(_ text: String, _ body: @escaping @Sendable () throws -> Void = {}) {
        prompter.duringNextQuestion { [self] in
            do {
                try eventually("the question says: \(text)") { texts.contains(text) }
                try body()
            } catch { Issue.record("\(error)") }
        }
    }

    /// Says `begun`, and waits until the services have a file `go`.
    var waitingScript: String { "echo begun; while [ ! -e \(services.folder.path("go")) ]; do sleep 0.02; done" }

    /// Keeps the next question until a module of ``PAMServices/writeStarter(_:isAwaited:)`` has begun.
    func whenStarted() {
        prompter.duringNextQuestion { [self] in
            do { _ = try startedProcess() } catch { Issue.record("\(error)") }
        }
    }

    /// The number that a module of ``PAMServices/writeStarter(_:isAwaited:)`` has told during the question, waited for.
    func startedProcess() throws -> pid_t {
        try eventually("the module has begun") { texts.contains { pid_t($0) != nil } }
        return try #require(texts.lazy.compactMap { pid_t($0) }.first)
    }
}

// SAFETY: the parts that a question's thread uses, prompter and services, guard themselves.
extension FaceFixture: @unchecked Sendable {}

extension PAMServices {
    /// The service of these tests, for a broker.
    var source: FaceSource {
        FaceSource(
            service: "face", systemBus: "/dev/null", folder: folder.path, trustedUserID: getuid())
    }
}

extension FingerSources {
    /// No reader, and no digests of templates.
    static var missing: FingerSources {
        FingerSources(systemBus: "/nowhere/bus", templates: HelperSocketAddress(path: "/nowhere/templates"))
    }
}

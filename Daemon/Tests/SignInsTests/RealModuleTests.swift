import AccessControl
import Foundation
import Glibc
import OwnerKeys
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import Authenticators
@testable import BrokerTestSupport
@testable import SignIns

/// The real `pam_ostiary.so` under the real libpam, in a program of its own, against the daemon's part. The module is built for the
/// test's socket and account, so that nothing of it needs root.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RealModuleTests {
    private static let success = 0
    private static let authenticationError = 7
    private static let unavailable = 9

    /// Module, program and services in a folder.
    private final class Build {
        let stage: SignInStage
        let folder: TestFolder

        init(sensors: AddedAuthenticators = .none) throws {
            stage = try SignInStage(sensors: sensors)
            folder = try TestFolder()
            let native = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../Native/pam_ostiary")
                .standardized.path
            let account = String(cString: getpwuid(geteuid())!.pointee.pw_name)
            _ = try Self.run([
                "\(native)/build", folder.path, "-DOSTIARY_PAM_SOCKET=\"\(stage.path)\"",
                "-DOSTIARY_ACCOUNT=\"\(account)\"",
            ])
            _ = try Self.run([
                "cc", "-std=c11", "-D_GNU_SOURCE", "\(native)/tests/drive.c", "-o", folder.path("drive"), "-lpam",
                "-lpthread",
            ])
            _ = try Self.run([
                "cc", "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared", "\(native)/tests/typed.c", "-o",
                folder.path("pam_typed.so"), "-lpam",
            ])
            let (module, typed) = (folder.path("pam_ostiary.so"), folder.path("pam_typed.so"))
            try FileManager.default.createDirectory(atPath: folder.path("pam.d"), withIntermediateDirectories: true)
            try write("other", "auth required pam_deny.so\n")
            try write("sudo", "auth required \(module)\n")
            try write("no-ask", "auth required \(module) no-ask\n")
            try write(
                "login",
                "auth required \(typed)\nauth optional \(module) stash\n"
                    + "session optional \(module)\nsession required pam_permit.so\n")
        }

        private func write(_ service: String, _ lines: String) throws {
            try Data(lines.utf8).write(to: URL(fileURLWithPath: folder.path("pam.d/\(service)")))
        }

        /// The lines that the program told of its calls.
        func play(_ service: String, _ steps: String...) throws -> [[String: Any]] {
            let arguments = [folder.path("drive"), "1", folder.path("pam.d"), service, "ada"] + steps
            return try Self.run(arguments).split(separator: "\n").compactMap {
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            }
        }

        private static func run(_ arguments: [String]) throws -> String {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = arguments
            process.standardInput = FileHandle.nullDevice
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let text = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw NeverHappened(what: "\(arguments) succeeds") }
            return String(decoding: text, as: UTF8.self)
        }
    }

    private func results(_ told: [[String: Any]], of call: String = "authenticate") -> [Int] {
        told.filter { $0["call"] as? String == call }.compactMap { $0["result"] as? Int }
    }

    private func shown(_ told: [[String: Any]]) -> [String] { told.compactMap { $0["shown"] as? String } }

    /// The program unmasks what it types, so that no argument holds it.
    private func types(_ secret: String) -> String {
        "answer==" + secret.utf8.map { String(format: "%02x", $0 ^ 0x5A) }.joined()
    }

    @Test func `the right passcode is a success, three wrong ones are an error`() throws {
        let build = try Build()
        let right = try build.play("sudo", types(BrokerFixture.passcode), "authenticate")
        #expect(results(right) == [Self.success] && shown(right) == ["Passcode: "])
        let wrong = try build.play("sudo", types("one"), types("another"), types("a third"), "authenticate")
        #expect(results(wrong) == [Self.authenticationError])
        #expect(shown(wrong).contains("Wrong passcode."))
        #expect(try build.stage.records() == ["granted sudo authenticate", "refused sudo authenticate"])
    }

    @Test func `a program that answers each question with one word costs one try`() throws {
        let build = try Build()
        let word = types("the login password")
        let told = try build.play("sudo", word, word, word, "authenticate")
        #expect(results(told) == [Self.authenticationError])
        #expect(try build.stage.failedCount() == 1)
    }

    @Test func `the password of a remote login costs no try`() throws {
        let build = try Build()
        let told = try build.play("sudo", "item=rhost:127.0.0.1", types("the login password"), "authenticate")
        #expect(results(told) == [Self.unavailable] && shown(told).isEmpty)
        #expect(try build.stage.failedCount() == 0)
    }

    @Test func `a finger while the person types is a success with the next Enter`() throws {
        let sensor = ScriptedSensor([.biometry])
        let build = try Build(sensors: AddedAuthenticators(authenticators: [sensor]))
        sensor.prepare([ScriptedSensor.proves()])
        // Nothing is typed, one second after the finger.
        let told = try build.play("sudo", "answer=1000=", "authenticate")
        #expect(results(told) == [Self.success])
        #expect(try build.stage.failedCount() == 0)
    }

    @Test func `without a conversation a finger is enough`() throws {
        let sensor = ScriptedSensor([.biometry])
        let build = try Build(sensors: AddedAuthenticators(authenticators: [sensor]))
        sensor.prepare([ScriptedSensor.proves()])
        let told = try build.play("no-ask", "authenticate")
        #expect(results(told) == [Self.success] && shown(told) == ["Touch the sensor."])
    }

    @Test func `a slow sensor is waited for beyond the module's two seconds`() throws {
        let sensor = ScriptedSensor([.biometry])
        let build = try Build(sensors: AddedAuthenticators(authenticators: [sensor]))
        sensor.prepare([
            { _, _ in
                sleep(4)
                return Proof(factor: .biometry, strength: .brokerBound)
            }
        ])
        #expect(results(try build.play("no-ask", "authenticate")) == [Self.success])
    }

    @Test func `who is no owner, or gives up, goes on to the password`() throws {
        let build = try Build()
        #expect(results(try build.play("sudo", "answer=!", "authenticate")) == [Self.unavailable])
        build.stage.stopServer()
        #expect(results(try build.play("sudo", "authenticate")) == [Self.unavailable])
    }

    @Test func `a login opens the store`() throws {
        let build = try Build()
        build.stage.lock()
        let told = try build.play("login", types(BrokerFixture.passcode), "authenticate", "open")
        #expect(results(told, of: "open") == [Self.success])
        #expect(build.stage.isUnlocked())
        #expect(try build.stage.records() == ["opened login open"])
    }
}

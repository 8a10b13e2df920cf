import DaemonTestSupport
import Foundation
import Glibc
import SecretProgramSupport
import Testing

extension SecretsDaemonTests {
    /// The bus, the service, the daemon or the program ends while a question stands.
    @Suite("Ends in the middle of a question, end to end") struct Endings {
        private let stage: SecretsStage
        private let item: String

        init() throws {
            stage = try SecretsStage()
            try stage.daemon.unlock()
            item = try stage.store("Bank", ["a": "1"], "a secret")
            try stage.setRule("a=1", "--require", "passcode")
        }

        /// Whether the question is gone long before it would end by itself.
        private func isGone(_ question: StandingQuestion) -> Bool { question.waitUntilGone(for: .seconds(60)) != nil }

        private func expectServed(_ location: SourceLocation = #_sourceLocation) throws {
            let run = try stage.play("secret", item, answers: [PrivateDaemon.passcode])
            #expect(
                run.status == 0 && run.screen.contains("a secret") && run.questionCount == 1,
                "\(run.screen) \(stage.log)", sourceLocation: location)
        }

        @Test func `a service that is killed takes its question along, and the next one serves`() throws {
            var isGone = false
            let run = try stage.play("secret", item) { question in
                stage.end(by: SIGKILL)
                isGone = self.isGone(question)
            }
            #expect(isGone)
            #expect(run.status == 1 && run.screen.contains("error org.freedesktop.DBus.Error.NoReply"), "\(run.screen)")
            try stage.start()
            try expectServed()
        }

        @Test func `a service that is told to end takes its question along`() throws {
            var (isGone, status) = (false, Int32?.none)
            let run = try stage.play("secret", item) { question in
                status = stage.end(by: SIGTERM)
                isGone = self.isGone(question)
            }
            #expect(isGone && status == 0 && !run.screen.contains("a secret"), "\(run.screen) \(stage.log)")
            try stage.start()
            try expectServed()
        }

        @Test func `the end of the bus ends question and service, which has done its work`() throws {
            var (isGone, status) = (false, Int32?.none)
            let run = try stage.play("secret", item) { question in
                stage.bus.stop()
                status = stage.waitForEnd()
                isGone = self.isGone(question)
            }
            #expect(isGone && status == 0 && !run.screen.contains("a secret"), "\(run.screen) \(stage.log)")
            #expect(stage.log.contains("The session's bus has ended, and the service with it."), "\(stage.log)")
        }

        @Test func `a service whose connection the bus ends says so, and fails`() throws {
            let stage = try SecretsStage(on: TestBus(limits: ["max_message_size": 150_000]))
            try stage.daemon.unlock()
            try LostConnectionTests.overfill(stage.connect())
            #expect(stage.waitForEnd() == 1 && stage.log.contains("was lost"), "\(stage.log)")
        }

        @Test func `a daemon that is killed takes the question along, and the service serves when it is back`() throws {
            var isGone = false
            let run = try stage.play("secret", item) { question in
                stage.daemon.kill()
                isGone = self.isGone(question)
            }
            #expect(
                isGone && run.status == 1 && run.screen.contains("error org.freedesktop.DBus.Error."), "\(run.screen)")
            #expect(!run.screen.contains("a secret"))
            try stage.daemon.start()
            try stage.daemon.unlock()
            try expectServed()
        }
    }
}

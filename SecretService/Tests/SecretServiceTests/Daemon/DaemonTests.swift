import DaemonTestSupport
import Foundation
import Glibc
import SecretProgramSupport
import Testing

/// The program `ostiary-secrets` in front of a real daemon.
@Suite("ostiary-secrets, end to end", .serialized, .timeLimit(.minutes(10))) struct SecretsDaemonTests {
    @Test func `a secret survives the service and the daemon, and opens with the passcode`() throws {
        let stage = try SecretsStage()
        try stage.daemon.unlock()
        let made = try stage.play("create", "Mail", "user=me", "a secret")
        #expect(made.status == 0 && made.shows(SecretProgram.login), "\(made.screen) \(stage.log)")
        #expect(try stage.play("get", "user=me").screen.contains("a secret"))
        #expect(stage.end(by: SIGTERM) == 0)
        stage.daemon.kill()
        try stage.daemon.start()
        try stage.start()
        let opened = try stage.play("get", "user=me", answers: [PrivateDaemon.passcode])
        #expect(opened.status == 0 && opened.screen.contains("a secret"), "\(opened.screen) \(stage.log)")
        #expect(opened.shows("secret-program") && opened.shows("ostiary-secrets"), "the question names both")
        #expect(try stage.play("get", "user=me").screen.contains("a secret"), "the store is open now")
    }

    @Test func `a wrong passcode opens nothing`() throws {
        let stage = try SecretsStage()
        try stage.daemon.unlock()
        _ = try stage.play("create", "Mail", "user=me", "a secret")
        stage.daemon.kill()
        try stage.daemon.start()
        let refused = try stage.play("get", "user=me", answers: ["wrong", "wrong", "wrong"])
        #expect(refused.status != 0 && !refused.screen.contains("a secret"), "\(refused.screen)")
    }

    @Test func `a service that is no registered door gets nothing`() throws {
        let stage = try SecretsStage(isRegistered: false)
        try stage.daemon.unlock()
        let refused = try stage.play("create", "Mail", "user=me", "a secret")
        #expect(refused.status == 1 && refused.shows("error org.freedesktop."), "\(refused.screen)")
    }

    @Test func `the end of the bus ends the program, and it has done its work`() throws {
        let stage = try SecretsStage()
        stage.bus.stop()
        #expect(stage.waitForEnd() == 0)
    }

    @Test func `a second service says why it does not begin`() throws {
        let stage = try SecretsStage()
        let second = try BoundedRun(
            BuiltProgram.named("ostiary-secrets"), ["serve"],
            environment: ["DBUS_SESSION_BUS_ADDRESS": stage.bus.address], in: stage.daemon)
        #expect(try second.waitForStatus() == 1)
        #expect(second.errors.contains("Another program has the name org.freedesktop.secrets."))
    }
}

import DaemonTestSupport
import Foundation
import SecretProgramSupport
import Testing

extension SecretsDaemonTests {
    /// What other programs of the session do to get rid of a rule: they delete, make twins and collections, and use the owner's command.
    @Suite("Ways around a rule, end to end") struct GuardedItems {
        private static let authFailed = "org.freedesktop.DBus.Error.AuthFailed"
        private let stage: SecretsStage
        private let item: String

        init() throws {
            stage = try SecretsStage()
            try stage.daemon.unlock()
            item = try stage.store("Bank", ["a": "1"], "a secret")
            try stage.setRule("a=1", "--require", "passcode")
        }

        private func isThere() throws -> Bool { try stage.connect().search(["a": "1"]).unlocked.contains(item) }

        private func expectSecret(_ secret: String, _ location: SourceLocation = #_sourceLocation) throws {
            let run = try stage.play("secret", item, answers: [PrivateDaemon.passcode])
            #expect(
                run.screen.contains(secret) && run.questionCount == 1, "\(run.screen) \(stage.log)",
                sourceLocation: location)
        }

        @Test func `a ruled item is deleted after the proof alone, and one without a rule unasked`() throws {
            let program = try stage.connect()
            let free = try stage.store("Free", ["b": "1"], "another secret")
            #expect(try program.call(free, "Item", "Delete") == [.path("/")])
            #expect(refusedName { _ = try program.call(item, "Item", "Delete") } == Self.authFailed)
            let declined = try stage.play("delete", item, answers: ["\u{3}"])
            #expect(declined.screen.contains("error \(Self.authFailed)") && declined.questionCount == 1)
            #expect(declined.shows("delete a keychain item") && declined.shows("Bank"), "\(declined.screen)")
            #expect(try isThere())
            let agreed = try stage.play("delete", item, answers: [PrivateDaemon.passcode])
            #expect(agreed.screen.contains("deleted") && agreed.questionCount == 1, "\(agreed.screen) \(stage.log)")
            #expect(try !isThere())
        }

        @Test func `the owner's command deletes it after the proof, also with force`() throws {
            let command = try ProgramCopy(of: "ostiary", as: "member", in: stage.daemon)
            let registered = try PlayedTerminal(
                BuiltProgram.named("ostiary"),
                ["app", "register", command.url.path, "--id", "org.example.member", "--group", "ostiary.doors"],
                answers: [PrivateDaemon.passcode], in: stage.daemon)
            #expect(registered.status == 0, "\(registered.screen)")
            let words = [
                "item", "delete", "--class", "free", "--label", "Bank", "--group", "ostiary.doors", "--force",
            ]
            let unattended = try UnattendedRun(command.url, words, in: stage.daemon)
            #expect(unattended.status == 3, "\(unattended.output)")
            #expect(try isThere())
            let run = try PlayedTerminal(
                command.url, words, answers: [PrivateDaemon.passcode], in: stage.daemon, timeout: 300)
            #expect(run.status == 0 && run.questionCount == 1, "\(run.screen)")
            #expect(try !isThere())
        }

        @Test func `a new secret comes to the item with the rule, and not to a twin`() throws {
            let twin = try stage.store("Bank", ["a": "1"], "planted")
            let declined = try stage.play("replace", "Bank", "a=1", "new secret", answers: ["\u{3}"])
            #expect(declined.screen.contains("error \(Self.authFailed)"), "\(declined.screen) \(stage.log)")
            let agreed = try stage.play("replace", "Bank", "a=1", "new secret", answers: [PrivateDaemon.passcode])
            #expect(agreed.screen.contains(item) && agreed.questionCount == 1, "\(agreed.screen) \(stage.log)")
            let program = try stage.connect()
            #expect(try program.secret(twin, session: program.openSession()) == "planted")
            try expectSecret("new secret")
        }

        @Test func `the rule for new items goes after its proof alone, and a program's own collection has it, too`()
            throws
        {
            try stage.setRule("--default", "--require", "passcode")
            #expect(throws: (any Error).self) { try stage.setRule("--default", "--require", "none") }
            let program = try stage.connect()
            let made = try program.call(
                SecretProgram.root, "Service", "CreateCollection",
                [BusDatum.properties(["org.freedesktop.Secret.Collection.Label": .text("Own")]), .text("")])
            let own = try #require(made[0].text)
            let alias = refusedName {
                _ = try program.call(SecretProgram.root, "Service", "SetAlias", [.text("default"), .path(own)])
            }
            #expect(alias == Self.authFailed, "login's row asks")
            #expect(refusedName { _ = try program.call(own, "Collection", "Delete") } == Self.authFailed)
            let session = try program.openSession()
            for collection in [SecretProgram.root + "/aliases/default", own] {
                let new = try program.create("New", ["c": "1"], "x", in: collection, session: session)
                #expect(refusedName { _ = try program.secret(new, session: session) } == Self.authFailed, "\(new)")
            }
            let deleted = try stage.play("delete", own, answers: [PrivateDaemon.passcode])
            #expect(deleted.screen.contains("deleted") && deleted.questionCount == 1, "\(deleted.screen) \(stage.log)")
        }

        @Test func `an item for one program is refused unencrypted`() throws {
            let own = try stage.makeProgram("own-program")
            try stage.changeRule("a=1", "--require", "passcode", "--only", own.path)
            let run = try stage.play("plain", item, by: own, answers: [PrivateDaemon.passcode])
            #expect(run.screen.contains("error org.freedesktop.DBus.Error.NotSupported"), "\(run.screen) \(stage.log)")
            #expect(run.questionCount == 0 && !run.screen.contains("a secret"))
            let read = try stage.play("secret", item, by: own, answers: [PrivateDaemon.passcode])
            #expect(read.screen.contains("a secret"), "\(read.screen) \(stage.log)")
        }
    }
}

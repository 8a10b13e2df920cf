import DaemonTestSupport
import Foundation
import SecretProgramSupport
import Testing

extension SecretsDaemonTests {
    /// Items whose rule asks on the terminal of the program that reads them, and items that were locked one by one.
    @Suite("Ruled items, end to end") struct RuledItems {
        private static let authFailed = "error org.freedesktop.DBus.Error.AuthFailed"
        private let stage: SecretsStage
        private let item: String

        init() throws {
            stage = try SecretsStage()
            try stage.daemon.unlock()
            item = try stage.store("Bank", ["a": "1"], "a secret")
            try stage.setRule("a=1", "--require", "passcode")
        }

        @Test func `a ruled item asks once, within the call that reads it, and the passcode gives the secret`() throws {
            #expect(try stage.connect().search(["a": "1"]).unlocked == [item], "it counts as unlocked")
            let run = try stage.play("twice", item, answers: [PrivateDaemon.passcode])
            #expect(run.status == 0 && run.questionCount == 1, "\(run.screen) \(stage.log)")
            #expect(run.screen.components(separatedBy: "a secret").count == 3, "\(run.screen)")
            #expect(run.shows("secret-program") && run.shows("ostiary-secrets") && run.shows("Bank"), "\(run.screen)")
            let other = try stage.play("secret", item, answers: [PrivateDaemon.passcode])
            #expect(other.status == 0 && other.questionCount == 1, "another process of the program is asked")
        }

        @Test(arguments: [["\u{3}"], ["wrong", "wrong", "wrong"]])
        func `a question that is cancelled, or answered wrongly, gives no secret`(answers: [String]) throws {
            let run = try stage.play("secret", item, answers: answers)
            #expect(run.status == 1 && run.screen.contains(Self.authFailed), "\(run.screen)")
            #expect(!run.screen.contains("a secret") && run.questionCount == answers.count, "\(run.screen)")
        }

        @Test func `where nobody can be asked there is no secret`() throws {
            let program = try stage.connect()
            let session = try program.openSession()
            let refused = refusedName { _ = try program.secret(item, session: session) }
            #expect(refused == "org.freedesktop.DBus.Error.AuthFailed")
            let several = refusedName {
                _ = try program.call(SecretProgram.root, "Service", "GetSecrets", [.paths([item]), .path(session)])
            }
            #expect(several == "org.freedesktop.DBus.Error.AuthFailed")
        }

        /// Nothing tells the service that the library of a program gave up.
        @Test func `an answer that comes late serves the same process unasked, and another process is asked`() throws {
            let (gaveUp, over) = (stage.daemon.path("gave-up"), stage.daemon.path("over"))
            let late = try TypedTerminal(
                SecretsStage.program, [stage.bus.address, "late", item, gaveUp, over], in: stage.daemon)
            try late.expect("asscode: ")
            try eventually("the program gave up") { FileManager.default.fileExists(atPath: gaveUp) }
            late.type(PrivateDaemon.passcode + "\n")
            try late.expect("a secret")
            #expect(late.screen.components(separatedBy: "asscode: ").count == 2, "\(late.screen)")
            // The first one is still there, and so is what it proved.
            let other = try stage.play("secret", item, answers: ["\u{3}"])
            #expect(other.questionCount == 1 && other.screen.contains(Self.authFailed), "\(other.screen)")
            #expect(!other.screen.contains("a secret"))
            try Data().write(to: URL(fileURLWithPath: over))
        }

        @Test func `locking one item asks for it alone, and its neighbour is read as before`() throws {
            let (one, neighbour) = (
                try stage.store("One", ["b": "1"], "first secret"), try stage.store("Two", ["b": "2"], "second secret")
            )
            let program = try stage.connect()
            let session = try program.openSession()
            let locked = try program.call(SecretProgram.root, "Service", "Lock", [.paths([one])])
            #expect(locked == [.paths([one]), .path("/")])
            #expect(
                try program.search(["b": "1"]).locked == [one] && program.search(["b": "2"]).unlocked == [neighbour])
            #expect(try program.secret(neighbour, session: session) == "second secret")
            let refused = refusedName { _ = try program.secret(one, session: session) }
            #expect(refused == "org.freedesktop.DBus.Error.AuthFailed", "nobody can be asked")
            let declined = try stage.play("secret", one, answers: ["\u{3}"])
            #expect(declined.screen.contains(Self.authFailed) && !declined.screen.contains("first secret"))
            let run = try stage.play("secret", one, answers: [PrivateDaemon.passcode])
            #expect(run.screen.contains("first secret") && run.questionCount == 1, "\(run.screen) \(stage.log)")
            #expect(try program.secret(one, session: session) == "first secret", "its lock is gone")
        }

        @Test func `storing in the place of a ruled item asks within the call, too`() throws {
            let declined = try stage.play("replace", "Bank", "a=1", "planted", answers: ["\u{3}"])
            #expect(declined.questionCount == 1 && declined.screen.contains(Self.authFailed), "\(declined.screen)")
            let program = try stage.connect()
            let session = try program.openEncryptedSession()
            let unasked = refusedName {
                _ = try program.create("Bank", ["a": "1"], "planted", session: session, replacing: true)
            }
            #expect(unasked == "org.freedesktop.DBus.Error.AuthFailed", "nobody can be asked")
            let kept = try stage.play("secret", item, answers: [PrivateDaemon.passcode])
            #expect(kept.screen.contains("a secret"), "\(kept.screen)")
            let stored = try stage.play("replace", "Bank", "a=1", "new secret", answers: [PrivateDaemon.passcode])
            #expect(stored.questionCount == 1 && stored.shows(item), "\(stored.screen) \(stage.log)")
            let read = try stage.play("secret", item, answers: [PrivateDaemon.passcode])
            #expect(read.screen.contains("new secret") && read.questionCount == 1, "it has its rule: \(read.screen)")
        }

        @Test func `a replacement with a part of the attributes leaves the item that has more`() throws {
            let program = try stage.connect()
            let session = try program.openSession()
            let whole = try program.create("Whole", ["c": "1", "d": "2"], "of both", session: session, replacing: true)
            let part = try program.create("Part", ["c": "1"], "of one", session: session, replacing: true)
            let again = try program.create("Part", ["c": "1"], "of one, again", session: session, replacing: true)
            #expect(part != whole && again == part)
            #expect(try program.search(["c": "1"]).unlocked == [whole, part])
            #expect(try program.secret(whole, session: session) == "of both")
            #expect(try program.secret(part, session: session) == "of one, again")
            #expect(try program.property(whole, "Item", "Attributes").dictionary == ["c": .text("1"), "d": .text("2")])
        }
    }
}

import DaemonTestSupport
import Foundation
import SecretProgramSupport
import Testing

extension SecretsDaemonTests {
    /// Items that are for one program alone.
    @Suite("Items for one program, end to end") struct ProgramItems {
        private static let denied = "org.freedesktop.DBus.Error.AccessDenied"
        private let stage: SecretsStage
        /// The program that the item is for.
        private let own: URL
        private let item: String

        init() throws {
            stage = try SecretsStage()
            try stage.daemon.unlock()
            own = try stage.makeProgram("own-program")
            item = try stage.store("Bank", ["a": "1"], "a secret")
            try stage.setRule("a=1", "--require", "passcode", "--only", own.path)
        }

        private func expectOwnReads(_ location: SourceLocation = #_sourceLocation) throws {
            let run = try stage.play("secret", item, by: own, answers: [PrivateDaemon.passcode])
            #expect(
                run.status == 0 && run.screen.contains("a secret") && run.questionCount == 1,
                "\(run.screen) \(stage.log)", sourceLocation: location)
        }

        @Test func `another program is refused before anybody is asked, whatever would be answered`() throws {
            let other = try stage.makeProgram("other-program")
            for program in [other, SecretsStage.program] {
                let run = try stage.play("secret", item, by: program, answers: [PrivateDaemon.passcode])
                #expect(run.status == 1 && run.screen.contains("error \(Self.denied)"), "\(run.screen)")
                #expect(!run.screen.contains("a secret") && run.questionCount == 0, "\(run.screen)")
            }
            try expectOwnReads()
        }

        @Test func `another program finds the item, and reads, changes and deletes nothing`() throws {
            let program = try stage.connect()
            let session = try program.openEncryptedSession()
            #expect(try program.search(["a": "1"]).unlocked == [item])
            let parcel = program.parcel("planted", of: session)
            #expect(refusedName { _ = try program.secret(item, session: session) } == Self.denied)
            #expect(refusedName { _ = try program.call(item, "Item", "SetSecret", [parcel]) } == Self.denied)
            #expect(refusedName { _ = try program.call(item, "Item", "Delete") } == Self.denied)
            let replaced = refusedName {
                _ = try program.create("Bank", ["a": "1"], "planted", session: session, replacing: true)
            }
            #expect(replaced == Self.denied)
            let several = try program.call(
                SecretProgram.root, "Service", "GetSecrets", [.paths([item]), .path(session)])
            #expect(several[0].dictionary == [:])
            #expect(try program.search(["a": "1"]).unlocked == [item])
            try expectOwnReads()
        }

        @Test func `a locked item does not become another program's by its unlocking`() throws {
            let program = try stage.connect()
            _ = try program.call(SecretProgram.root, "Service", "Lock", [.paths([item])])
            let run = try stage.play("get", "a=1", answers: [PrivateDaemon.passcode])
            #expect(run.status == 1 && run.screen.contains("error \(Self.denied)"), "\(run.screen)")
            #expect(!run.screen.contains("a secret"))
            try expectOwnReads()
        }

        /// It asks the daemon itself: unregistered, and as a member of the group in which the door keeps its items.
        @Test func `another program reads nothing under its own name`() throws {
            let command = try ProgramCopy(of: "ostiary", as: "member", in: stage.daemon)
            func find(_ group: [String]) throws -> PlayedTerminal {
                try PlayedTerminal(
                    command.url, ["item", "find", "--class", "free", "--attribute", ".a=1"] + group,
                    answers: [PrivateDaemon.passcode], in: stage.daemon, timeout: 300)
            }
            for group in [[], ["--group", "ostiary.doors"]] {
                let run = try find(group)
                #expect(run.status != 0 && !run.screen.contains("a secret") && run.questionCount == 0, "\(run.screen)")
            }
            let registered = try PlayedTerminal(
                BuiltProgram.named("ostiary"),
                ["app", "register", command.url.path, "--id", "org.example.member", "--group", "ostiary.doors"],
                answers: [PrivateDaemon.passcode], in: stage.daemon)
            #expect(registered.status == 0, "\(registered.screen)")
            let run = try find(["--group", "ostiary.doors"])
            #expect(run.status != 0 && run.shows("for other programs") && run.questionCount == 0, "\(run.screen)")
            #expect(!run.screen.contains("a secret"))
            try expectOwnReads()
        }

        @Test(.enabled(if: Namespaces.areAllowed, "the system lets this user make no namespaces"))
        func `a program in another pid namespace is unknown, also if it is the same file`() throws {
            let run = try stage.playApart("secret", item, by: own, answers: [PrivateDaemon.passcode])
            #expect(run.status == 1 && run.screen.contains("error \(Self.denied)"), "\(run.screen) \(stage.log)")
            #expect(!run.screen.contains("a secret") && run.questionCount == 0, "\(run.screen)")
            let free = try stage.store("Shop", ["b": "1"], "another secret")
            try stage.setRule("b=1", "--require", "passcode")
            let asked = try stage.playApart("secret", free, by: own, answers: ["\u{3}"])
            #expect(asked.questionCount == 1 && asked.shows("unknown program"), "\(asked.screen) \(stage.log)")
            #expect(!asked.shows("own-program"), "it has no name: \(asked.screen)")
            try expectOwnReads()
        }

        @Test func `a new item has the rule and the programs that its collection gives`() throws {
            try stage.setRule("--default", "--require", "passcode", "--only", own.path)
            let new = try stage.play("create", "New", "c=1", "new secret", by: own)
            let path = try #require(
                new.screen.split(whereSeparator: \.isNewline).map(String.init).first {
                    $0.hasPrefix(SecretProgram.login)
                }, "\(new.screen) \(stage.log)")
            let refused = try stage.play("secret", path, answers: [PrivateDaemon.passcode])
            #expect(refused.screen.contains("error \(Self.denied)") && refused.questionCount == 0, "\(refused.screen)")
            let read = try stage.play("secret", path, by: own, answers: [PrivateDaemon.passcode])
            #expect(read.screen.contains("new secret") && read.questionCount == 1, "\(read.screen)")
        }
    }
}

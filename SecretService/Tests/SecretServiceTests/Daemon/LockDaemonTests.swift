import DaemonTestSupport
import Foundation
import SecretProgramSupport
import Testing

extension SecretsDaemonTests {
    /// Locks of the store, and prompts.
    @Suite("Locks and prompts, end to end") struct Locks {
        private static let isLocked = "org.freedesktop.Secret.Error.IsLocked"
        private let stage: SecretsStage
        private let item: String

        init() throws {
            stage = try SecretsStage()
            try stage.daemon.unlock()
            item = try stage.store("Mail", ["a": "1"], "a secret")
        }

        private func lock() throws {
            let run = try stage.ostiary("lock")
            guard run.status == 0 else { throw TestSupportError("ostiary lock: \(run.output)") }
        }

        /// Waits until programs are told that `login` is locked, or open.
        private func expectSignals(isLocked: Bool, to program: SecretProgram) throws {
            let changed = try program.bus.signal {
                $0.member == "PropertiesChanged" && $0.path == SecretProgram.login
                    && $0.values[0] == .text("org.freedesktop.Secret.Collection")
                    && $0.values[1].dictionary?["Locked"] != nil
            }
            #expect(changed.values[1].dictionary == ["Locked": .flag(isLocked)])
            let collection = try program.bus.signal { $0.member == "CollectionChanged" }
            #expect(collection.path == SecretProgram.root && collection.values == [.path(SecretProgram.login)])
        }

        @Test func `a lock of the store is told, and a locked search gives paths and nothing else`() throws {
            let (program, neighbour) = (try stage.connect(), try stage.store("Other", ["a": "2"], "another secret"))
            let session = try program.openSession()
            #expect(try program.secret(item, session: session) == "a secret")
            try program.bus.receiveSignals(of: SecretProgram.service)
            try lock()
            try expectSignals(isLocked: true, to: program)
            let found = try program.search(["a": "1"])
            #expect(found.unlocked == [] && found.locked == [item])
            #expect(try program.search([:]).locked == [item, neighbour] && program.search(["a": "3"]).locked == [])
            #expect(refusedName { _ = try program.secret(item, session: session) } == Self.isLocked)
            let properties = try program.properties(item, "Item")
            #expect(properties["Locked"] == .flag(true) && properties["Label"] == .text(""))
            #expect(properties["Attributes"]?.dictionary == [:])
            let create = refusedName { _ = try program.create("x", ["a": "1"], "x", session: session) }
            #expect(create == Self.isLocked)
            try stage.daemon.unlock()
            try expectSignals(isLocked: false, to: program)
            #expect(try program.search(["a": "1"]).unlocked == [item])
            #expect(try program.secret(item, session: session) == "a secret")
        }

        @Test func `dismissing a prompt takes its question away, and opens nothing`() throws {
            try lock()
            let (shown, over) = (stage.daemon.path("shown"), stage.daemon.path("over"))
            var isGone = false
            let run = try stage.play("dismiss", "a=1", shown, over) { question in
                try Data().write(to: URL(fileURLWithPath: shown))
                // The program stays, and nobody answers: only what it called can end the question so soon.
                isGone = question.waitUntilGone(for: .seconds(60)) != nil
                try Data().write(to: URL(fileURLWithPath: over))
            }
            #expect(isGone && run.questionCount == 1, "\(run.screen) \(stage.log)")
            #expect(run.status == 0 && run.screen.contains("dismissed true, unlocked 0"), "\(run.screen)")
            #expect(try stage.connect().search(["a": "1"]).locked == [item])
            let opened = try stage.play("get", "a=1", answers: [PrivateDaemon.passcode])
            #expect(opened.screen.contains("a secret"), "a prompt that was dismissed keeps no other one away")
        }
    }
}

import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// How long a grant lasts: until the lock, the removal, the context's or the connection's end, whichever is first.
@Suite(.timeLimit(.minutes(10))) struct GrantTests {
    @Test func `a lock ends the grants of every connection`() throws {
        let stage = try Stage()
        let contexts = [try stage.authorizedContext(), try stage.authorizedContext()]
        #expect(try contexts.allSatisfy { try stage.canSign(in: $0) })
        #expect(try stage.daemon.client().ask(.lock).isDone)
        for context in contexts {
            #expect(try !stage.canSign(in: context))
            let secret = try stage.client.ask(.readSecret(stage.right, in: context))
            #expect(secret.refusal == .notAuthorized)
            #expect(secret.tail.isEmpty)
        }
        #expect(try stage.client.status().unlocked == false)
        #expect(try stage.canSign(in: stage.authorizedContext()), "the passcode opens again")
    }

    @Test func `a lock while a question is up ends it and leaves no grant`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.beginAuthorizing(in: context)
        stage.terminal.type(Stage.passcode)
        #expect(try stage.daemon.client().ask(.lock).isDone)
        #expect(try stage.client.answer(to: id).refusal == .systemCancel)
        stage.terminal.type("\r")
        #expect(try !stage.canSign(in: context))
        #expect(stage.terminal.isAsBefore)
        #expect(try stage.client.status().unlocked == false)
    }

    @Test func `a lock while the passcode is being checked is not undone by it`() throws {
        let stage = try Stage()
        let locker = try stage.daemon.client()
        let context = try stage.client.openContext()
        for _ in 0..<3 {
            stage.terminal.clearScreen()
            let id = try stage.beginAuthorizing(in: context)
            stage.terminal.clearScreen()
            stage.terminal.type(Stage.passcode + "\r")
            // When the prompt is gone the passcode is being stretched.
            try eventually("the prompt is done") { runningPrompts(of: stage.daemon.processID).isEmpty }
            #expect(try locker.ask(.lock).isDone)
            let answer = try stage.client.answer(to: id)
            #expect(answer.refusal == .systemCancel || answer.factors == ["passcode"])
            #expect(try stage.client.status().unlocked == false)
            #expect(try !stage.canSign(in: context))
        }
    }

    @Test func `a lock while a passcode is being changed leaves the old one`() throws {
        let stage = try Stage()
        let id = try stage.client.send(.passcode(.change), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Passcode: ", with: Stage.passcode)
        stage.terminal.waitFor("New passcode: ")
        #expect(try stage.daemon.client().ask(.lock).isDone)
        #expect(try stage.client.answer(to: id).refusal == .systemCancel)
        #expect(stage.terminal.isAsBefore)
        #expect(try stage.client.status().unlocked == false)
        #expect(try stage.canSign(in: stage.authorizedContext()))
    }

    @Test func `the removal of a right ends its grants in other connections`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        let other = try Caller(at: stage.folders).greeted()
        #expect(try other.client.ask(.removeRight(Stage.rightName)).isDone)
        #expect(try !stage.canSign(in: context))
        #expect(try stage.client.ask(.findRight(Stage.rightName)).refusal == .notFound)
        #expect(try stage.client.ask(.authorize(stage.right, in: context)).refusal == .notFound)
    }

    @Test func `a right that is removed while it is asked for is not granted`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        let id = try stage.beginAuthorizing(in: context)
        let other = try Caller(at: stage.folders).greeted()
        #expect(try other.client.ask(.removeRight(Stage.rightName)).isDone)
        stage.terminal.type(Stage.passcode + "\r")
        #expect(try stage.client.answer(to: id).refusal == .notFound)
        #expect(try !stage.canSign(in: context))
    }

    @Test func `a right that is replaced takes its grants along, and one that is kept keeps them`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        #expect(try stage.client.ask(.createRight(Stage.rightName, .passcode)).refusal == .duplicate)
        #expect(try stage.canSign(in: context))
        let replaced = try #require(try stage.client.ask(.createRight(Stage.rightName, .passcode, replace: true)).right)
        #expect(replaced.rightID != stage.right)
        #expect(try !stage.canSign(in: context))
        let use = try stage.client.ask(.sign(replaced.rightID, in: context), tail: WireRequest.OneOf_Body.digest)
        #expect(use.refusal == .notAuthorized)
    }

    @Test func `deauthorizing ends a context's grants, and the context can be authorized again`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        let other = try stage.authorizedContext()
        #expect(try stage.client.ask(.deauthorize(.with { $0.contextID = context })).isDone)
        #expect(try !stage.canSign(in: context))
        #expect(try stage.canSign(in: other))
        let id = try stage.beginAuthorizing(in: context)
        stage.terminal.type(Stage.passcode + "\r")
        #expect(try stage.client.answer(to: id).factors == ["passcode"])
        #expect(try stage.canSign(in: context))
    }

    @Test func `closing a context ends it and nothing else`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        let other = try stage.authorizedContext()
        let close = WireRequest.OneOf_Body.closeContext(.with { $0.contextID = context })
        #expect(try stage.client.ask(close).isDone)
        let use = try stage.client.ask(.sign(stage.right, in: context), tail: WireRequest.OneOf_Body.digest)
        #expect(use.refusal == .unknownContext)
        #expect(try stage.client.ask(close).refusal == .unknownContext)
        #expect(try stage.canSign(in: other))
    }

    @Test func `grants end with their connection and do not pass to the next one`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        let next = try Caller(at: stage.folders).greeted()
        let sign = WireRequest.OneOf_Body.sign(stage.right, in: context)
        #expect(try next.client.ask(sign, tail: WireRequest.OneOf_Body.digest).refusal == .unknownContext)
        #expect(try next.client.openContext() == context, "the same number, another context")
        #expect(try next.client.ask(sign, tail: WireRequest.OneOf_Body.digest).refusal == .notAuthorized)
    }

    @Test func `a restart ends all grants and locks`() throws {
        let stage = try Stage()
        _ = try stage.authorizedContext()
        #expect(stage.daemon.stop() == .exited(0))
        let next = try Stage(stage.daemon.restarted())
        #expect(try next.client.status().unlocked == false)
        let context = try next.client.openContext()
        #expect(try !next.canSign(in: context))
        #expect(try next.canSign(in: next.authorizedContext()))
    }

    @Test func `a passcode that is removed destroys the rights bound to it and their grants`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        let id = try stage.client.send(.passcode(.remove), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Passcode: ", with: Stage.passcode)
        stage.terminal.waitFor("Type yes to go on: ")
        #expect(stage.terminal.shows("This destroys for good, with their keys and secrets: 1 right. The right: “2fa”."))
        stage.terminal.type("yes\r")
        #expect(try stage.client.answer(to: id).isDone)
        #expect(try !stage.canSign(in: context))
        #expect(try stage.client.ask(.findRight(Stage.rightName)).refusal == .notFound)
    }

    @Test(arguments: ["no\r", "y\r", "YES\r", "\u{3}"])
    func `a warning that is not confirmed with yes destroys nothing`(_ typed: String) throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        let id = try stage.client.send(.passcode(.remove), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Passcode: ", with: Stage.passcode)
        stage.terminal.waitFor("Type yes to go on: ")
        stage.terminal.type(typed)
        #expect(try stage.client.answer(to: id).refusal == .userCancel)
        #expect(try stage.canSign(in: context))
        #expect(try stage.client.status().passcode.isSet)
    }
}

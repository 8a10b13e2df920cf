import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A registered program is its file's content, not its path.
@Suite(.timeLimit(.minutes(10))) struct RegisteredProgramTests {
    private let stage: RegistrationStage

    init() throws { stage = try RegistrationStage() }

    private func tool() throws -> RawClient { try stage.tool().client }

    @Test func `a rebuilt program is another one until it is adopted`() throws {
        try stage.register()
        let before = try stage.tool()
        #expect(try before.client.status().caller.accessGroups == ["com.example.shared", "com.example.tool"])
        #expect(try before.client.ask(.createRight("mine", .unrestricted)).right?.application == "com.example.tool")

        try stage.rebuild()
        let changed = try tool()
        #expect(try changed.status().caller.applicationID.isEmpty)
        let refused: [WireRequest.OneOf_Body] = [
            .findRight("mine"), .createRight("mine", .unrestricted, replace: true), .removeRight("mine"),
            .removeAllRights(.init()), .listRights(.init()), .openContext(.init()), .findKey(.init()),
        ]
        for body in refused {
            let answer = try changed.ask(body)
            #expect(answer.refusal == .programChanged && answer.cause == "program.changed")
            #expect(answer.failure?.explanation.contains("ostiary app adopt \(stage.path)") == true)
        }
        // The one that runs the registered file still is who it was, though its file has no name any more.
        #expect(try before.client.ask(.findRight("mine")).right != nil)

        try stage.register(adopting: true)
        #expect(try changed.ask(.findRight("mine")).right != nil, "the connection need not be made anew")
        #expect(try before.client.ask(.findRight("mine")).refusal == .programChanged)
    }

    @Test func `requests of several of its processes at once are all served, right after it was built`() throws {
        try stage.register()
        #expect(try tool().ask(.createRight("mine", .unrestricted)).right != nil)
        for round in 0..<4 {
            if round > 0 {
                try stage.rebuild()
                try stage.register(adopting: true)
            }
            let callers = try (0..<6).map { _ in try stage.tool().client }
            let asked = try callers.map { ($0, try $0.send(.findRight("mine"))) }
            for (caller, id) in asked {
                let answer = try caller.answer(to: id)
                #expect(answer.right != nil, "\(answer.failure?.explanation ?? "")")
            }
        }
    }

    @Test func `a program that was linked to meanwhile, as by a backup, is still who it was`() throws {
        try stage.register()
        let caller = try tool()
        #expect(try caller.ask(.createRight("mine", .unrestricted)).right != nil)
        try #require(link(stage.path, stage.path + ".backup") == 0)
        #expect(try caller.ask(.findRight("mine")).right != nil)
    }

    @Test func `a copy is another program, without groups and without a failure`() throws {
        try stage.register()
        #expect(try tool().ask(.createRight("mine", .unrestricted)).right != nil)
        let copy = stage.daemon.folders.root.path("copy")
        try FileManager.default.copyItem(atPath: stage.path, toPath: copy)
        let caller = try stage.tool(copy)
        #expect(try caller.client.status().caller.applicationID.isEmpty)
        #expect(try caller.client.status().caller.accessGroups == [caller.executable])
        #expect(try caller.client.ask(.findRight("mine")).refusal == .notFound)
        #expect(try caller.client.ask(.removeRight("mine")).refusal == .notFound)
    }

    @Test func `a grant ends when the registration changes`() throws {
        let caller = try tool()
        let right = try #require(try caller.ask(.createRight("mine", .unrestricted)).right).rightID
        let context = try caller.openContext()
        #expect(try caller.ask(.authorize(right, in: context)).factors == [])
        #expect(try caller.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest).isDone)
        try stage.register()
        #expect(
            try caller.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest).refusal == .notAuthorized)
        #expect(try caller.ask(.findRight("mine")).refusal == .notFound)
    }

    @Test func `who does not say yes registers nothing`() throws {
        let request = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.question) = (stage.path, RegistrationStage.applicationID, .reason("to test"))
        }
        let id = try stage.owner.client.send(.registerApplication(request), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Type yes to go on: ", with: "no")
        #expect(try stage.owner.client.answer(to: id).refusal == .userCancel)
        #expect(try stage.daemon.client().ask(.registerApplication(request)).refusal == .notInteractive)
        #expect(try tool().status().caller.applicationID.isEmpty)
    }
}

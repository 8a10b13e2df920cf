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

    @Test func `a right of a group is used by each of its programs, and by nobody else`() throws {
        let group = RegistrationStage.group
        try stage.register()
        let (member, outsider) = (stage.daemon.folders.root.path("member"), stage.daemon.folders.root.path("outsider"))
        for (path, id, groups) in [
            (member, "com.example.member", [group]), (outsider, "com.example.outsider", ["com.example.other"]),
        ] {
            try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
            try stage.register(path, as: id, groups: groups)
        }
        func create(_ group: String) -> WireRequest.OneOf_Body {
            guard case .createRight(let create) = WireRequest.OneOf_Body.createRight("shared", .unrestricted) else {
                preconditionFailure("it makes a right")
            }
            return .createRight(
                .with {
                    $0 = create
                    $0.accessGroup = group
                })
        }
        func find(_ group: String) -> WireRequest.OneOf_Body {
            .findRight(.with { ($0.identifier, $0.accessGroup) = ("shared", group) })
        }
        let maker = try tool()
        let right = try #require(try maker.ask(create(group)).right)
        #expect(right.application == group)
        let second = try stage.tool(member).client
        #expect(try second.ask(find(group)).right == right)
        #expect(try second.ask(find("")).refusal == .notFound, "it is none of the program's own")
        #expect(try second.ask(create(group)).refusal == .duplicate)
        #expect(try second.ask(create("")).right?.application == "com.example.member", "a name is a group's own")
        #expect(try second.ask(find(group)).right == right)
        let context = try second.openContext()
        #expect(try second.ask(.authorize(right.rightID, in: context)).factors == [])
        #expect(try second.ask(.sign(right.rightID, in: context), tail: WireRequest.OneOf_Body.digest).isDone)

        for other in [try stage.tool(outsider).client, try stage.stranger().greeted().client] {
            let removal = WireRequest.OneOf_Body.removeRight(
                .with { ($0.which, $0.accessGroup) = (.identifier("shared"), group) })
            for body in [find(group), create(group), .listRights(.with { $0.accessGroup = group }), removal] {
                let answer = try other.ask(body)
                #expect(answer.refusal == .missingEntitlement && answer.cause == "item.access-group")
            }
            let context = try other.openContext()
            #expect(try other.ask(.authorize(right.rightID, in: context)).refusal == .notFound)
            #expect(try other.ask(.removeRight(.with { $0.which = .rightID(right.rightID) })).refusal == .notFound)
        }
        #expect(try second.ask(.removeRight(.with { $0.which = .rightID(right.rightID) })).isDone)
        #expect(try maker.ask(find(group)).refusal == .notFound)
    }

    @Test func `a program that leaves a group while it holds the group's right uses it no more`() throws {
        let group = RegistrationStage.group
        let member = stage.daemon.folders.root.path("member")
        try FileManager.default.copyItem(atPath: Caller.program, toPath: member)
        try stage.register()
        try stage.register(member, as: "com.example.member", groups: [group])
        guard case .createRight(var creation) = WireRequest.OneOf_Body.createRight("shared", .unrestricted) else {
            throw RawClient.UnexpectedAnswer()
        }
        creation.accessGroup = group
        let right = try #require(try tool().ask(.createRight(creation)).right).rightID
        let caller = try stage.tool(member).client
        let context = try caller.openContext()
        #expect(try caller.ask(.authorize(right, in: context)).factors == [])
        #expect(try caller.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest).isDone)

        stage.terminal.clearScreen()
        let removal = try stage.owner.client.send(
            .removeApplication(.with { ($0.applicationID, $0.question) = ("com.example.member", .reason("to test")) }),
            descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Type yes to go on: ", with: "yes")
        #expect(try stage.owner.client.answer(to: removal).isDone)
        try stage.register(member, as: "com.example.member", groups: [])
        let answer = try caller.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest)
        #expect(answer.refusal == .notAuthorized && answer.tail.isEmpty)
        #expect(try caller.ask(.authorize(right, in: context)).refusal == .notFound)
        let search = WireRequest.OneOf_Body.findRight(.with { ($0.identifier, $0.accessGroup) = ("shared", group) })
        #expect(try caller.ask(search).cause == "item.access-group")
        #expect(try tool().ask(search).right?.rightID == right, "the others use it as before")
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

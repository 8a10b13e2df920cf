import AccessControl
import Foundation
import Glibc
import OstiaryWire
import StoreTestSupport
import SwiftProtobuf
import TerminalTestSupport
import Testing
import UnixSocket

/// A registered program is its file's content, not its path.
@Suite(.timeLimit(.minutes(5))) struct RegisteredProgramTests {
    private let daemon: DaemonProcess
    private let path: String
    private let owner: Caller
    private let terminal: PseudoTerminal

    init() throws {
        daemon = try DaemonProcess(in: DaemonFolders())
        path = daemon.folders.root.path("tool")
        try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
        terminal = try PseudoTerminal()
        owner = try Caller(at: daemon.folders, on: terminal).greeted()
    }

    /// Registers or adopts the program; the owner says yes.
    private func register(adopting: Bool = false) throws {
        let request = WireRegisterApplicationRequest.with {
            $0.path = path
            $0.adopts = adopting
            if !adopting { ($0.applicationID, $0.accessGroups) = ("com.example.tool", ["com.example.shared"]) }
            $0.question = .reason("to test")
        }
        terminal.clearScreen()
        let id = try owner.client.send(.registerApplication(request), descriptor: terminal.slave.number)
        terminal.answer("Type yes to go on: ", with: "yes")
        let answer = try owner.client.answer(to: id)
        try #require(answer.refusal == nil, "\(answer.failure?.explanation ?? "")")
    }

    private func tool() throws -> RawClient { try Caller(at: daemon.folders, program: path).greeted().client }

    /// Puts the same program with a few bytes more in the place of the registered one.
    private func rebuild() throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes.append(contentsOf: Array("rebuilt".utf8))
        let new = path + ".new"
        try bytes.write(to: URL(fileURLWithPath: new))
        try #require(chmod(new, 0o755) == 0 && rename(new, path) == 0)
    }

    @Test func `a rebuilt program is another one until it is adopted`() throws {
        try register()
        let before = try Caller(at: daemon.folders, program: path).greeted()
        #expect(try before.client.status().caller.accessGroups == ["com.example.shared", "com.example.tool"])
        #expect(try before.client.ask(.createRight("mine", .unrestricted)).right?.application == "com.example.tool")

        try rebuild()
        let changed = try tool()
        #expect(try changed.status().caller.applicationID.isEmpty)
        let refused: [WireRequest.OneOf_Body] = [
            .findRight("mine"), .createRight("mine", .unrestricted, replace: true), .removeRight("mine"),
            .removeAllRights(.init()), .listRights(.init()), .openContext(.init()), .findKey(.init()),
        ]
        for body in refused {
            let answer = try changed.ask(body)
            #expect(answer.refusal == .programChanged && answer.cause == "program.changed")
            #expect(answer.failure?.explanation.contains("ostiary app adopt \(path)") == true)
        }
        // The one that runs the registered file still is who it was, though its file has no name any more.
        #expect(try before.client.ask(.findRight("mine")).right != nil)

        try register(adopting: true)
        #expect(try changed.ask(.findRight("mine")).right != nil, "the connection need not be made anew")
        #expect(try before.client.ask(.findRight("mine")).refusal == .programChanged)
    }

    @Test func `a copy is another program, without groups and without a failure`() throws {
        try register()
        #expect(try tool().ask(.createRight("mine", .unrestricted)).right != nil)
        let copy = daemon.folders.root.path("copy")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        let caller = try Caller(at: daemon.folders, program: copy).greeted()
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
        try register()
        #expect(try caller.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest).refusal == .notAuthorized)
        #expect(try caller.ask(.findRight("mine")).refusal == .notFound)
    }

    @Test func `who does not say yes registers nothing`() throws {
        let request = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.question) = (path, "com.example.tool", .reason("to test"))
        }
        let id = try owner.client.send(.registerApplication(request), descriptor: terminal.slave.number)
        terminal.answer("Type yes to go on: ", with: "no")
        #expect(try owner.client.answer(to: id).refusal == .userCancel)
        #expect(try daemon.client().ask(.registerApplication(request)).refusal == .notInteractive)
        #expect(try tool().status().caller.applicationID.isEmpty)
    }
}

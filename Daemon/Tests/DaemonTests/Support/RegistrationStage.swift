import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A daemon, a program of the test's own that can be registered, and the owner on a terminal who says yes.
struct RegistrationStage {
    static let applicationID = "com.example.tool"
    static let group = "com.example.shared"
    /// What the registered program of ``stocked()`` keeps: the name of a right, and an item in ``group``.
    static let name = "mine"
    static let secret = "marker-secret-of-the-item-40c2"

    let daemon: DaemonProcess
    /// The program; it is `test-caller`, copied.
    let path: String
    let owner: Caller
    let terminal: PseudoTerminal

    init() throws {
        daemon = try DaemonProcess(in: DaemonFolders())
        path = daemon.folders.root.path("tool")
        try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
        terminal = try PseudoTerminal()
        owner = try Caller(at: daemon.folders, on: terminal).greeted()
    }

    /// A stage whose program is registered and keeps a right and an item.
    static func stocked() throws -> RegistrationStage {
        let stage = try RegistrationStage()
        try stage.register()
        let tool = try stage.tool().client
        let right = try tool.ask(.createRight(name, .unrestricted, hasSecret: true), tail: Array(secret.utf8)).right
        try #require(right != nil)
        try #require(try tool.ask(.addItem(name, in: group), tail: Array(secret.utf8)).items?.count == 1)
        return stage
    }

    /// Registers or adopts a program; the owner says yes.
    func register(
        _ program: String? = nil, as id: String = applicationID, groups: [String] = [group], isDoor: Bool = false,
        adopting: Bool = false
    ) throws {
        let request = WireRegisterApplicationRequest.with {
            $0.path = program ?? path
            $0.adopts = adopting
            if !adopting { ($0.applicationID, $0.accessGroups, $0.isDoor) = (id, groups, isDoor) }
            $0.question = .reason("to test")
        }
        terminal.clearScreen()
        let requestID = try owner.client.send(.registerApplication(request), descriptor: terminal.slave.number)
        terminal.answer("Type yes to go on: ", with: "yes")
        let answer = try owner.client.answer(to: requestID)
        try #require(answer.refusal == nil, "\(answer.failure?.explanation ?? "")")
    }

    /// A caller that runs the program, or another one at a path of the test's folder.
    func tool(_ program: String? = nil, under wrapper: [String] = [], next: [String] = []) throws -> Caller {
        try Caller(at: daemon.folders, program: program ?? path, under: wrapper, next: next).greeted()
    }

    /// Another program that is not registered: `test-caller` itself.
    func stranger(next: [String] = []) throws -> Caller { try Caller(at: daemon.folders, next: next) }

    /// A file in the test's folder with the program's bytes and some more.
    @discardableResult func altered(_ name: String) throws -> String {
        let new = daemon.folders.root.path(name)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path)) + Data("altered".utf8)
        try daemon.folders.write(bytes, to: new, mode: 0o755)
        return new
    }

    /// Puts the same program with a few bytes more in the place of the registered one.
    func rebuild() throws {
        let new = try altered("tool.new")
        try #require(rename(new, path) == 0)
    }
}

extension WireRequest.OneOf_Body {
    private static func attributes(_ account: String?, _ group: String?) -> [WireAttribute] {
        [("acct", account), ("agrp", group)].compactMap { name, text in
            text.map { text in .with { ($0.key, $0.value) = (name, .text(text)) } }
        }
    }

    /// Adds a generic password; its data is the tail.
    static func addItem(_ account: String, in group: String?) -> Self {
        .addItem(
            .with {
                ($0.itemClass, $0.hasData_p) = ("genp", true)
                $0.attributes = attributes(account, group)
            })
    }

    /// Looks for generic passwords with their data.
    static func findItems(_ account: String? = nil, in group: String? = nil) -> Self {
        .findItems(
            .with {
                ($0.query.itemClass, $0.query.attributes) = ("genp", attributes(account, group))
                ($0.returnsData, $0.returnsAttributes) = (true, true)
            })
    }

    static func deleteItems(_ account: String, in group: String? = nil) -> Self {
        .deleteItems(.with { ($0.query.itemClass, $0.query.attributes) = ("genp", attributes(account, group)) })
    }
}

extension Answer {
    /// The items that were found or added.
    var items: [WireItem]? { if case .items(let page)? = body { page.items } else { nil } }
}

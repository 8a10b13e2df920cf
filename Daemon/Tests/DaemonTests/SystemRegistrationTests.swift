import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Programs that the administrator registered for all users, with the real daemon and real files of root.
@Suite(.timeLimit(.minutes(10)), .enabled(if: Account.isRoot, "only root can register programs for all users"))
struct SystemRegistrationTests {
    private static let text =
        "application-id = com.example.system\npath = %\naccess-groups = com.example.b, com.example.a\n"

    private let folders: DaemonFolders
    private let daemon: DaemonProcess
    /// The folder of the registrations.
    private let registrations: String
    /// A folder that only root can write to, as all above it: a temporary folder is not.
    private let programs: TestFolder
    private let program: String

    init() throws {
        folders = try DaemonFolders()
        registrations = folders.root.path("apps.d")
        try FileManager.default.createDirectory(atPath: registrations, withIntermediateDirectories: false)
        try #require(chmod(registrations, 0o755) == 0)
        programs = try TestFolder(in: String(cString: try #require(getpwuid(0)).pointee.pw_dir))
        program = programs.path("tool")
        try FileManager.default.copyItem(atPath: Caller.program, toPath: program)
        try #require(chmod(program, 0o755) == 0)
        let start = try DaemonStart(
            in: folders, options: folders.options + ["--applications-directory", registrations])
        daemon = try DaemonProcess(start, in: folders)
    }

    /// Writes a registration; `%` in the text is the program.
    private func register(_ text: String = text, as name: String = "tool.conf", mode: mode_t = 0o644) throws {
        try folders.write(text.replacing("%", with: program), to: "\(registrations)/\(name)", mode: mode)
    }

    private func tool() throws -> RawClient { try Caller(at: folders, program: program).greeted().client }

    /// The program has no id, and the daemon's log says why.
    private func expectWithoutEffect(_ cause: String, of file: String) throws {
        #expect(try tool().status().caller.applicationID.isEmpty)
        try eventually("the log tells of \(cause): \(daemon.standardError)") {
            daemon.standardError.split(separator: "\n").contains { line in
                ["a registration does not count", "cause=\(cause)", "file=\(file)"].allSatisfy { line.contains($0) }
            }
        }
    }

    @Test func `a program of the administrator's has its id and groups, and a connected one soon`() throws {
        let before = try tool()
        #expect(try before.status().caller.applicationID.isEmpty)
        try register()
        let after = try tool()
        let status = try after.status().caller
        #expect(status.applicationID == "com.example.system" && status.label == "advisory")
        #expect(status.accessGroups == ["com.example.b", "com.example.a", "com.example.system"])
        #expect(try after.ask(.addItem("mine", in: "com.example.a"), tail: [1]).items?.count == 1)
        try eventually("a connection from before has them, too") {
            try before.ask(.findItems(in: "com.example.a")).items?.count == 1
        }
        #expect(try daemon.client().ask(.findItems(in: "com.example.a")).refusal == .missingEntitlement)
        // Root upgrades the program: that needs nobody's adoption.
        let new = try Data(contentsOf: URL(fileURLWithPath: program)) + Data("new".utf8)
        try folders.write(new, to: program + ".new", mode: 0o755)
        try #require(rename(program + ".new", program) == 0)
        #expect(try tool().ask(.findItems(in: "com.example.a")).items?.count == 1)
        try #require(unlink("\(registrations)/tool.conf") == 0)
        #expect(try tool().ask(.findItems(in: "com.example.a")).refusal == .missingEntitlement)
        for connected in [before, after] {
            try eventually("a connected program has lost them") {
                try connected.ask(.findItems(in: "com.example.a")).refusal == .missingEntitlement
            }
        }
    }

    @Test func `any number of them is listed, page by page`() throws {
        let ids = (100..<160).map { "com.example.program\($0)" }
        for id in ids {
            let groups = (0..<16).map { "\(id).\($0)." + String(repeating: "x", count: 90) }.joined(separator: ", ")
            let path = "/nowhere/" + String(repeating: "y", count: 3000) + "/" + id
            try register("application-id = \(id)\npath = \(path)\naccess-groups = \(groups)\n", as: "\(id).conf")
        }
        let client = try daemon.client()
        var listed: [String] = []
        while true {
            let request = WireListApplicationsRequest.with { $0.offset = UInt32(listed.count) }
            guard case .applications(let page)? = try client.ask(.listApplications(request)).body else {
                throw RawClient.UnexpectedAnswer()
            }
            #expect(page.total == 60)
            if page.applications.isEmpty { break }
            listed += page.applications.map(\.applicationID)
        }
        #expect(listed == ids)
    }

    @Test func `nobody but the administrator changes it`() throws {
        try register()
        let client = try daemon.client()
        guard case .applications(let list)? = try client.ask(.listApplications(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        #expect(list.applications.map(\.applicationID) == ["com.example.system"])
        #expect(list.applications.allSatisfy { $0.ofSystem && !$0.changed && $0.path == program })
        let adoption = WireRegisterApplicationRequest.with {
            ($0.path, $0.adopts, $0.question) = (program, true, .reason("to test"))
        }
        let removal = WireRemoveApplicationRequest.with {
            ($0.applicationID, $0.question) = ("com.example.system", .reason("to test"))
        }
        for body in [WireRequest.OneOf_Body.registerApplication(adoption), .removeApplication(removal)] {
            let answer = try client.ask(body)
            #expect(answer.refusal == .operationNotPermitted && answer.cause == "application.of-system")
        }
        let own = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.question) = (program, "com.example.mine", .reason("to test"))
        }
        let answer = try client.ask(.registerApplication(own))
        #expect(answer.refusal == .duplicate && answer.cause == "application.duplicate")
    }

    @Test(arguments: [
        ("other users can write to it", 0o666 as mode_t, text), ("other users can write to it", 0o664, text),
        ("the file names no application-id", 0o644, "path = %\n"), ("the file names no application-id", 0o644, ""),
        ("the file names no path", 0o644, "application-id = a\n"),
        ("line 3:", 0o644, "application-id = a\npath = %\naccess-groups = b, b\n"),
        ("the program is an interpreter", 0o644, "application-id = a\npath = /usr/bin/python3.11\n"),
        ("line 1:", 0o644, "application-id = a b\npath = %\n"), ("line 2:", 0o644, "application-id = a\npath = tool\n"),
        ("line 3:", 0o644, "application-id = a\npath = %\naccess-groups = b;c\n"),
        ("line 1:", 0o644, "application-id = com.apple.token\npath = %\n"),
        ("line 3:", 0o644, "application-id = a\npath = %\naccess-groups = b, com.apple.token\n"),
        ("line 4:", 0o644, text + "label = hardware\n"),
        ("it is not UTF-8 text", 0o644, text + "# \u{1}"),
    ])
    func `a file that others can write or that is not understood does not count`(
        cause: String, mode: mode_t, text: String
    ) throws {
        try register(text, mode: mode)
        let file = "\(registrations)/tool.conf"
        if cause == "it is not UTF-8 text" {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: file)).dropLast() + [0xFF]
            try folders.write(bytes, to: file, mode: mode)
        }
        try expectWithoutEffect(cause, of: file)
    }

    /// How often the daemon's log says that a registration does not count.
    private func complaintCount() -> Int {
        daemon.standardError.split(separator: "\n").count { $0.contains("a registration does not count") }
    }

    @Test func `a file that does not count is told of once, and again when it was changed`() throws {
        let bad = "application-id = a b\npath = %\n"
        try register(bad)
        for _ in 1...5 { _ = try tool().status() }
        #expect(complaintCount() == 1)
        try register("path = %\n", as: "other.conf")
        for _ in 1...2 { _ = try tool().status() }
        #expect(complaintCount() == 2, "the other file alone is new")
        try register("path = tool\n")
        for _ in 1...2 { _ = try tool().status() }
        #expect(complaintCount() == 3, "it is wrong in another way")
        try #require(unlink("\(registrations)/tool.conf") == 0)
        _ = try tool().status()
        try register(bad)
        for _ in 1...2 { _ = try tool().status() }
        #expect(complaintCount() == 4, "it went and came back")
        try #require(chmod(registrations, 0o777) == 0)
        for _ in 1...2 { _ = try tool().status() }
        #expect(complaintCount() == 5, "the folder itself does not count")
    }

    @Test(arguments: ["of another user", "a folder", "a pipe"])
    func `what is no file of root's does not count`(_ kind: String) throws {
        let file = "\(registrations)/tool.conf"
        switch kind {
        case "of another user":
            try register()
            try #require(chown(file, Account.nobody, 0) == 0)
            try expectWithoutEffect("it belongs to another user", of: file)
        case "a folder":
            try #require(mkdir(file, 0o755) == 0)
            try expectWithoutEffect("it is not a plain file", of: file)
        default:
            try #require(mkfifo(file, 0o644) == 0)
            try expectWithoutEffect("it is not a plain file", of: file)
        }
    }

    @Test func `of two files for one program or application the first counts`() throws {
        try register("application-id = com.example.first\npath = %\n", as: "a.conf")
        try register("application-id = com.example.second\npath = %\n", as: "b.conf")
        try register("application-id = com.example.first\npath = /usr/bin/openssl\n", as: "c.conf")
        try register("application-id = com.example.zero\npath = %\n", as: "0.conf.disabled")
        #expect(try tool().status().caller.applicationID == "com.example.first")
        guard case .applications(let list)? = try daemon.client().ask(.listApplications(.init())).body else {
            throw RawClient.UnexpectedAnswer()
        }
        #expect(list.applications.map(\.applicationID) == ["com.example.first"])
    }

    @Test(arguments: [
        "other users can write to the folder", "the folder belongs to another user than root", "it is not a folder",
    ])
    func `a folder that others than root can write to does not count`(_ cause: String) throws {
        try register()
        #expect(try tool().status().caller.applicationID == "com.example.system")
        switch cause {
        case "other users can write to the folder": try #require(chmod(registrations, 0o777) == 0)
        case "the folder belongs to another user than root": try #require(chown(registrations, Account.nobody, 0) == 0)
        default:
            let moved = folders.root.path("moved")
            try #require(rename(registrations, moved) == 0 && symlink(moved, registrations) == 0)
        }
        try expectWithoutEffect(cause, of: registrations)
    }

    @Test func `a folder that is not there is no folder without effect`() throws {
        try #require(rmdir(registrations) == 0)
        #expect(try tool().status().caller.applicationID.isEmpty)
        #expect(!daemon.standardError.contains("does not count"))
    }

    /// What the administrator said of the path must not be said of what somebody else put there.
    @Test(arguments: ["its file", "its folder", "its owner"])
    func `a program that others than root can replace is not the registered one`(_ what: String) throws {
        try register()
        switch what {
        case "its file": try #require(chmod(program, 0o775) == 0)
        case "its folder": try #require(chmod(programs.path, 0o777) == 0)
        default: try #require(chown(program, Account.nobody, 0) == 0)
        }
        let client = try tool()
        #expect(try client.status().caller.applicationID.isEmpty)
        let refused = try client.ask(.findItems(in: "com.example.a"))
        #expect(refused.refusal == .programChanged && refused.cause == "program.changed")
    }

    @Test func `the folder is named by an absolute path`() throws {
        let other = try DaemonFolders()
        let start = try DaemonStart(in: other, options: other.options + ["--applications-directory", "apps.d"])
        #expect(start.ending == .exited(2))
        #expect(other.standardError.contains("'apps.d' is not an absolute path."))
    }
}

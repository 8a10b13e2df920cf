import DaemonTestSupport
import Foundation
import Testing

/// `ostiary app` on a terminal against the real daemon.
@Suite("ostiary app, end to end", .serialized)
struct ApplicationCommandEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private let daemon: PrivateDaemon
    private let tool: ProgramCopy
    private var path: String { tool.url.path }

    init() throws {
        daemon = try PrivateDaemon()
        tool = try ProgramCopy(of: "keychain-calls", as: "tool", in: daemon)
    }

    private func app(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(BuiltProgram.named("ostiary"), ["app"] + arguments, answers: answers, in: daemon)
    }

    private func unattended(_ arguments: String...) throws -> UnattendedRun {
        try UnattendedRun(BuiltProgram.named("ostiary"), ["app"] + arguments, in: daemon)
    }

    private func setPasscode() throws { try daemon.setPasscode() }

    /// What `app list --json` says of each registration.
    private func list() throws -> [[String: Any]] {
        let listed = try unattended("list", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [String: Any]
        return try #require(object?["applications"] as? [[String: Any]], "\(listed.output)")
    }

    private func ids() throws -> [String] { try list().compactMap { $0["id"] as? String } }

    /// A run that ends with `status` and with this message, whatever was asked before.
    private func expect(
        _ run: PlayedTerminal, _ status: Int32, _ message: String, _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(run.status == status, "\(run.screen)", sourceLocation: location)
        #expect(run.screen.hasSuffix("ostiary: \(message)\r\n"), "\(run.screen)", sourceLocation: location)
    }

    private func write(_ name: String, _ text: String, mode: Int = 0o755) throws -> String {
        try Data(text.utf8).write(to: daemon.folder.appendingPathComponent(name))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: daemon.path(name))
        return daemon.path(name)
    }

    // MARK: what is done

    private static let advisory = "advisory: another program of yours could imitate it"

    @Test func `a program is registered, listed, adopted and removed by the owner`() throws {
        try setPasscode()
        #expect(try unattended("list").output == "No program is registered.\n")
        let registered = try app(
            "register", path, "--id", "com.example.tool", "--group", "com.example.b", "--group", "com.example.a",
            answers: [Self.passcode])
        #expect(registered.status == 0)
        let notice = "\(path) as com.example.tool (\(Self.advisory)).\r\n"
        #expect(registered.screen.hasSuffix("Registered " + notice), "\(registered.screen)")
        for text in ["com.example.tool", "com.example.b, com.example.a", "tool"] {
            #expect(registered.shows(text), "the prompt shows what is decided")
        }
        let listed = try #require(try list().first)
        #expect(listed["path"] as? String == path && listed["id"] as? String == "com.example.tool")
        #expect(listed["accessGroups"] as? [String] == ["com.example.b", "com.example.a", "com.example.tool"])
        #expect(listed["label"] as? String == "advisory")
        #expect(listed["changed"] as? Bool == false && listed["ofSystem"] as? Bool == false)

        try tool.rebuild()
        #expect(try list().first?["changed"] as? Bool == true)
        let text = try unattended("list").output
        #expect(text.contains("changed: ostiary app adopt") && text.hasSuffix("\n\(Self.advisory)\n"), "\(text)")
        let adopted = try app("adopt", path, answers: [Self.passcode])
        #expect(adopted.status == 0 && adopted.screen.hasSuffix("Adopted " + notice))
        #expect(try list().first?["changed"] as? Bool == false)

        daemon.kill()
        try daemon.start()
        #expect(try ids() == ["com.example.tool"])
        let removed = try app("remove", "com.example.tool", answers: [Self.passcode])
        #expect(removed.status == 0 && removed.screen.hasSuffix("Removed the registration of com.example.tool.\r\n"))
        #expect(try ids().isEmpty)
    }

    @Test func `what a program leaves behind is said at the prompt and afterwards`() throws {
        #expect(try tool.run("add", "first") == ["add: 0"])
        #expect(try tool.run("add", "second") == ["add: 0"])
        let before = "what it stored under its path: 2 keychain items."
        let declined = try app("register", path, "--id", "com.example.tool", answers: ["no"])
        #expect(declined.status == 3 && declined.shows(before), "\(declined.screen)")
        #expect(try tool.run("find", "first") == ["find: 0", "data: first"])
        let registered = try app("register", path, "--id", "com.example.tool", answers: ["yes"])
        #expect(registered.status == 0 && registered.shows(before), "\(registered.screen)")
        #expect(
            registered.screen.hasSuffix(
                "The program no longer sees what it stored under its path: 2 keychain items. These stay. The program "
                    + "sees them again after `ostiary app remove com.example.tool`.\r\n"), "\(registered.screen)")
        #expect(try tool.run("find", "first") == ["find: -25300"])
        #expect(try app("remove", "com.example.tool", answers: ["yes"]).status == 0)
        #expect(try tool.run("find", "first") == ["find: 0", "data: first"])
        let again = try app("register", path, "--id", "com.example.tool", "--json", answers: ["yes"])
        let document = again.screen.filter { !$0.isWhitespace }
        #expect(document.contains(#""leftBehind":{"items":2,"keys":0,"rights":0}"#), "\(again.screen)")
    }

    @Test func `a program that stored nothing leaves nothing behind`() throws {
        let registered = try app("register", path, "--id", "com.example.tool", answers: ["yes"])
        #expect(registered.status == 0 && !registered.shows("no longer see"), "\(registered.screen)")
        let listed = try unattended("list", "--json")
        #expect(!listed.output.contains("leftBehind"))
    }

    @Test func `what is registered and adopted is JSON where that is asked for`() throws {
        let registered = try app("register", path, "--id", "com.example.tool", "--json", answers: ["yes"])
        #expect(registered.status == 0)
        #expect(registered.screen.contains(#""id" : "com.example.tool""#), "\(registered.screen)")
        try tool.rebuild()
        let adopted = try app("adopt", path, "--json", answers: ["yes"])
        #expect(adopted.status == 0 && adopted.screen.contains(#""changed" : false"#), "\(adopted.screen)")
    }

    @Test func `a program that has moved is adopted by its id`() throws {
        try #require(try app("register", path, "--id", "com.example.tool", answers: ["yes"]).status == 0)
        let moved = daemon.path("moved")
        try FileManager.default.moveItem(atPath: path, toPath: moved)
        #expect(try list().first?["changed"] as? Bool == true)
        expect(try app("adopt", moved), 1, "There is no such registration.")
        expect(try app("adopt", moved, "--id", "com.example.other"), 1, "There is no such registration.")
        #expect(try app("adopt", moved, "--id", "com.example.tool", answers: ["yes"]).status == 0)
        #expect(try list().first?["path"] as? String == moved)
    }

    @Test func `a link and a path from here lead to the program itself`() throws {
        try FileManager.default.createSymbolicLink(atPath: daemon.path("link"), withDestinationPath: path)
        #expect(try app("register", "./link", "--id", "com.example.tool", answers: ["yes"]).status == 0)
        #expect(try list().first?["path"] as? String == path)
    }

    // MARK: what is refused

    @Test func `with a wrong passcode or none nothing is registered, adopted or removed`() throws {
        try setPasscode()
        let wrong = ["wrong one 1", "wrong one 2", "wrong one 3"]
        expect(
            try app("register", path, "--id", "com.example.tool", answers: wrong), 3,
            "The passcode or password is wrong.")
        #expect(try ids().isEmpty)
        #expect(try app("register", path, "--id", "com.example.tool", answers: [Self.passcode]).status == 0)
        try tool.rebuild()
        let cancelled = try app("adopt", path, answers: ["\u{3}"])
        #expect(cancelled.status == 3)
        #expect(try list().first?["changed"] as? Bool == true)
    }

    @Test func `without a passcode the owner has to say yes`() throws {
        for answer in ["no", "y", "YES"] {
            #expect(try app("register", path, "--id", "com.example.tool", answers: [answer]).status == 3, "\(answer)")
            daemon.kill()  // Who declined is not asked again for a moment; a new daemon knows nothing of that.
            try daemon.start()
        }
        #expect(try ids().isEmpty)
        #expect(try app("register", path, "--id", "com.example.tool", answers: ["yes"]).status == 0)
        #expect(try app("remove", "com.example.tool", answers: ["no"]).status == 3)
        #expect(try ids() == ["com.example.tool"])
    }

    @Test func `where nobody can be asked nothing changes`() throws {
        let message =
            "ostiary: Nobody can be asked: the program has no terminal and there is no dialog, or it does not allow a "
            + "question. Run it in a terminal; `ostiary doctor` says why there is no dialog.\n"
        func expectRefusal(_ run: UnattendedRun) { #expect(run.status == 3 && run.output == message, "\(run.output)") }
        expectRefusal(try unattended("register", path, "--id", "com.example.tool"))
        #expect(try ids().isEmpty)
        try #require(try app("register", path, "--id", "com.example.tool", answers: ["yes"]).status == 0)
        try tool.rebuild()
        expectRefusal(try unattended("adopt", path))
        expectRefusal(try unattended("remove", "com.example.tool"))
        #expect(try list().first?["changed"] as? Bool == true)
    }

    @Test func `what is no program of its own is refused before anybody is asked`() throws {
        expect(
            try app("register", "none", "--id", "a"), 1, "There is no program at none. Nothing was done.")
        let interpreters = "Interpreters and scripts cannot be registered, because one interpreter runs many scripts."
        let script = try write("script", "#!/bin/sh\nexit 0\n")
        let renamed = try write("python3.11", "\u{7F}ELF")
        let shell = "/bin/bash"
        for program in [script, renamed, shell] {
            expect(try app("register", program, "--id", "com.example.tool"), 1, interpreters)
        }
        expect(
            try app("register", daemon.folder.path, "--id", "com.example.tool"), 1,
            "There is no executable program at this path.")
        #expect(try ids().isEmpty)
    }

    @Test func `an application id is also a group, in the place that it is given`() throws {
        let groups = ["--group", "com.example.tool", "--group", "com.example.shared"]
        let registered = try app(
            "register", path, "--id", "com.example.tool", groups[0], groups[1], groups[2], groups[3], answers: ["yes"])
        #expect(registered.status == 0, "\(registered.screen)")
        #expect(try tool.run("add", "mine") == ["add: 0"])
        #expect(try tool.run("list", "all") == ["list: 0", "found: mine in com.example.tool"])
        #expect(try tool.run("add", "shared", "com.example.shared") == ["add: 0"])
        #expect(try tool.run("find", "shared") == ["find: 0", "data: shared"])
        #expect(try list().first?["accessGroups"] as? [String] == ["com.example.tool", "com.example.shared"])
    }

    @Test func `the rule that a name breaks is said, and nobody is asked`() throws {
        let begins = "An id or group begins with a letter or digit."
        let cases: [([String], String)] = [
            (["--id", ".a"], begins), (["--id", "a", "--group", "_b"], begins),
            (["--id", ""], "An id or group is not empty."),
            (["--id", "a b"], "An id or group has letters, digits, '.', '-' and '_' only."),
            (["--id", String(repeating: "a", count: 129)], "An id or group has at most 128 characters."),
            (["--id", "com.apple.x"], "Names that begin with com.apple. belong to Apple."),
        ]
        for (options, rule) in cases {
            let arguments = ["app", "register", path] + options
            let run = try PlayedTerminal(BuiltProgram.named("ostiary"), arguments, in: daemon)
            #expect(run.status == 2 && run.shows(rule), "\(run.screen)")
        }
        expect(
            try app("register", path, "--id", "a", "--group", "b", "--group", "b"), 1,
            "Access group 2 is named twice; name each group once.")
        #expect(try ids().isEmpty)
    }

    @Test func `a registration takes nothing that another one has`() throws {
        let other = try ProgramCopy(of: "keychain-calls", as: "other", in: daemon).url.path
        let groups = ["--group", "com.example.shared"]
        let registered = try app("register", path, "--id", "com.example.tool", groups[0], groups[1], answers: ["yes"])
        try #require(registered.status == 0)
        expect(
            try app("register", path, "--id", "com.example.new"), 1,
            "The program is registered already; `ostiary app adopt` is for a rebuilt one, and `ostiary app remove` takes the "
                + "registration back.")
        expect(
            try app("register", other, "--id", "com.example.tool"), 1,
            "The application id belongs to another program; choose another one, or take that registration back with "
                + "`ostiary app remove`.")
        expect(
            try app("register", other, "--id", "com.example.shared"), 1,
            "The application id is an access group of another program, which would see what is kept under it; choose "
                + "another one.")
        expect(
            try app("register", other, "--id", "com.example.new", "--group", "com.example.tool"), 1,
            "Access group 1 is the application id of another program, which keeps it for itself; leave it out, or register "
                + "both programs with a group that is neither's id.")
        expect(try app("remove", "com.example.new"), 1, "There is no such registration.")
        expect(try app("adopt", other), 1, "There is no such registration.")
        #expect(try ids() == ["com.example.tool"])
    }
}

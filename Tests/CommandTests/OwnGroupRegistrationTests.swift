import Foundation
import Glibc
import Testing

@testable import ostiary

private let isRoot = geteuid() == 0

@Suite("A registration with a group of its own")
struct OwnGroupRegistrationTests {
    /// A folder that root alone can replace, as all above it: a temporary one is not.
    private final class Folder {
        let path: String

        init() throws {
            let home = String(cString: try #require(getpwuid(geteuid())).pointee.pw_dir)
            path = "\(home)/ostiary-tests-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try #require(chmod(path, 0o755) == 0)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ text: String, _ name: String, mode: mode_t = 0o644) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
            try #require(chmod("\(path)/\(name)", mode) == 0)
        }

        func text(_ name: String) throws -> String { try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }
    }

    private let folder: Folder

    init() throws {
        folder = try Folder()
        try folder.write("root:x:0:\n", "group")
        try folder.write("root:*::\n", "gshadow")
        try folder.write("root:x:0:0::/root:/bin/sh\n", "passwd")
        try folder.write("a program", "tool", mode: 0o755)
        let maker = """
            #!/bin/sh
            [ "$1" = --system ] && echo "$2:x:791:" >> \(folder.path)/group && echo "$2:!::" >> \(folder.path)/gshadow
            """
        try folder.write(maker, "groupadd", mode: 0o755)
    }

    private func registration(
        group: String = "tool", _ entries: [(key: String, value: String)] = []
    ) -> OwnGroupRegistration {
        OwnGroupRegistration(
            path: "\(folder.path)/tool", group: group, entries: entries, applicationID: "com.example.tool",
            accounts: folder.path, folder: "\(folder.path)/etc/apps.d", groupMaker: "\(folder.path)/groupadd")
    }

    private func status() throws -> stat {
        var status = stat()
        try #require(stat("\(folder.path)/tool", &status) == 0)
        return status
    }

    @Test(.enabled(if: isRoot, "only root can give a program a group"))
    func `the group is made, the file gets it, and the registration stands in the machine's folder`() throws {
        for _ in 0..<2 {
            try registration([(key: "access-groups", value: "com.example.a, com.example.b")]).run()
            #expect(try status().st_gid == 791 && status().st_mode & 0o7777 == 0o2755)
            #expect(
                try folder.text("etc/apps.d/com.example.tool.conf") == """
                    application-id = com.example.tool
                    path = \(folder.path)/tool
                    access-groups = com.example.a, com.example.b
                    setgid = tool

                    """)
        }
        #expect(try folder.text("group") == "root:x:0:\ntool:x:791:\n", "it is made once")
        // Another registration of this id is not overwritten.
        #expect(throws: CommandError.self) { try registration().run() }
    }

    @Test(
        .enabled(if: isRoot, "only root can give a program a group"),
        arguments: [
            ("tool:x:791:grace\n", "tool:!::\n", ""), ("tool:x:791:\n", "tool:$6$a$b::\n", ""),
            ("tool:x:791:\n", "tool:!:grace:\n", ""), ("tool:x:791:\n", "tool:!::grace\n", ""),
            ("tool:x:791:\n", "", ""), ("tool:x:791:\n", "tool:::\n", ""), ("tool:$6$a$b:791:\n", "tool:!::\n", ""),
            ("tool:x:791:\nother:x:791:\n", "tool:!::\n", ""), ("tool:x:0:\n", "tool:!::\n", ""),
            ("tool:x:791:\n", "tool:!::\n", "grace:x:1000:791::/:/bin/sh\n"),
        ])
    func `a group that others have, or can come into, is refused, and nothing is changed`(
        groups: String, shadow: String, users: String
    ) throws {
        try folder.write("root:x:0:\n" + groups, "group")
        try folder.write(shadow, "gshadow")
        try folder.write("root:x:0:0::/root:/bin/sh\n" + users, "passwd")
        let error = #expect(throws: CommandError.self) { try registration().run() }
        if case .ownGroup? = error {} else { Issue.record("\(String(describing: error))") }
        #expect(try status().st_mode & 0o7777 == 0o755)
        #expect(access("\(folder.path)/etc", F_OK) != 0)
    }

    @Test(.enabled(if: isRoot, "only root can give a program a group"))
    func `a file that others can replace gets no group`() throws {
        try #require(chmod(folder.path, 0o777) == 0)
        #expect(
            throws: CommandError.ownGroup(
                "Others than root can replace \(folder.path). Give it to root, and let nobody else write to it.")
        ) { try registration().run() }
        try #require(chmod(folder.path, 0o755) == 0 && chown("\(folder.path)/tool", 1, 0) == 0)
        #expect(throws: CommandError.self) { try registration().run() }
        #expect(try folder.text("group") == "root:x:0:\n")
    }

    /// As the doors are, which packages and installations have as one file.
    @Test(.enabled(if: isRoot, "only root can give a program a group"))
    func `a file with a second name gets no group, and as a file of its own it does`() throws {
        let (tool, other) = ("\(folder.path)/tool", "\(folder.path)/other")
        try #require(link(tool, other) == 0)
        #expect(
            throws: CommandError.ownGroup(
                "\(tool) is one file with other programs, which would get the group, too. Make it a file of its own before: "
                    + "`cp \(tool) \(tool).own && mv \(tool).own \(tool)`.")
        ) { try registration().run() }
        #expect(try status().st_mode & 0o7777 == 0o755)
        #expect(try folder.text("group") == "root:x:0:\n", "no group is made for it")
        try #require(unlink(other) == 0)
        try registration().run()
        #expect(try status().st_gid == 791)
    }

    @Test(.enabled(if: isRoot, "only root can give a program a group"))
    func `a group that cannot be made is an error`() throws {
        try folder.write("#!/bin/sh\nexit 1\n", "groupadd", mode: 0o755)
        #expect(throws: CommandError.ownGroup("The group tool was not made.")) { try registration().run() }
    }

    @Test(arguments: ["", "Tool", "1tool", "to ol", "tool\n", "tool:", String(repeating: "a", count: 33)])
    func `a name that no group has is refused`(name: String) {
        #expect(throws: CommandError.self) { try registration(group: name).run() }
        #expect(!OwnGroupRegistration.isName(name))
    }

    @Test(.enabled(if: !isRoot, "root may do it"))
    func `another user than root is told so`() {
        #expect(
            throws: CommandError.usage("Only root can give a program a group of its own; run the command with sudo.")
        ) { try registration().run() }
    }
}

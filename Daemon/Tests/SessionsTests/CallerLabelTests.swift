import AccessControl
import CLinuxShims
import ExactNames
import Foundation
import Glibc
import OstiaryMessages
import Owners
import ProcessFacts
import PromptProtocol
import Prompting
import Refusals
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Callers
@testable import Sessions

private let isRoot = geteuid() == 0

/// How far each program's name can be trusted, by facts that are played.
@Suite("The label of a caller", .timeLimit(.minutes(10)))
struct CallerLabelTests {
    private let fixture: BrokerFixture
    private let near, far: UnixSocket

    init() throws {
        fixture = try BrokerFixture()
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        near = UnixSocket(owning: Descriptor(owning: ends[0]))
        far = UnixSocket(owning: Descriptor(owning: ends[1]))
    }

    private func caller(
        ofUsersDaemon: Bool = false, _ change: (inout PlayedProcess.Facts) -> Void
    ) throws -> Callers.CallerProcess {
        var facts = PlayedFacts()
        facts.areOfCallersAccount = ofUsersDaemon
        facts.processes[getpid()] = .success(PlayedProcess(getpid(), change))
        return try Callers.CallerProcess(
            connectedTo: near, owner: fixture.account.id.ownerID, applications: fixture.account.applications,
            facts: facts)
    }

    private func register(_ text: String) throws {
        let folder = fixture.folder.path("apps.d")
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try #require(chmod(folder, 0o755) == 0)
        let path = "\(folder)/tool.conf"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try #require(chmod(path, 0o644) == 0)
    }

    private static let service = "0::/system.slice/backup.service\n"

    @Test func `a program of no special place is advisory`() throws {
        let caller = try caller { _ in }
        #expect(caller.label == .advisory)
        #expect(caller.program.recordedName == "/usr/bin/tool (advisory)")
        #expect(caller.program.logName == "/usr/bin/tool")
        #expect(caller.program.displayName == "/usr/bin/tool")
    }

    @Test func `a program in namespaces of its user, or of unknown ones, is in a sandbox`() throws {
        for fact in [.success(false), .failure(.refused), .failure(.absent)] as [Result<Bool, FactFailure>] {
            #expect(try caller { $0.isInOwnUserNamespace = fact }.label == .sandbox)
        }
    }

    @Test func `a program of a service of the machine says so, also in a sandbox`() throws {
        let caller = try caller {
            $0.controlGroups = .success(Self.service)
            $0.isInOwnUserNamespace = .success(false)
        }
        #expect(caller.label == .systemUnit)
        #expect(caller.program.recordedName == "/usr/bin/tool (system unit)")
    }

    @Test func `groups that cannot be read give no better label`() throws {
        #expect(try caller { $0.controlGroups = .failure(.unreadable) }.label == .advisory)
    }

    /// All programs of the user can reach into the daemon.
    @Test func `a user's own daemon says nothing of trust, whatever the facts are`() throws {
        let caller = try caller(ofUsersDaemon: true) {
            $0.controlGroups = .success(Self.service)
            $0.isInOwnUserNamespace = .success(false)
        }
        #expect(caller.label == .advisory)
        #expect(caller.program.recordedName == "/usr/bin/tool")
        let status = try Self.status()
        let asking = try self.caller(ofUsersDaemon: true) { $0.status = .success(status) }
        #expect(try asking.promptCaller(terminal: nil).label == nil)
    }

    private static func status() throws -> ProcessStatus {
        let text = "1 (x) S 1 1 1 0 -1" + String(repeating: " 0", count: 13) + " 100"
        return try #require(ProcessStatus(parsing: Array(text.utf8)))
    }

    @Test func `the question has the label`() throws {
        let status = try Self.status()
        let caller = try caller {
            $0.status = .success(status)
            $0.controlGroups = .success(Self.service)
        }
        #expect(try caller.promptCaller(terminal: nil).label == .systemUnit)
    }

    @Test(.enabled(if: isRoot, "only root can register programs for all users"))
    func `a registered program says so, and in the log as soon as it was looked at`() throws {
        try register("application-id = com.example.tool\npath = /usr/bin/true\n")
        let caller = try caller { $0.name = .success(ExecutedName(path: "/usr/bin/true", isTrue: true)) }
        #expect(caller.program.recordedName == "/usr/bin/true (advisory)", "nothing was read for a name")
        #expect(caller.label == .registered)
        #expect(caller.program.recordedName == "/usr/bin/true (registered)")
    }

    /// A path cannot seem to have another label, since each name has one.
    @Test func `a path with a label's words in it has the own label behind it`() throws {
        let path = "/home/grace/tool (setgid)"
        let caller = try caller { $0.name = .success(ExecutedName(path: path, isTrue: true)) }
        #expect(caller.program.recordedName == "\(path) (advisory)")
    }

    @Test func `a long name leaves room for the label`() throws {
        let path = "/" + String(repeating: "x", count: 300)
        let caller = try caller { $0.name = .success(ExecutedName(path: path, isTrue: true)) }
        #expect(caller.program.recordedName.utf8.count == 256)
        #expect(caller.program.recordedName.hasSuffix("x (advisory)"))
    }

    @Test func `a whole connection tells its label in status and log`() throws {
        var facts = PlayedFacts()
        facts.areOfCallersAccount = false
        let exit = SharedDescriptor(try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open"))
        facts.processes[getpid()] = .success(
            PlayedProcess(getpid()) {
                $0.controlGroups = .success(Self.service)
                $0.exit = .success(exit)
            })
        let fixture = try BrokerFixture(facts: facts)
        let client = try fixture.client()
        #expect(try client.status().caller.label == "system unit")
        #expect(try client.status().caller.program == "/usr/bin/tool")
        try client.create("mine", AccessControl(availability: .always, using: .unrestricted))
        #expect(try client.log().contains { $0.event == "create" && $0.program == "/usr/bin/tool (system unit)" })
    }

    // MARK: a group of its own

    /// A group of this machine that nobody is in.
    private static func emptyGroup() throws -> (name: String, number: UInt32) {
        let users = try String(contentsOfFile: "/etc/passwd", encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: ":", omittingEmptySubsequences: false) }
        for line in try String(contentsOfFile: "/etc/group", encoding: .utf8).split(separator: "\n") {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count == 4, fields[3].isEmpty, let number = UInt32(fields[2]), number != 0,
                !users.contains(where: { $0.count > 3 && $0[3] == fields[2] })
            else { continue }
            return (String(fields[0]), number)
        }
        throw SystemCallError("getgrent")
    }

    @Test(.enabled(if: isRoot, "only root can give a program a group"))
    func `a program with a group of its own has the strongest label, and without the group no rights`() throws {
        let group = try Self.emptyGroup()
        let programs = try TestFolder(in: String(cString: try #require(getpwuid(0)).pointee.pw_dir))
        let path = programs.path("tool")
        try FileManager.default.copyItem(atPath: "/usr/bin/true", toPath: path)
        try #require(chown(path, 0, group.number) == 0 && chmod(path, 0o2755) == 0)
        try register("application-id = com.example.tool\npath = \(path)\nsetgid = \(group.name)\n")
        let played = PlayedProcess(getpid()) { $0.name = .success(ExecutedName(path: path, isTrue: true)) }
        let caller = try caller { $0.name = .success(ExecutedName(path: path, isTrue: true)) }
        func identity(_ number: UInt32) -> CallerIdentity {
            fixture.account.applications.identity(
                of: caller.program, content: CallerContent(process: played, offered: nil),
                group: CallerGroup(number, of: played))
        }
        let whole = identity(group.number)
        #expect(whole.applicationID == "com.example.tool" && whole.hasOwnGroup)
        #expect(CallerPlace(played).label(for: whole) == .setgid)
        // As a copy of the process's memory would run it, or a program that the kernel takes for it.
        for number in [0, group.number + 1, .max] {
            #expect(identity(number).standing == .withoutGroup && identity(number).applicationID == nil)
            #expect(CallerPlace(played).label(for: identity(number)) == .advisory)
        }
        #expect(identity(0).standing.refusal(of: path)?.cause == "program.group")
        // As a program executes the file again that was lent the group, or nobody knows whether it does.
        for real in [.success(group.number), .failure(.refused), .failure(.absent)] as [Result<UInt32, FactFailure>] {
            played.change { $0.realGroupID = real }
            #expect(identity(group.number).standing == .withoutGroup)
            #expect(CallerPlace(played).label(for: identity(group.number)) == .advisory)
        }
        played.change { $0.realGroupID = .success(0) }
        for own in [.success(false), .failure(.refused), .failure(.unreadable)] as [Result<Bool, FactFailure>] {
            played.change { $0.isInOwnUserNamespace = own }
            #expect(identity(group.number).standing == .withoutGroup)
        }
        played.change { $0.isInOwnUserNamespace = .success(true) }
        #expect(identity(group.number).hasOwnGroup)
        // A file of another group, or one without the mode's bit.
        try #require(chmod(path, 0o755) == 0)
        #expect(identity(group.number).standing == .withoutGroup)
        try #require(chown(path, 0, 0) == 0 && chmod(path, 0o2755) == 0)
        #expect(identity(0).standing == .withoutGroup)
        // A copy elsewhere is no registered program, with whatever group.
        let copy = programs.path("copy")
        try FileManager.default.copyItem(atPath: "/usr/bin/true", toPath: copy)
        try #require(chown(copy, 0, group.number) == 0 && chmod(copy, 0o2755) == 0)
        let other = try self.caller { $0.name = .success(ExecutedName(path: copy, isTrue: true)) }
        #expect(other.label == .advisory && other.identity.applicationID == nil)
    }

    /// Who the process is for the daemon, if it connected with this group.
    private func identity(
        _ processID: Int32, in group: UInt32
    ) throws -> (identity: CallerIdentity, label: ProgramLabel) {
        let process = try KernelFacts().hold(processID)
        let program = CallerProgram(
            process, executable: try process.executable(), owner: fixture.account.id.ownerID)
        let identity = fixture.account.applications.identity(
            of: program, content: CallerContent(process: process, offered: nil),
            group: CallerGroup(group, of: process))
        return (identity, CallerPlace(process).label(for: identity))
    }

    /// The child of a process that executes the file with this argument.
    private func child(of processID: Int32, executing program: String, argument: String) throws -> Int32 {
        var found: Int32?
        try eventually("\(program) runs") {
            let path = "/proc/\(processID)/task/\(processID)/children"
            let children = try String(contentsOfFile: path, encoding: .utf8).split(separator: " ")
            found = children.compactMap { Int32($0) }.first {
                let command = try? String(contentsOfFile: "/proc/\($0)/cmdline", encoding: .utf8)
                let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/exe")
                return file == program && command?.contains(argument) == true
            }
            return found != nil
        }
        return try #require(found)
    }

    @Test(.enabled(if: isRoot, "only root can give a program a group"))
    func `what a setgid program starts has neither its name nor its label, though it has its group`() throws {
        let group = try Self.emptyGroup()
        let programs = try TestFolder(in: String(cString: try #require(getpwuid(0)).pointee.pw_dir))
        let (path, sleep) = (programs.path("tool"), programs.path("sleep"))
        try FileManager.default.copyItem(atPath: "/bin/bash", toPath: path)
        try FileManager.default.copyItem(atPath: "/usr/bin/sleep", toPath: sleep)
        try #require(chown(path, 0, group.number) == 0 && chmod(path, 0o2755) == 0)
        try register("application-id = com.example.tool\npath = \(path)\nsetgid = \(group.name)\n")
        // The second one makes the group its real one, and executes the file again: it could name a library in the environment.
        let again = """
            import os; os.setresgid(\(group.number), \(group.number), \(group.number))
            os.execv('\(path)', ['tool', '-p', '-c', '\(sleep) 602; :'])
            """
        let script = programs.path("again.py")
        try Data(again.utf8).write(to: URL(fileURLWithPath: script))
        let process = try SpawnedProcess(
            "/usr/bin/setpriv",
            [
                "--regid=65534", "--clear-groups", path, "-p", "-c",
                "\(sleep) 601 & /usr/bin/python3 \(script) & wait; :",
            ])
        let started = try child(of: process.processID, executing: sleep, argument: "601")
        let imitator = try child(of: process.processID, executing: path, argument: "602")

        let genuine = try identity(process.processID, in: group.number)
        #expect(genuine.identity.applicationID == "com.example.tool" && genuine.label == .setgid)
        let lent = try identity(started, in: group.number)
        #expect(lent.identity.application == ExactName(sleep) && lent.identity.applicationID == nil)
        #expect(lent.label == .advisory)
        let imitated = try identity(imitator, in: group.number)
        #expect(imitated.identity.standing == .withoutGroup && imitated.identity.applicationID == nil)
        #expect(imitated.label == .advisory)
    }

    @Test(.enabled(if: isRoot, "only root can give a program a group"))
    func `a group that others can have is nobody's own`() throws {
        let folder = try TestFolder(in: String(cString: try #require(getpwuid(0)).pointee.pw_dir))
        let path = folder.path("tool")
        try FileManager.default.copyItem(atPath: "/usr/bin/true", toPath: path)
        func number(group: String, users: String = "root:x:0:0::/root:/bin/sh\n") throws -> UInt32? {
            try Data(group.utf8).write(to: URL(fileURLWithPath: folder.path("group")))
            try Data(users.utf8).write(to: URL(fileURLWithPath: folder.path("passwd")))
            return OwnGroup(name: "tool", accountsIn: folder.path).number(ofProgramAt: path)
        }
        let alone = "root:x:0:\ntool:x:791:\n"
        try #require(chown(path, 0, 791) == 0 && chmod(path, 0o2755) == 0)
        #expect(try number(group: alone) == 791)
        for group in [
            "", "tool:x:792:\n", "tool:x:791:grace\n", "tool:$6$a$b:791:\n", alone + "other:x:791:\n",
            alone + "tool:x:793:\n", alone + "nonsense\n", "Tool:x:791:\n",
        ] {
            #expect(try number(group: group) == nil, "\(group)")
        }
        #expect(try number(group: alone, users: "grace:x:1000:791::/:/bin/sh\n") == nil)
        #expect(try number(group: alone, users: "nonsense\n") == nil)
        for mode in [0o755, 0o2775, 0o2757, 0o6755, 0o2754] as [mode_t] {
            try #require(chmod(path, mode) == 0)
            #expect(try number(group: alone) == nil, "\(String(mode, radix: 8))")
        }
        try #require(chown(path, 1, 791) == 0 && chmod(path, 0o2755) == 0)
        #expect(try number(group: alone) == nil)
        try #require(chown(path, 0, 791) == 0 && chmod(path, 0o2755) == 0 && chmod(folder.path, 0o777) == 0)
        #expect(try number(group: alone) == nil, "others can replace the file")
    }

    @Test func `a group has a name that no line of accounts can be confused with`() {
        for name in ["a", "_a", "mail-agent", "a1_", String(repeating: "a", count: 32)] {
            #expect(OwnGroup.isName(name), "\(name)")
        }
        for name in ["", "1a", "-a", "A", "a:b", "a b", "a\n", "é", "a.b", String(repeating: "a", count: 33)] {
            #expect(!OwnGroup.isName(name), "\(name)")
        }
    }

    @Test func `the administrator's file names the group`() throws {
        let text = "application-id = a\npath = /usr/bin/x\n"
        #expect(try SystemApplications.parse(text + "setgid = tool\n").ownGroup == OwnGroup(name: "tool"))
        #expect(try SystemApplications.parse(text).ownGroup == nil)
        #expect(throws: SystemApplicationError.notAGroup(line: 3)) {
            try SystemApplications.parse(text + "setgid = Tool\n")
        }
    }

    @Test func `a list of registrations says how far each can be trusted`() throws {
        var facts = PlayedFacts()
        let (plain, own) = try (
            SystemApplications.parse("application-id = a\npath = /usr/bin/x\n"),
            SystemApplications.parse("application-id = a\npath = /usr/bin/x\nsetgid = tool\n")
        )
        #expect(plain.label(by: facts) == .advisory && own.label(by: facts) == .advisory)
        facts.areOfCallersAccount = false
        #expect(plain.label(by: facts) == .registered && own.label(by: facts) == .setgid)
    }
}

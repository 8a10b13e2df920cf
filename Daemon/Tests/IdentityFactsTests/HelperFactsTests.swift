import CLinuxShims
import Foundation
import Glibc
import HelperTestSupport
import ProcessFacts
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import IdentityFacts

/// Who reads the facts. Callers are judged the same by each of them.
enum Reader: CaseIterable {
    case kernel, confinedHelper, unconfinedHelper

    func withFacts(_ body: (any CallerFacts) throws -> Void) throws {
        guard self != .kernel else { return try body(KernelFacts()) }
        let helper = try RunningHelper(isConfined: self == .confinedHelper)
        try withExtendedLifetime(helper) { try body(helper.facts()) }
    }
}

@Suite("Facts about callers, whoever reads them", .timeLimit(.minutes(10)))
struct CallerFactsContractTests {
    private func pidfd(of processID: Int32) throws -> SharedDescriptor {
        SharedDescriptor(try Descriptor(ostiary_open_process(processID), from: "pidfd_open"))
    }

    @Test(arguments: Reader.allCases) func `a process is known`(reader: Reader) throws {
        let process = try SpawnedProcess("/usr/bin/sleep", ["600"])
        try eventually("sleep runs") { executed(by: process.processID)?.hasSuffix("/sleep") == true }
        try reader.withFacts { facts in
            let held = try facts.hold(process.processID, pidfd(of: process.processID))
            let file = try held.executable()
            #expect(try !file.isDeleted && held.executes(file) && held.executes(file, wholly: true))
            let name = try held.name(of: file)
            #expect(name.isTrue && name.path == executed(by: process.processID))
            #expect(try held.isInOwnNamespace())
            #expect(try held.userID() == getuid())
            #expect(try held.realUserID() == getuid())
            #expect(try held.realGroupID() == getgid())
            #expect(try held.status().session == process.processID)
            #expect(try held.controlGroups().contains(":"))
            #expect(held.id == process.processID)
            #expect(try KernelFacts.isAlive(held.exit()))
        }
    }

    @Test(arguments: Reader.allCases) func `of a process that has ended nothing is known`(reader: Reader) throws {
        let process = try SpawnedProcess("/usr/bin/sleep", ["600"])
        try eventually("sleep runs") { executed(by: process.processID)?.hasSuffix("/sleep") == true }
        try reader.withFacts { facts in
            let held = try facts.hold(process.processID, pidfd(of: process.processID))
            let unseen = try facts.hold(process.processID)
            let file = try held.executable()
            process.end()
            #expect(throws: FactFailure.absent) { try held.executable() }
            #expect(throws: FactFailure.absent) { try held.executes(file) }
            #expect(throws: FactFailure.absent) { try held.executes(file, wholly: true) }
            #expect(throws: FactFailure.absent) { try held.userID() }
            #expect(throws: FactFailure.absent) { try held.realUserID() }
            #expect(throws: FactFailure.absent) { try held.realGroupID() }
            #expect(throws: FactFailure.absent) { try held.status() }
            #expect(throws: FactFailure.absent) { try unseen.executes(file) }
            #expect(throws: FactFailure.absent) { try unseen.isInOwnNamespace() }
            #expect(throws: FactFailure.absent) { try unseen.controlGroups() }
            #expect(throws: FactFailure.absent) { try facts.hold(process.processID) }
        }
    }

    @Test(arguments: Reader.allCases)
    func `a process that executes another program no longer executes the first one`(reader: Reader) throws {
        let pipe = try PipeEnds()
        let process = try SpawnedProcess(
            "/bin/bash", ["-c", "read line; exec sleep 600"], descriptors: [pipe.reader.number, -1, -1])
        try eventually("bash runs") { executed(by: process.processID)?.hasSuffix("bash") == true }
        try reader.withFacts { facts in
            let held = try facts.hold(process.processID)
            let shell = try held.executable()
            #expect(try held.executes(shell))
            _ = write(pipe.writer.number, "\n", 1)
            try eventually("sleep runs") { executed(by: process.processID)?.hasSuffix("/sleep") == true }
            // At once, not after a second.
            #expect(try !held.executes(shell))
            let name = try held.name(of: shell)
            #expect(name.path.hasSuffix("/sleep") && !name.isTrue)
        }
    }

    /// Packages and installations have the doors as one file.
    @Test(arguments: Reader.allCases) func `two names of one file are two programs`(reader: Reader) throws {
        let folder = try TestFolder()
        let (first, second) = (folder.path("first"), folder.path("second"))
        let process = try sleeper(at: first)
        try #require(link(first, second) == 0)
        let other = try SpawnedProcess(second, ["600"])
        try eventually("the second name runs") { executed(by: other.processID) == second }
        try reader.withFacts { facts in
            let (held, namesake) = (try facts.hold(process.processID), try facts.hold(other.processID))
            let file = try held.executable()
            #expect(try namesake.executable() == file)
            #expect(try held.name(of: file) == ExecutedName(path: first, isTrue: true))
            #expect(try namesake.name(of: file) == ExecutedName(path: second, isTrue: true))
        }
    }

    /// As a setgid program has it, and what it starts.
    @Test(
        .enabled(if: geteuid() == 0, "only root gives a process two groups"), arguments: Reader.allCases)
    func `the real group of a process is not the one that a file gave it`(reader: Reader) throws {
        let process = try SpawnedProcess(
            "/usr/bin/setpriv", ["--rgid=70001", "--egid=70002", "--clear-groups", "/usr/bin/sleep", "600"])
        try eventually("sleep runs") { executed(by: process.processID)?.hasSuffix("/sleep") == true }
        try reader.withFacts { facts in
            let groupID = try facts.hold(process.processID).realGroupID()
            #expect(groupID == 70001)
        }
    }

    /// A build that restarts itself is the same program.
    @Test(arguments: Reader.allCases) func `a program that executes itself is the same one`(reader: Reader) throws {
        let pipe = try PipeEnds()
        let process = try SpawnedProcess(
            "/bin/bash", ["-c", "read line; exec /bin/bash -c 'read line; exec sleep 600'"],
            descriptors: [pipe.reader.number, -1, -1])
        try eventually("bash runs") { executed(by: process.processID)?.hasSuffix("bash") == true }
        func commands() throws -> String {
            try String(contentsOfFile: "/proc/\(process.processID)/cmdline", encoding: .utf8)
        }
        try reader.withFacts { facts in
            let held = try facts.hold(process.processID)
            let shell = try held.executable()
            _ = write(pipe.writer.number, "\n", 1)
            try eventually("the second bash runs") { try commands().contains("\0read line; exec sleep") }
            #expect(try held.executes(shell))
            _ = write(pipe.writer.number, "\n", 1)
            try eventually("sleep runs") { executed(by: process.processID)?.hasSuffix("/sleep") == true }
            #expect(try !held.executes(shell, wholly: true))
        }
    }
}

/// The callers of every kind of place, through the real helper.
@Suite("Callers that a helper looks at", .timeLimit(.minutes(10)))
struct HelperFactsTests {
    private let helper: RunningHelper
    private let facts: HelperFacts
    private let folder: TestFolder

    init() throws {
        helper = try RunningHelper()
        facts = helper.facts()
        folder = try TestFolder()
    }

    private func name(_ processID: Int32) throws -> ExecutedName {
        let held = try facts.hold(processID)
        return try held.name(of: held.executable())
    }

    /// A process behind `unshare`, which executes `program` in the end.
    private func namespaced(_ options: [String], _ script: String, until program: String) throws -> SpawnedProcess {
        let process = try SpawnedProcess("/usr/bin/unshare", options + ["/bin/sh", "-ec", script])
        try eventually("\(program) runs") {
            ([process.processID] + children(of: process.processID)).contains { executed(by: $0) == program }
        }
        return process
    }

    private func inner(_ process: SpawnedProcess) -> Int32 {
        children(of: process.processID).first ?? process.processID
    }

    // MARK: seven callers

    @Test func `a program in a folder that others may not enter has its name`() throws {
        let home = try TestFolder(in: NSHomeDirectory())
        let process = try sleeper(at: home.path("tool"))
        // Root enters it nonetheless. The mount alone decides here for every other user.
        #expect(chmod(home.path, 0) == 0)
        defer { _ = chmod(home.path, 0o700) }
        #expect(try name(process.processID) == ExecutedName(path: home.path("tool"), isTrue: true))
    }

    @Test func `a program in /tmp has its name`() throws {
        let folder = try TestFolder(in: "/tmp")
        let process = try sleeper(at: folder.path("tool"))
        #expect(try name(process.processID) == ExecutedName(path: folder.path("tool"), isTrue: true))
    }

    @Test(.enabled(if: hasNamespaces, "this user may have no namespace"))
    func `a program in a /tmp of its own has none, and one of the machine's folders has`() throws {
        let script = "mount -t tmpfs none /tmp; cp /usr/bin/sleep /tmp/tool; exec /tmp/tool 600"
        let process = try namespaced(["-Urm"], script, until: "/tmp/tool")
        #expect(try name(process.processID) == ExecutedName(path: "/tmp/tool", isTrue: false))
        let other = try namespaced(["-Urm"], "exec /usr/bin/sleep 600", until: "/usr/bin/sleep")
        #expect(try name(other.processID) == ExecutedName(path: "/usr/bin/sleep", isTrue: true))
    }

    @Test(.enabled(if: hasNamespaces, "this user may have no namespace"))
    func `a program in a user namespace has its name`() throws {
        let process = try namespaced(["-Ur"], "exec /usr/bin/sleep 600", until: "/usr/bin/sleep")
        #expect(try name(process.processID) == ExecutedName(path: "/usr/bin/sleep", isTrue: true))
        #expect(try facts.hold(process.processID).isInOwnNamespace())
    }

    @Test(.enabled(if: hasNamespaces, "this user may have no namespace"))
    func `a program in a process namespace is not in the daemon's`() throws {
        let process = try namespaced(["-Urpf"], "exec /usr/bin/sleep 600", until: "/usr/bin/sleep")
        #expect(try !facts.hold(inner(process)).isInOwnNamespace())
    }

    @Test(.enabled(if: hasNamespaces, "this user may have no namespace"))
    func `a program that was mounted over another has not the other's name`() throws {
        let copy = folder.path("copy")
        try FileManager.default.copyItem(atPath: "/usr/bin/sleep", toPath: copy)
        let process = try namespaced(
            ["-Urm"], "mount --bind \(copy) /usr/bin/true; exec /usr/bin/true 600", until: "/usr/bin/true")
        #expect(try name(process.processID) == ExecutedName(path: "/usr/bin/true", isTrue: false))
    }

    /// Its namespaces are those of init: the file's mount tells.
    @Test(.enabled(if: hasNamespaces, "this user may have no namespace"))
    func `a program of another mount namespace has not the name that it has there`() throws {
        let script = NativeBuild.file("../../NativeHelpersTests/Programs/of_another_mount.py")
        let process = try SpawnedProcess("/usr/bin/python3", [script, folder.path("copy")])
        try eventually("the copy runs") { executed(by: process.processID) == "/usr/bin/true" }
        #expect(try name(process.processID) == ExecutedName(path: "/usr/bin/true", isTrue: false))
    }

    /// As with a disk image that a user may mount, and detach while programs on it run.
    @Test(.enabled(if: hasNamespaces, "this user may have no namespace"))
    func `a mount that is detached while its number is looked for names nobody`() throws {
        let mount = folder.path("mount")
        try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
        let script = """
            mount -t tmpfs none \(mount); mkdir -p \(mount)/usr/bin; cp /usr/bin/sleep \(mount)/usr/bin/true
            \(mount)/usr/bin/true 600 & read line; umount -l \(mount); exec /usr/bin/sleep 600
            """
        let pipe = try PipeEnds()
        let process = try SpawnedProcess(
            "/usr/bin/unshare", ["-Urm", "/bin/sh", "-ec", script], descriptors: [pipe.reader.number, -1, -1])
        let path = mount + "/usr/bin/true"
        try eventually("the program runs") { children(of: process.processID).contains { executed(by: $0) == path } }
        let program = try #require(children(of: process.processID).first { executed(by: $0) == path })
        defer { kill(program, SIGKILL) }
        let number = pipe.writer.number
        let mounts = MachineMounts {
            let text = try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(program)/mountinfo"))
            _ = write(number, "\n", 1)
            try? eventually("the mount is detached") { executed(by: program) == "/usr/bin/true" }
            return text
        }
        let held = HelpedProcess(
            try ProcessFolder(of: program, nil), of: nil, helper.helper, mounts, freshness: .seconds(1))
        let file = try held.executable()
        #expect(try held.name(of: file) == ExecutedName(path: "/usr/bin/true", isTrue: false))
    }

    @Test func `a deleted program has no name, also if another takes its place or it has another name`() throws {
        let (path, other) = (folder.path("tool"), folder.path("other"))
        let process = try sleeper(at: path)
        let held = try facts.hold(process.processID)
        let file = try held.executable()
        try FileManager.default.copyItem(atPath: "/usr/bin/env", toPath: other)
        #expect(rename(other, path) == 0)
        #expect(try held.executable().isDeleted)
        #expect(try !held.name(of: file).isTrue)
        #expect(try held.executes(file, wholly: true), "it still is that file")
        let linked = try sleeper(at: folder.path("linked"))
        #expect(link(folder.path("linked"), folder.path("second")) == 0 && unlink(folder.path("linked")) == 0)
        #expect(
            try name(linked.processID) == ExecutedName(path: folder.path("linked") + " (deleted)", isTrue: false))
    }

    @Test func `a name that is no text names nobody`() throws {
        let path = folder.path("tool")
        try FileManager.default.copyItem(atPath: "/usr/bin/sleep", toPath: path)
        var copy = stat()
        let isThere = stat(path, &copy) == 0
        try #require(isThere)
        let script = """
            import os, sys
            name = os.fsencode(sys.argv[1])
            os.rename(name, name + b'\\xff')
            os.execv(name + b'\\xff', ['tool', '600'])
            """
        let process = try SpawnedProcess("/usr/bin/python3", ["-c", script, path])
        let held = try facts.hold(process.processID)
        try eventually("the copy runs") { try held.executable().inode == copy.st_ino }
        let name = try held.name(of: held.executable())
        #expect(!name.isTrue && name.path.isEmpty)
    }

    // MARK: two users

    @Test(.enabled(if: geteuid() == 0, "only root has the capability, and becomes another user"))
    func `a process of another user that nobody may dump is known`() throws {
        let script = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print('ready', flush=True); time.sleep(600)"
        let pipe = try PipeEnds()
        let process = try SpawnedProcess(
            "/usr/bin/setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script],
            descriptors: [-1, pipe.writer.number, -1])
        var byte: UInt8 = 0
        #expect(read(pipe.reader.number, &byte, 1) == 1)
        let held = try facts.hold(process.processID)
        #expect(try held.userID() == 65534)
        let name = try held.name(of: held.executable())
        #expect(name.isTrue && name.path.contains("python3"))
    }

    @Test(.enabled(if: geteuid() != 0, "root may look at every process"))
    func `without its capability the helper may not look, and says so`() throws {
        #expect(throws: FactFailure.refused) { try facts.hold(1).executable() }
        // What everybody may read is known.
        #expect(try facts.hold(1).status().session >= 0)
    }

    // MARK: memory

    private func sharing(_ pipe: borrowing PipeEnds) throws -> SpawnedProcess {
        let script = NativeBuild.file("shares_memory.py")
        let process = try SpawnedProcess("/usr/bin/python3", [script], descriptors: [pipe.reader.number, -1, -1])
        try eventually("python runs") { executed(by: process.processID)?.contains("python3") == true }
        return process
    }

    /// What a program gains that makes a process with its memory and executes another one: at most the second that a look counts.
    @Test(arguments: [Duration.seconds(600), .zero])
    func `memory that outlives its program counts no longer than a look`(freshness: Duration) throws {
        let facts = helper.facts(freshness: freshness)
        let pipe = try PipeEnds()
        let process = try sharing(pipe)
        let held = try facts.hold(process.processID)
        let python = try held.executable()
        _ = write(pipe.writer.number, "\n", 1)
        try eventually("sleep runs") { executed(by: process.processID) == "/usr/bin/sleep" }
        #expect(try held.executes(python) == (freshness > .zero))
        // A look at the process itself is not deceived, and after it nothing counts any more.
        #expect(try !held.executes(python, wholly: true))
        #expect(try !held.executes(python))
    }

    @Test func `a program that makes such a process is another one to a later caller`() throws {
        let pipe = try PipeEnds()
        let process = try sharing(pipe)
        _ = write(pipe.writer.number, "\n", 1)
        try eventually("sleep runs") { executed(by: process.processID) == "/usr/bin/sleep" }
        #expect(try name(process.processID) == ExecutedName(path: "/usr/bin/sleep", isTrue: true))
    }

    @Test func `between two looks nobody asks the helper`() throws {
        let process = try sleeper(at: folder.path("tool"))
        let held = try helper.facts(freshness: .seconds(600)).hold(process.processID)
        let file = try held.executable()
        helper.manager.signal(SIGSTOP)
        kill(try #require(helper.process), SIGKILL)
        #expect(try held.executes(file))
        helper.manager.signal(SIGCONT)
    }

    // MARK: terminals

    @Test func `the helper finds a session with a terminal of the same number`() throws {
        let terminal = try PseudoTerminal()
        let caller = try CallerProcess(on: terminal)
        let fact = try #require(facts.terminal(behind: terminal.slave.number))
        #expect(fact == KernelFacts().terminal(behind: terminal.slave.number))
        let status = try facts.hold(caller.processID).status()
        #expect(try facts.namesake(of: fact, for: status, of: getuid()) == nil)
        // Of a process in another session, with a terminal of this number.
        let device = Int32(bitPattern: fact.number)
        let text = "1 (x) S 1 1 1 \(device) 1" + String(repeating: " 0", count: 13) + " 100"
        let other = try #require(ProcessStatus(parsing: Array(text.utf8)))
        #expect(try facts.namesake(of: fact, for: other, of: getuid()) == caller.processID)
        let unconfined = try RunningHelper(isConfined: false)
        #expect(throws: FactFailure.refused) {
            try unconfined.facts().namesake(of: fact, for: status, of: getuid())
        }
        withExtendedLifetime(unconfined) {}
    }
}

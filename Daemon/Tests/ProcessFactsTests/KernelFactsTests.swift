import CLinuxShims
import Foundation
import Glibc
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import ProcessFacts

/// This process's reading of facts about others. A folder of the test's own stands in for a `/proc` that hides or garbles something.
@Suite("The kernel's facts about a process", .timeLimit(.minutes(10))) struct KernelFactsTests {
    private let facts = KernelFacts()

    private func sleeper() throws -> SpawnedProcess { try SpawnedProcess("/usr/bin/sleep", ["600"]) }

    private func pidfd(of process: SpawnedProcess) -> SharedDescriptor {
        SharedDescriptor(Descriptor(owning: ostiary_open_process(process.processID)))
    }

    private func failures(of process: any HeldProcess, _ file: ExecutedFile) -> [FactFailure?] {
        func failure(_ ask: () throws(FactFailure) -> Void) -> FactFailure? {
            do throws(FactFailure) { try ask() } catch { return error }
            return nil
        }
        return [
            failure { () throws(FactFailure) in _ = try process.executable() },
            failure { () throws(FactFailure) in _ = try process.executes(file) },
            failure { () throws(FactFailure) in _ = try process.name(of: file) },
            failure { () throws(FactFailure) in _ = try process.isInOwnNamespace() },
            failure { () throws(FactFailure) in _ = try process.status() },
            failure { () throws(FactFailure) in _ = try process.controlGroups() },
        ]
    }

    @Test func `a process of the same user is known`() throws {
        let sleeper = try sleeper()
        let process = try facts.hold(sleeper.processID, pidfd(of: sleeper))
        try eventually("it executes sleep") { try process.name(of: process.executable()).path.hasSuffix("/sleep") }
        let file = try process.executable()
        #expect(!file.isDeleted)
        #expect(try process.executes(file))
        #expect(try process.name(of: file).isTrue)
        #expect(try process.isInOwnNamespace())
        #expect(try process.status().session == sleeper.processID)
        #expect(try process.controlGroups().contains(":"))
        #expect(process.id == sleeper.processID)
        var exit = pollfd(fd: try process.exit().number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&exit, 1, 0) == 0)
        sleeper.end()
        #expect(poll(&exit, 1, 20_000) == 1)
    }

    @Test func `a session is known by its leader's start and its terminal, and not after the process`() throws {
        let terminal = try PseudoTerminal()
        let window = try CallerProcess(on: terminal)
        let process = try facts.hold(window.processID)
        let session = try #require(facts.session(of: process, ofUser: geteuid()))
        #expect(session.id == window.processID && session.terminal == terminal.path)
        #expect(try session.leaderStart == process.status().startTime)
        let sleeper = try sleeper()
        let service = try #require(facts.session(of: facts.hold(sleeper.processID), ofUser: geteuid()))
        #expect(service.id == sleeper.processID && service.terminalDevice == 0 && service.terminal == nil)
        #expect(service != session)
        window.end()
        #expect(facts.session(of: process, ofUser: geteuid()) == nil)
    }

    @Test func `nothing is known of a process that has ended, but that it is absent`() throws {
        let sleeper = try sleeper()
        let process = try facts.hold(sleeper.processID)
        let file = try process.executable()
        sleeper.end()
        #expect(failures(of: process, file) == Array(repeating: .absent, count: 6))
        #expect(throws: FactFailure.absent) { try process.exit() }
        for number in [sleeper.processID, 0, -1, .max] {
            #expect(throws: FactFailure.absent) { try facts.hold(number) }
        }
    }

    /// The number that the kernel noted at connect is another process's by now.
    @Test func `a number that was given to another process is not held for the one that had it`() throws {
        let former = try sleeper()
        let end = pidfd(of: former)
        former.end()
        let present = try sleeper()
        #expect(throws: FactFailure.absent) { try facts.hold(present.processID, end) }
        #expect(try facts.hold(present.processID).id == present.processID)
    }

    @Test func `a process that executes another program no longer executes the first one`() throws {
        let pipe = try PipeEnds()
        let process = try SpawnedProcess(
            "/bin/bash", ["-c", "read line; exec sleep 600"], descriptors: [pipe.reader.number, -1, -1])
        let held = try facts.hold(process.processID)
        try eventually("it executes bash") { try held.name(of: held.executable()).path.hasSuffix("bash") }
        let shell = try held.executable()
        #expect(try held.executes(shell))
        _ = write(pipe.writer.number, "\n", 1)
        try eventually("it executes another program") { try !held.executes(shell) }
        // The name is that of the present program, which is not the one asked for.
        let name = try held.name(of: shell)
        #expect(name.path.hasSuffix("/sleep") && !name.isTrue)
    }

    @Test func `the file of another program at the path of an executed one is not taken for it`() throws {
        let folder = try TestFolder()
        let path = folder.path("tool")
        try FileManager.default.copyItem(atPath: "/usr/bin/sleep", toPath: path)
        let process = try SpawnedProcess(path, ["600"])
        let held = try facts.hold(process.processID)
        try eventually("it executes the copy") { try held.name(of: held.executable()).path == path }
        let file = try held.executable()
        #expect(try held.name(of: file).isTrue)
        try FileManager.default.copyItem(atPath: "/usr/bin/env", toPath: path + "2")
        #expect(rename(path + "2", path) == 0)
        #expect(try !held.name(of: file).isTrue)
        #expect(try held.executes(file), "its file has no name any more, and it still is that file")
        #expect(try held.executable().isDeleted)
    }

    // MARK: hidden, unreadable

    @Test func `a living process without a folder is hidden, and not absent`() throws {
        let hiding = KernelFacts(root: try TestFolder().path)
        let sleeper = try sleeper()
        #expect(throws: FactFailure.refused) { try hiding.hold(sleeper.processID) }
        #expect(throws: FactFailure.refused) { try hiding.hold(sleeper.processID, pidfd(of: sleeper)) }
        let end = pidfd(of: sleeper)
        sleeper.end()
        #expect(throws: FactFailure.absent) { try hiding.hold(sleeper.processID) }
        #expect(throws: FactFailure.absent) { try hiding.hold(sleeper.processID, end) }
    }

    /// Below `hidepid` the folder of a process answers a helper alone, and older kernels give no pidfd with a connection.
    @Test func `the end of a hidden process is noticed where somebody else confirms that it is there`() throws {
        let folder = try TestFolder()
        let sleeper = try sleeper()
        let path = folder.path("\(sleeper.processID)")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let hidden = try ProcessFolder(of: sleeper.processID, nil, below: folder.path)
        #expect(throws: FactFailure.absent) { try hidden.exit() }
        #expect(throws: FactFailure.refused) { try hidden.exit { () throws(FactFailure) in throw .refused } }
        let end = try hidden.exit { () throws(FactFailure) in }
        #expect(KernelFacts.isAlive(end))
        sleeper.end()
        try eventually("the end is noticed") { !KernelFacts.isAlive(end) }
    }

    @Test(arguments: [("1000", 1000), ("0\n", 0), ("4294967295", nil)] as [(String, UInt32?)])
    func `the kernel says whose login began a process`(text: String, userID: UInt32?) throws {
        #expect(try ProcessFolder.loginUserID(Array(text.utf8)) == userID)
    }

    @Test(arguments: ["", "-1", "4294967296", "1000\n\n", "x"])
    func `another text says nothing of a login`(text: String) {
        #expect(throws: FactFailure.unreadable) { try ProcessFolder.loginUserID(Array(text.utf8)) }
    }

    @Test(arguments: ["", "no status", String(repeating: "x", count: 20_000)])
    func `a text of another form is unreadable`(text: String) throws {
        let folder = try TestFolder()
        try FileManager.default.createDirectory(atPath: folder.path("1"), withIntermediateDirectories: false)
        for name in ["stat", "cgroup"] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("1/\(name)")))
        }
        let process = try KernelFacts(root: folder.path).hold(1)
        #expect(throws: FactFailure.unreadable) { try process.status() }
        guard text == "no status" else {
            #expect(throws: FactFailure.unreadable) { try process.controlGroups() }
            return
        }
        #expect(try process.controlGroups() == text)
        #expect(throws: FactFailure.absent) { try process.executable() }
    }

    @Test(
        arguments: [
            (ENOENT, .absent), (ESRCH, .absent), (EACCES, .refused), (EPERM, .refused), (EIO, .unreadable),
            (EMFILE, .unreadable), (ENOMEM, .unreadable), (EINVAL, .unreadable),
        ] as [(CInt, FactFailure)])
    func `the kernel's error says which of the three it is`(code: CInt, failure: FactFailure) {
        #expect(FactFailure(code: code) == failure)
    }

    /// A helper answers with these numbers.
    @Test func `each failure keeps its number`() {
        #expect([.absent, .unreadable, .refused].map(\FactFailure.rawValue) == [1, 2, 3])
        #expect(FactFailure(rawValue: 0) == nil && FactFailure(rawValue: 4) == nil)
    }
}

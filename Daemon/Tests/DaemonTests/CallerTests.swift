import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Who is asking: the daemon goes by what the kernel says, at the connection and again at each release.
@Suite(.timeLimit(.minutes(10))) struct CallerTests {
    // MARK: users

    @Test(.enabled(if: Account.isRoot, Account.needsRoot))
    func `another user is refused, whatever the modes of socket and folders`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let folders = daemon.folders
        let program = folders.root.path("caller")
        try FileManager.default.copyItem(atPath: Caller.program, toPath: program)
        for path in [folders.root.path, folders.root.path("run"), folders.runtime, program] {
            #expect(chmod(path, 0o755) == 0)
        }
        #expect(chmod(folders.socket, 0o666) == 0)
        // The same road is open to our own user, so it is not the file system that refuses.
        #expect(try Caller(at: folders, program: program).greeted().client.status().mode == .userForTests)
        let stranger = try Caller(at: folders, program: program, under: Account.asNobody)
        #expect(try stranger.client.isEndedByDaemon, "not even a greeting")
        try eventually("the log says who it was") {
            daemon.standardError.contains("a caller was refused: cause=foreignUser(65534)")
                || daemon.standardError.contains("cause=foreignUser(65534)")
        }
        #expect(try daemon.client().status().mode == .userForTests)
    }

    // MARK: the process behind the connection

    @Test func `bytes of another process than the one that connected end the connection`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        #expect(try stage.canSign(in: context))
        // This process holds the same socket, but it did not connect it.
        let thief = try RawClient(stage.caller.connection)
        try thief.send(.sign(stage.right, in: context), tail: WireRequest.OneOf_Body.digest)
        #expect(try thief.isEndedByDaemon)
        try expectLogged("connect", "foreign-sender", stage.daemon)
    }

    @Test func `a connection whose process has exited cannot be used by whoever kept it`() throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        try stage.daemon.pause()
        stage.caller.kill()
        let heir = try RawClient(stage.caller.connection)
        try heir.send(.readSecret(stage.right, in: context))
        stage.daemon.signal(SIGCONT)
        #expect(try heir.isEndedByDaemon)
        try expectLogged("connect", "foreign-sender", stage.daemon)
    }

    @Test func `a connection ends with its process, though another one keeps it and sends nothing`() throws {
        let stage = try Stage()
        _ = try stage.authorizedContext()
        stage.caller.kill()
        #expect(try RawClient(stage.caller.connection).isEndedByDaemon)
    }

    @Test func `a connection that another process greets on is refused`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let caller = try Caller(at: daemon.folders)
        let thief = try RawClient(caller.connection)
        let greeting = try thief.greeting()
        try thief.send(
            .hello(
                .with {
                    $0.protocolVersion = WireLimits.protocolVersion
                    $0.nonce = greeting.nonce
                }))
        #expect(try thief.isEndedByDaemon)
        try expectLogged("connect", "foreign-sender", daemon)
    }

    // MARK: exec

    @Test(arguments: ["sign", "read"])
    func `a caller that executes another program before the answer gets none`(_ operation: String) throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let caller = try Caller(at: daemon.folders, next: ["/bin/sleep", "600"]).greeted()
        let made = try caller.client.ask(.createRight("open", .unrestricted, hasSecret: true), tail: [1, 2, 3])
        let right = try #require(made.right).rightID
        let context = try caller.client.openContext()
        #expect(try caller.client.ask(.authorize(right, in: context)).factors == [])
        try daemon.pause()
        defer { daemon.signal(SIGCONT) }
        if operation == "sign" {
            try caller.client.send(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest)
        } else {
            try caller.client.send(.readSecret(right, in: context))
        }
        try caller.executeNext("/usr/bin/sleep")
        daemon.signal(SIGCONT)
        let answers = try caller.client.answersUntilEnd()
        #expect(answers.allSatisfy { $0.refusal == .callerChanged && $0.tail.isEmpty })
        try expectLogged(operation, "caller.changed", daemon)
    }

    @Test func `a caller that executes another program while it is asked for gets no grant`() throws {
        let stage = try Stage()
        let folders = stage.folders
        let terminal = try PseudoTerminal()
        let changing = try Caller(at: folders, on: terminal, next: ["/bin/sleep", "600"]).greeted()
        let context = try changing.client.openContext()
        let question = WireRequest.OneOf_Body.authorize(stage.right, in: context)
        try changing.client.send(question, descriptor: terminal.slave.number)
        terminal.waitFor("Passcode: ")
        try changing.executeNext("/usr/bin/sleep")
        terminal.answer("Passcode: ", with: Stage.passcode)
        #expect(try changing.client.answersUntilEnd().allSatisfy { $0.refusal == .callerChanged })
        try expectLogged("authorize", "caller.changed", stage.daemon)
        // The passcode opened the store, which the log says; it does not say that the program was granted anything.
        let records = try stage.daemon.client().log()
        let opening = try #require(records.last { $0.event == "unlock" })
        #expect(opening.result == "opened" && opening.factors == ["passcode"] && opening.operation == "authorize")
        #expect(opening.processID == UInt32(changing.processID))
        #expect(!records.contains { $0.result == "granted" && $0.processID == opening.processID })
    }

    @Test func `a caller that executes another program while a password is chosen gets no right made`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let terminal = try PseudoTerminal()
        let caller = try Caller(at: daemon.folders, on: terminal, next: ["/bin/sleep", "600"]).greeted()
        let rule = try Requirement(anyOf: [.applicationPassword])
        try caller.client.send(
            .createRight("mine", rule, hasSecret: true), tail: [1, 2, 3], descriptor: terminal.slave.number)
        terminal.answer("New item password: ", with: "correct horse 9")
        terminal.waitFor("Repeat")
        try caller.executeNext("/usr/bin/sleep")
        terminal.answer(": ", with: "correct horse 9")
        #expect(try caller.client.answersUntilEnd().allSatisfy { $0.refusal == .callerChanged })
        try expectLogged("create", "caller.changed", daemon)
        guard case .rights(let list)? = try daemon.client().ask(.listRights(.with { $0.ofAllApplications = true })).body
        else {
            throw RawClient.UnexpectedAnswer()
        }
        #expect(list.rights.isEmpty && list.next.isEmpty)
        #expect(try !daemon.client().log().contains { $0.event == "create" && $0.result != "refused" })
    }

    @Test func `a caller that exits takes its question along`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        _ = try stage.beginAuthorizing(in: context)
        #expect(runningPrompts(of: stage.daemon.processID).count == 1)
        #expect(!stage.terminal.echoes)
        stage.caller.kill()
        // The test still holds the connection: it is the process that counts.
        try eventually("the prompt is gone") { runningPrompts(of: stage.daemon.processID).isEmpty }
        try eventually("the terminal is as before") { stage.terminal.isAsBefore }
    }

    @Test func `a connection that is closed takes its question along`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        _ = try stage.beginAuthorizing(in: context)
        stage.client.close()
        try eventually("the prompt is gone") { runningPrompts(of: stage.daemon.processID).isEmpty }
        try eventually("the terminal is as before") { stage.terminal.isAsBefore }
        try expectLogged("authorize", "prompt.cancelled-by-program", stage.daemon)
    }

    // MARK: programs

    @Test func `a program is named by its path`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let caller = try Caller(at: daemon.folders).greeted()
        let status = try caller.client.status()
        #expect(status.caller.program == caller.executable)
        #expect(status.caller.label == "advisory")
    }

    @Test(arguments: ["python3.11", "bash", "perl"])
    func `an interpreter is no program of its own`(_ name: String) throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let path = daemon.folders.root.path(name)
        try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
        let caller = try Caller(at: daemon.folders, program: path).greeted()
        let executable = try #require(caller.executable)
        #expect(try caller.client.status().caller.program == "unknown program (\(executable))")
    }

    @Test func `a deleted executable is an unknown program, and has no access to the rights of the one it was`() throws
    {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let path = daemon.folders.root.path("tool")
        try FileManager.default.copyItem(atPath: Caller.program, toPath: path)
        let before = try Caller(at: daemon.folders, program: path).greeted()
        #expect(try before.client.ask(.createRight("mine", .unrestricted)).right != nil)
        try daemon.pause()
        defer { daemon.signal(SIGCONT) }
        let deleted = try Caller(at: daemon.folders, program: path)
        #expect(unlink(path) == 0)
        daemon.signal(SIGCONT)
        try deleted.client.greet()
        #expect(try deleted.client.status().caller.program.hasPrefix("unknown program"))
        #expect(try deleted.client.ask(.findRight("mine")).refusal == .notFound)
        #expect(try before.client.ask(.findRight("mine")).right != nil, "it was there when that one connected")
    }

    @Test(.enabled(if: Namespaces.areAllowed, Namespaces.needed))
    func `a process of another pid namespace is an unknown program, and has none of the rights of its file`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let ours = try Caller(at: daemon.folders).greeted()
        #expect(try ours.client.ask(.createRight("mine", .unrestricted)).right != nil)
        // The channel tells the process id of its own namespace; the kernel tells the daemon the one here.
        let theirs = try Caller(at: daemon.folders, under: Namespaces.own).greeted()
        #expect(try theirs.client.status().caller.program == "unknown program (in a container)")
        #expect(try theirs.client.ask(.findRight("mine")).refusal == .notFound)
    }

    @Test func `rights of one program are not found by another`() throws {
        let stage = try Stage()
        let other = try stage.daemon.client()
        #expect(try other.ask(.findRight(Stage.rightName)).refusal == .notFound)
        #expect(try other.ask(.removeRight(Stage.rightName)).refusal == .notFound)
        #expect(try other.ask(.removeRight(.with { $0.which = .rightID(stage.right) })).refusal == .notFound)
        let context = try other.openContext()
        #expect(try other.ask(.authorize(stage.right, in: context)).refusal == .notFound)
        #expect(try other.ask(.removeAllRights(.init())).isDone)
        #expect(try stage.client.ask(.findRight(Stage.rightName)).right != nil)
    }

    /// Waits until the audit log holds a refusal of this kind.
    private func expectLogged(_ event: String, _ reason: String, _ daemon: DaemonProcess) throws {
        daemon.signal(SIGCONT)
        let reader = try daemon.client()
        try eventually("the log tells of \(event): \(reason)") {
            try reader.log().contains { $0.event == event && $0.result == "refused" && $0.reason == reason }
        }
    }
}

import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Programs that want what a registered program keeps: by executing it, by its connection, or by taking its file's
/// place.
@Suite(.timeLimit(.minutes(10))) struct RegisteredProgramAttackTests {
    private let stage: RegistrationStage
    private var daemon: DaemonProcess { stage.daemon }
    private var group: String { RegistrationStage.group }
    private var name: String { RegistrationStage.name }

    init() throws { stage = try .stocked() }

    /// Lets callers send and do things that the daemon only sees afterwards.
    private func whileDaemonIsStopped(_ body: () throws -> Void) throws {
        try daemon.pause()
        defer { daemon.signal(SIGCONT) }
        try body()
    }

    /// What the registered program keeps is still there, and nobody has got or changed anything of it.
    private func expectUntouched() throws {
        let tool = try stage.tool().client
        #expect(try tool.ask(.findRight(name)).right?.application == RegistrationStage.applicationID)
        let found = try tool.ask(.findItems())
        #expect(found.items?.count == 1 && found.tail == Array(RegistrationStage.secret.utf8))
    }

    /// Who asks is not the registered program: not its id, not its groups, not what it keeps.
    private func expectStranger(_ client: RawClient) throws {
        let caller = try client.status().caller
        #expect(caller.applicationID.isEmpty && caller.label == "advisory")
        #expect(!caller.accessGroups.contains(group) && !caller.accessGroups.contains(RegistrationStage.applicationID))
        for body in [WireRequest.OneOf_Body.findItems(in: group), .findItems(), .findRight(name), .deleteItems(name)] {
            let answer = try client.ask(body)
            #expect([.missingEntitlement, .notFound, .programChanged].contains(answer.refusal) && answer.tail.isEmpty)
        }
        try expectUntouched()
    }

    private func expectLogged(_ event: String, _ reason: String) throws {
        let reader = try daemon.client()
        try eventually("the log tells of \(event): \(reason)") {
            try reader.log().contains { $0.event == event && $0.result == "refused" && $0.reason == reason }
        }
    }

    // MARK: names

    /// Packages and installations have the doors as one file.
    @Test func `a second name of the registered program's file is a stranger, until it is registered itself`() throws {
        let second = daemon.folders.root.path("second")
        try #require(link(stage.path, second) == 0)
        try expectStranger(stage.tool(second).client)
        let id = "com.example.second"
        try stage.register(second, as: id, groups: [id])
        #expect(try stage.tool(second).client.status().caller.applicationID == id)
        #expect(try stage.tool().client.status().caller.applicationID == RegistrationStage.applicationID)
        #expect(try stage.tool(second).client.ask(.findItems(in: group)).refusal == .missingEntitlement)
        try expectUntouched()
    }

    // MARK: exec

    @Test func `a program that executes the registered one gains nothing of it by what it asked before`() throws {
        let thief = try stage.stranger(next: [stage.path, "--wait"]).greeted()
        var asked: [(UInt64, WireFailureCode)] = []
        var deletion: UInt64 = 0
        try whileDaemonIsStopped {
            asked = [
                (try thief.client.send(.findItems(in: group)), .missingEntitlement),
                (try thief.client.send(.findItems()), .notFound),
                (try thief.client.send(.findRight(name)), .notFound),
                (try thief.client.send(.addItem("planted", in: group)), .missingEntitlement),
            ]
            deletion = try thief.client.send(.deleteItems(name, in: group))
            try thief.client.send(.createRight(name, .unrestricted, replace: true))
            try thief.executeNext(stage.path)
        }
        for (id, refusal) in asked {
            let answer = try thief.client.answer(to: id)
            #expect(answer.refusal == refusal && answer.tail.isEmpty)
        }
        // Deleting and creating have threads of their own: creating may have ended the connection first.
        let rest = try thief.client.answersUntilEnd()
        #expect(rest.allSatisfy { $0.id == deletion && $0.refusal == .missingEntitlement })
        try expectLogged("connect", "caller-changed")
        try expectUntouched()
    }

    @Test(arguments: ["find right", "list rights", "find item", "add item", "delete item", "find key", "make key"])
    func `a registered program that executes another one leaves that one nothing`(_ request: String) throws {
        let caller = try stage.tool(next: ["/bin/sleep", "600"])
        let made = try caller.client.ask(.createKey(.with { ($0.kind, $0.accessControl) = (.p256, Self.open) }))
        guard case .key(let key)? = made.body else { throw RawClient.UnexpectedAnswer() }
        try whileDaemonIsStopped {
            let body: WireRequest.OneOf_Body =
                switch request {
                case "find right": .findRight(name)
                case "list rights": .listRights(.init())
                case "find item": .findItems(in: group)
                case "add item": .addItem("planted", in: group)
                case "delete item": .deleteItems(name)
                case "find key": .findKey(.with { $0.keyID = key.keyID })
                default: .createKey(.with { ($0.kind, $0.accessControl) = (.p256, Self.open) })
                }
            try caller.client.send(body, tail: request == "add item" ? [1] : [])
            try caller.executeNext("/usr/bin/sleep")
        }
        let answers = try caller.client.answersUntilEnd()
        #expect(answers.allSatisfy { $0.refusal == .callerChanged && $0.tail.isEmpty })
        try expectLogged("connect", "caller-changed")
        try expectUntouched()
    }

    private static let open = Data(AccessControl(availability: .whenUnlocked, using: .unrestricted).canonicalBytes)

    /// The registered content is digested again when registrations change. By then it may be what the process executes,
    /// though it is not what connected.
    @Test func `a program in the registered one's place that executes its content is not taken for it`() throws {
        let kept = daemon.folders.root.path("kept")
        try #require(link(stage.path, kept) == 0)
        try stage.rebuild()
        let thief = try stage.tool(next: [kept, "--wait"])
        #expect(try thief.client.ask(.findRight(name)).refusal == .programChanged)
        let other = try stage.altered("other")
        try stage.register(other, as: "com.example.other", groups: [])
        var asked: [UInt64] = []
        try whileDaemonIsStopped {
            let requests: [WireRequest.OneOf_Body] = [
                .status, .findRight(name), .listRights(.init()), .findItems(in: group),
            ]
            asked = try requests.map { try thief.client.send($0) }
            try thief.executeNext(kept)
        }
        guard case .status(let status)? = try thief.client.answer(to: asked[0]).body else {
            throw RawClient.UnexpectedAnswer()
        }
        #expect(status.caller.applicationID.isEmpty && !status.caller.accessGroups.contains(group))
        for id in asked.dropFirst() { #expect(try thief.client.answer(to: id).refusal == .programChanged) }
    }

    // MARK: the connection

    /// The daemon accepts only when the connecting process is the registered program already.
    @Test func `a connection that became the registered program's unseen serves nobody else`() throws {
        var caller: Caller?
        try whileDaemonIsStopped {
            let thief = try stage.stranger(next: [stage.path, "--wait"])
            try thief.client.send(
                .hello(.with { ($0.protocolVersion, $0.nonce) = (WireLimits.protocolVersion, Data(count: 32)) }))
            // Of the same form in all versions: before the greeting is answered, the daemon reads the oldest one.
            try thief.client.send(.removeAllRights(.init()))
            try thief.executeNext(stage.path)
            caller = thief
        }
        let heir = try RawClient(#require(caller).connection)
        let greeting = try heir.greeting()
        #expect(try heir.answer().refusal == .malformed, "the nonce was made after it was queued")
        #expect(try heir.answer().refusal == .outOfOrder)
        try heir.send(
            .hello(.with { ($0.protocolVersion, $0.nonce) = (WireLimits.protocolVersion, greeting.nonce) }), id: 3)
        #expect(try heir.isEndedByDaemon)
        try expectLogged("connect", "foreign-sender")
        try expectUntouched()
    }

    @Test func `a registered program's connection is of no use to whom it was given`() throws {
        let caller = try stage.tool()
        let heir = try RawClient(caller.connection)
        try heir.send(.findItems(in: group))
        #expect(try heir.isEndedByDaemon)
        try expectLogged("connect", "foreign-sender")
    }

    @Test func `an answer for a registered program that is gone is given to nobody`() throws {
        let caller = try stage.tool()
        try whileDaemonIsStopped {
            try caller.client.send(.findItems(in: group))
            // It exits when it has sent all.
            caller.client.closeSending()
            try eventually("the caller is gone") { caller.executable == nil }
        }
        let answers = try caller.client.answersUntilEnd()
        #expect(answers.allSatisfy { $0.refusal == .callerChanged && $0.tail.isEmpty })
        try expectLogged("item-read", "caller.gone")
    }

    /// The child is the registered program in one direction and the stranger in the other; its parent has exited.
    @Test(arguments: [true, false])
    func `a child that kept the connection of a program that is gone speaks in nobody's name`(
        isRegistered: Bool
    ) throws {
        let stranger = try stage.altered("stranger")
        let request = try Self.frame(.findRight(name)).map { String(format: "%02x", $0) }.joined()
        let (parent, child) = isRegistered ? (stranger, stage.path) : (stage.path, stranger)
        let caller = try Caller(
            at: daemon.folders, program: parent, arguments: ["--leaving"], next: [child, "--speak", request]
        ).greeted()
        caller.client.closeSending()
        // The connection ends for the parent's end or for the child's bytes, whichever the daemon sees first.
        #expect(try caller.client.isEndedByDaemon)
        try expectUntouched()
    }

    /// The bytes of a request.
    private static func frame(_ body: WireRequest.OneOf_Body) throws -> [UInt8] {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw SystemCallError("socketpair")
        }
        let near = UnixSocket(owning: Descriptor(owning: ends[0]))
        let far = UnixSocket(owning: Descriptor(owning: ends[1]))
        try RawClient(near).send(body)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = try bytes.withUnsafeMutableBytes { try far.receive(into: $0, expecting: []).count }
        return Array(bytes[..<count])
    }

    // MARK: the file

    @Test func `a file with the registered one's inode number is another program`() throws {
        let registered = DaemonFolders.status(of: stage.path).st_ino
        let contents = try Data(contentsOf: URL(fileURLWithPath: stage.path)) + Data("another".utf8)
        try #require(unlink(stage.path) == 0)
        // A file system may give the number to the next file (ext4 does) or not; it says nothing either way.
        for _ in 0..<50 where DaemonFolders.status(of: stage.path).st_ino != registered {
            unlink(stage.path)
            try daemon.folders.write(contents, to: stage.path, mode: 0o755)
        }
        let caller = try stage.tool().client
        #expect(try caller.ask(.findRight(name)).refusal == .programChanged)
        #expect(try caller.ask(.findItems(in: group)).refusal == .programChanged)
        #expect(try caller.status().caller.applicationID.isEmpty)
    }

    /// Device, inode, size and the time of the last change of content are as they were.
    @Test func `a registered file that is rewritten in place is another program until it is adopted`() throws {
        let before = DaemonFolders.status(of: stage.path)
        let running = try stage.tool()
        #expect(Glibc.open(stage.path, O_WRONLY | O_CLOEXEC) < 0 && errno == ETXTBSY, "not while it runs")
        running.kill()
        // The kernel lets go of a program's file a moment after the process is gone.
        var opened: FileHandle?
        try eventually("nothing runs it") {
            opened = FileHandle(forUpdatingAtPath: stage.path)
            return opened != nil
        }
        let file = try #require(opened)
        // The headers of sections stand last; no program needs them to run.
        let last = try file.seekToEnd() - 1
        try file.seek(toOffset: last)
        try file.write(contentsOf: Data([0xA5]))
        try file.close()
        var times = [before.st_atim, before.st_mtim]
        #expect(utimensat(AT_FDCWD, stage.path, &times, 0) == 0)
        let after = DaemonFolders.status(of: stage.path)
        #expect(after.st_ino == before.st_ino && after.st_size == before.st_size)
        #expect(after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)

        let caller = try stage.tool().client
        #expect(try caller.ask(.findItems(in: group)).refusal == .programChanged)
        let advice = try caller.ask(.findRight(name)).failure?.explanation
        #expect(advice?.contains("ostiary app adopt \(stage.path)") == true)
        try stage.register(adopting: true)
        #expect(try caller.ask(.findRight(name)).right != nil)
    }

    @Test func `a link of another name to the registered file is another program`() throws {
        let path = daemon.folders.root.path("linked")
        try #require(link(stage.path, path) == 0)
        try expectStranger(try stage.tool(path).client)
        // A symbolic link is only another way to the registered file.
        let symbolic = daemon.folders.root.path("symbolic")
        try #require(symlink(stage.path, symbolic) == 0)
        #expect(try stage.tool(symbolic).client.status().caller.applicationID == RegistrationStage.applicationID)
    }

    private static let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test(.enabled(if: loader != nil))
    func `what the dynamic loader runs is the loader, whatever it was told to run`() throws {
        let caller = try stage.tool(under: [try #require(Self.loader)]).client
        #expect(try caller.status().caller.program.hasPrefix("unknown program"))
        try expectStranger(caller)
    }

    @Test func `a script has no name of its own, and neither it nor its interpreter can be registered`() throws {
        let interpreter = daemon.folders.root.path("python3.11")
        try FileManager.default.copyItem(atPath: Caller.program, toPath: interpreter)
        let script = daemon.folders.root.path("script")
        // The kernel gives the interpreter the rest of the first line, and then the script's path.
        try daemon.folders.write("#!\(interpreter) \(daemon.folders.socket)\n", to: script, mode: 0o755)
        let caller = try stage.tool(script).client
        #expect(try caller.status().caller.program == "unknown program (\(interpreter))")
        try expectStranger(caller)
        for path in [script, interpreter] {
            let request = WireRegisterApplicationRequest.with {
                ($0.path, $0.applicationID, $0.question) = (path, "com.example.script", .reason("to test"))
            }
            let answer = try stage.owner.client.ask(
                .registerApplication(request), descriptor: stage.terminal.slave.number)
            #expect(answer.refusal == .invalidParameter && answer.cause == "application.path")
        }
    }

    private static let mounting =
        ["/usr/bin/unshare"] + (Account.isRoot ? [] : ["--user", "--map-root-user"]) + ["--mount"]
    private static let canMount =
        (try? SpawnedProcess(mounting[0], mounting.dropFirst() + ["/bin/true"]).wait()) == .exited(0)

    @Test(.enabled(if: canMount, "this user cannot make a mount namespace"))
    func `a file that is mounted over the registered path is an unknown program`() throws {
        let other = try stage.altered("other")
        let script = "mount --bind '\(other)' '\(stage.path)' && exec \"$@\""
        let caller = try stage.tool(under: Self.mounting + ["/bin/sh", "-c", script, "sh"])
        #expect(caller.executable == stage.path, "it says so")
        #expect(try caller.client.status().caller.program.hasPrefix("unknown program"))
        try expectStranger(caller.client)
    }

    // MARK: what user mode does not promise

    /// A program of the same user can put its code into a registered program. The daemon cannot see that, and says of
    /// every identity that it is advisory.
    @Test func `a preloaded library acts as the program, whose identity is therefore advisory`() throws {
        let library = try #require(try Self.files(mappedBy: "self").first { $0.hasSuffix("/libTesting.so") })
        let plain = try stage.tool()
        #expect(try !Self.files(mappedBy: "\(plain.processID)").contains(library))
        let caller = try stage.tool(under: ["/usr/bin/env", "LD_PRELOAD=\(library)"])
        #expect(try Self.files(mappedBy: "\(caller.processID)").contains(library))
        let status = try caller.client.status().caller
        #expect(status.applicationID == RegistrationStage.applicationID && status.label == "advisory")
        // What a person is asked for is asked of the person all the same; what asks for nothing is open to it.
        #expect(try caller.client.ask(.findItems(in: group)).items?.count == 1)
    }

    /// In a user namespace of its own, a program can make the kernel name any file that it may read and execute as the
    /// file that it executes (`PR_SET_MM_MAP`).
    @Test(.enabled(if: Namespaces.areAllowed, Namespaces.needed))
    func `a program that the kernel takes for the registered one acts as it, so its identity is advisory`() throws {
        let impostor = try stage.altered("impostor")
        try expectStranger(try stage.tool(impostor).client)
        let caller = try Caller(at: daemon.folders, program: impostor, arguments: ["--as", stage.path]).greeted()
        #expect(caller.executable == stage.path)
        let status = try caller.client.status().caller
        #expect(status.applicationID == RegistrationStage.applicationID && status.label == "advisory")
        #expect(try caller.client.ask(.findItems(in: group)).items?.count == 1)
    }

    /// The files that a process has mapped. Files of the kernel are read to their end: their size says nothing.
    private static func files(mappedBy process: String) throws -> [String] {
        let maps = try #require(FileHandle(forReadingAtPath: "/proc/\(process)/maps")).readDataToEndOfFile()
        return String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line in
            line.firstIndex(of: "/").map { String(line[$0...]) }
        }
    }
}

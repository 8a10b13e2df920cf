import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

private let serial: UInt32 = 0x0102_0304

private func look(passing: Bool = false) -> [UInt8] { [0x49, passing ? 1 : 0, 0, 0] + bytes(serial) }

private func failure(_ result: UInt8) -> Answer {
    Answer([0x69, result, 0, 0] + bytes(serial) + [UInt8](repeating: 0, count: 92))
}

/// Whether this user may have a mount namespace.
private let hasNamespaces = (try? NativeBuild.output(of: "/usr/bin/unshare", ["-Urm", "/bin/true"])) != nil

/// Whether this user may have memory that never comes, see `holds_epoll.py`.
private let hasFaults = (try? NativeBuild.output(of: "/usr/bin/python3", [holdsEpoll, "look"])) != nil
private let holdsEpoll = NativeBuild.file("holds_epoll.py")

@Suite("The helper that looks at processes", .timeLimit(.minutes(10)))
struct IdentityHelperTests {
    private func folder(of processID: pid_t) throws -> SharedDescriptor { try opened("/proc/\(processID)") }

    // MARK: a look

    /// The bytes of the answer about a process that this one may look at, but for the number of the mount.
    private func expected(_ processID: pid_t, _ path: String, which: UInt8 = 0) throws -> [UInt8] {
        let file = try status(path)
        let login = which == 0 ? nil : try login(of: processID)
        var answer: [UInt8] = [0x69, 0, which, which == 0 ? 0 : login == nil ? 1 : 3] + bytes(serial)
        answer += bytes(UInt64(file.st_dev)) + bytes(UInt64(file.st_ino))
        answer += bytes(UInt32(file.st_nlink)) + bytes(UInt32(file.st_uid))
        answer += bytes(UInt64(file.st_ctim.tv_sec)) + bytes(UInt32(file.st_ctim.tv_nsec))
        answer += bytes(UInt32(file.st_mode))
        for name in ["mnt", "pid", "user"] {
            answer += bytes(UInt64(try status("/proc/\(processID)/ns/\(name)").st_ino))
        }
        answer += bytes(UInt32(getuid())) + bytes(UInt16(path.utf8.count)) + [0, 0]
        answer += [UInt8](repeating: 0, count: 8) + bytes(which == 0 ? 0 : UInt32(getgid()))
        answer += bytes(login ?? 0) + bytes(which == 0 ? 0 : UInt32(getuid()))
        return answer + Array(path.utf8)
    }

    /// The user whose login began a process; all ones for none, nil where the kernel keeps none.
    private func login(of processID: pid_t) throws -> UInt32? {
        let path = "/proc/\(processID)/loginuid"
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let number: UInt32 = try #require(UInt32(String(contentsOfFile: path, encoding: .ascii)))
        return number
    }

    private func withoutMount(_ answer: Answer) -> [UInt8] {
        guard answer.bytes.count >= 100 else { return answer.bytes }
        return Array(answer.bytes[..<80]) + [UInt8](repeating: 0, count: 8) + Array(answer.bytes[88...])
    }

    private func mounts(of processID: pid_t) throws -> [UInt64] {
        try String(contentsOfFile: "/proc/\(processID)/mountinfo", encoding: .utf8).split(separator: "\n")
            .compactMap { $0.split(separator: " ").first.flatMap { UInt64($0) } }
    }

    @Test func `an answer has exactly these bytes`() throws {
        let process = try SpawnedProcess("/bin/sleep", ["600"])
        let connection = try IdentityHelper().connect()
        let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process.processID)/exe")
        for passing in [false, true] {
            let answer = try connection.ask(look(passing: passing), [folder(of: process.processID)])
            #expect(try withoutMount(answer) == expected(process.processID, path))
            #expect(answer.descriptors.isEmpty)
            #expect(try mounts(of: process.processID).contains(answer.number(80, 8)))
        }
    }

    @Test func `a confined helper passes maps, stat and cgroup when it is asked to`() throws {
        let process = try SpawnedProcess("/bin/sleep", ["600"])
        let connection = try IdentityHelper(isConfined: true).connect()
        let handle = try folder(of: process.processID)
        let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process.processID)/exe")
        #expect(try connection.ask(look(), [handle]).descriptors.isEmpty)
        let answer = try connection.ask(look(passing: true), [handle])
        #expect(try withoutMount(answer) == expected(process.processID, path, which: 7))
        try #require(answer.descriptors.count == 3)
        for (descriptor, name) in zip(answer.descriptors, ["maps", "stat", "cgroup"]) {
            #expect(
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor.number)")
                    == "/proc/\(process.processID)/\(name)")
            var text = [UInt8](repeating: 0, count: 8)
            #expect(pread(descriptor.number, &text, text.count, 0) == 8)
        }
        process.end()
        var text = [UInt8](repeating: 0, count: 8)
        #expect(pread(answer.descriptors[0].number, &text, text.count, 0) <= 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives a process two users and groups"))
    func `real user and group are told, and not those that a setuid or setgid file gives`() throws {
        let process = try SpawnedProcess(
            "/usr/bin/setpriv",
            ["--ruid=70003", "--rgid=70001", "--egid=70002", "--clear-groups", "/bin/sleep", "600"])
        let name = "/proc/\(process.processID)/comm"
        try eventually("sleep runs") { try String(contentsOfFile: name, encoding: .utf8) == "sleep\n" }
        let handle = try folder(of: process.processID)
        let answer = try IdentityHelper(isConfined: true).connect().ask(look(passing: true), [handle])
        #expect(answer.bytes[3] & 1 == 1 && answer.number(88, 4) == 70001 && answer.number(96, 4) == 70003)
        let unasked = try IdentityHelper(isConfined: true).connect().ask(look(), [handle])
        #expect(unasked.bytes[3] == 0 && unasked.number(88, 4) == 0 && unasked.number(96, 4) == 0)
    }

    @Test func `a process that has ended is absent`() throws {
        let process = try SpawnedProcess("/bin/sleep", ["600"])
        let handle = try folder(of: process.processID)
        process.end()
        for isConfined in [false, true] {
            let connection = try IdentityHelper(isConfined: isConfined).connect()
            #expect(try connection.ask(look(passing: true), [handle]) == failure(1))
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may look at every process"))
    func `without its capability the helper is refused`() throws {
        let connection = try IdentityHelper().connect()
        let handle = try folder(of: 1)
        #expect(try connection.ask(look(), [handle]) == failure(3))
    }

    @Test(.enabled(if: geteuid() == 0, "only root has the capability"))
    func `a process of another user that nobody may dump is known with its user`() throws {
        let script = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print('ready', flush=True); time.sleep(600)"
        let pipe = try ChannelEnds()
        let process = try SpawnedProcess(
            "/usr/bin/setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script],
            descriptors: [-1, pipe.program.number, -1])
        var byte: UInt8 = 0
        #expect(recv(pipe.daemon.number, &byte, 1, 0) == 1)
        let answer = try IdentityHelper().connect().ask(look(), [folder(of: process.processID)])
        try #require(answer.bytes.count > 100)
        #expect(answer.bytes[1] == 0)
        #expect(answer.number(72, 4) == 65534)
    }

    /// Each executes the other.
    @Test func `a process that executes programs in turns never has the path of one and the file of another`() throws {
        let folder = try TestFolder()
        for name in ["one", "two"] {
            try FileManager.default.copyItem(atPath: "/bin/bash", toPath: folder.path(name))
        }
        try Data(#"exec "$1" "$0" "$2" "$1""#.utf8).write(to: URL(fileURLWithPath: folder.path("script")))
        let process = try SpawnedProcess(
            folder.path("one"), [folder.path("script"), folder.path("two"), folder.path("one")])
        let inodes = try ["one", "two"].reduce(into: [UInt64: String]()) {
            $0[UInt64(try status(folder.path($1)).st_ino)] = folder.path($1)
        }
        let connection = try IdentityHelper().connect()
        let handle = try self.folder(of: process.processID)
        for _ in 0..<2000 {
            let answer = try connection.ask(look(), [handle])
            guard answer.bytes[1] == 0 else { continue }
            #expect(inodes[answer.number(16, 8)] == String(decoding: answer.bytes[100...], as: UTF8.self))
        }
    }

    @Test(.enabled(if: hasNamespaces, "this user may have no namespace"))
    func `a program of another mount namespace shows by its mount, whatever the process's namespace`() throws {
        let folder = try TestFolder()
        let process = try SpawnedProcess(
            "/usr/bin/python3", [NativeBuild.file("of_another_mount.py"), folder.path("copy")])
        let path = "/proc/\(process.processID)/exe"
        func target() -> String? { try? FileManager.default.destinationOfSymbolicLink(atPath: path) }
        try eventually("the copy runs") { target() == "/usr/bin/true" }
        let answer = try IdentityHelper().connect().ask(look(), [self.folder(of: process.processID)])
        #expect(String(decoding: answer.bytes[100...], as: UTF8.self) == "/usr/bin/true")
        #expect(answer.number(16, 8) == UInt64(try status(folder.path("copy")).st_ino))
        #expect(answer.number(48, 8) == UInt64(try status("/proc/self/ns/mnt").st_ino))
        #expect(answer.number(24, 4) == 1)
        #expect(try !mounts(of: process.processID).contains(answer.number(80, 8)))
    }

    // MARK: the connection

    @Test func `the daemon's side takes its greeting, and hands over`() throws {
        let identity = try IdentityHelper()
        let helper = try Helper(.activated(identity.socket))
        let isSent = helper.send([0x4E, 0, 0, 0] + bytes(serial) + [UInt8](repeating: 0, count: 12))
        #expect(isSent)
        // Without confinement it looks for no namesake.
        let answer = helper.receive(atMost: 100)
        #expect(answer == .bytes([0x6E, 2, 0, 0] + bytes(serial) + [0, 0, 0, 0]))
        helper.kill()
    }

    @Test func `connections are served one after the other`() throws {
        let identity = try IdentityHelper()
        let handle = try folder(of: getpid())
        var first: RawConnection? = try identity.connect()
        #expect(try first?.ask(look(), [handle]).bytes[1] == 0)
        let second = try RawConnection(to: identity.socket, of: identity)
        #expect(!second.isReadable(withinMilliseconds: 300))
        first = nil
        #expect(try second.receive() == Answer([1]))
        second.send([3, 3])
        #expect(try second.ask(look(), [handle]).bytes[1] == 0)
    }

    @Test(
        arguments: [
            [3, 4], [3, 2], [1, 3], [2, 3], [3], [3, 3, 3], [0x49, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `nothing but the hand-over of nothing begins a conversation`(message: [UInt8]) throws {
        let identity = try IdentityHelper()
        #expect(try identity.greeted().ask(message) == Answer([]))
        #expect(try identity.connect().ask(look(), [folder(of: getpid())]).bytes[1] == 0)
    }

    @Test func `a hand-over that brings a descriptor begins no conversation`() throws {
        let handle = try folder(of: getpid())
        #expect(try IdentityHelper().greeted().ask([3, 3], [handle]) == Answer([]))
    }

    @Test(
        arguments: [
            Array(look().dropLast()), look() + [0], [0x49], [0x69] + look().dropFirst(), [0x58] + look().dropFirst(),
            [0x49, 2, 0, 0, 0, 0, 0, 0], [0x49, 255, 0, 0, 0, 0, 0, 0], [0x49, 0, 1, 0, 0, 0, 0, 0],
            [0x49, 0, 0, 1, 0, 0, 0, 0], look() + [UInt8](repeating: 0, count: 57),
            look() + [UInt8](repeating: 0, count: 5000), [0x4E, 0, 0, 0] + [UInt8](repeating: 0, count: 16),
        ] as [[UInt8]])
    func `a request of another form ends the connection, and the next one is served`(message: [UInt8]) throws {
        let identity = try IdentityHelper(isConfined: true)
        let handle = try folder(of: getpid())
        #expect(try identity.connect().ask(message, [handle]) == Answer([]))
        #expect(try identity.connect().ask(look(), [handle]).bytes[1] == 0)
    }

    @Test(arguments: [15, 17], [[0x4E, 0, 0, 0], [0x4E, 1, 0, 0]] as [[UInt8]])
    func `a request for a namesake of another form ends the connection`(count: Int, head: [UInt8]) throws {
        let message = head + [UInt8](repeating: 0, count: count)
        #expect(try IdentityHelper(isConfined: true).connect().ask(message) == Answer([]))
    }

    @Test func `a wrong descriptor ends the connection, and the next one is served`() throws {
        let identity = try IdentityHelper()
        let handle = try folder(of: getpid())
        let wrong = [
            try opened("/dev/null", O_RDONLY), try opened("/tmp"), try opened("/proc/self/status"),
            try opened("/proc/self/exe"),
        ]
        let others = [[], [handle, handle], [handle, handle, handle]]
        for descriptors in others + wrong.map({ [$0] }) {
            #expect(try identity.connect().ask(look(), descriptors) == Answer([]))
        }
        #expect(try identity.connect().ask(look(), [handle]).bytes[1] == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root sees what a process holds that cannot be dumped"))
    func `the helper keeps no descriptor of a connection`() throws {
        let identity = try IdentityHelper()
        let handle = try folder(of: getpid())
        let null = try opened("/dev/null", O_RDONLY)
        for descriptors in [[], [null], [handle, handle]] {
            #expect(try identity.connect().ask(look(), descriptors) == Answer([]))
        }
        #expect(try identity.connect().ask(look(), [handle]).bytes[1] == 0)
        let process = identity.process.processID
        // Standard streams, listener and /proc/self/fd.
        try eventually("nothing is left of the connections") {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").sorted() == [
                "0", "1", "2", "4", "5",
            ]
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root becomes another user"))
    func `an account that does not own the socket's file is not served`() throws {
        let identity = try IdentityHelper()
        let folder = PathName.folder(of: identity.socket.path)
        #expect(chmod(folder, 0o755) == 0 && chmod(identity.socket.path, 0o666) == 0)
        let script = """
            import socket, sys
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            connection.connect(sys.argv[1])
            try: print(len(connection.recv(9)))
            except ConnectionError: print(0)
            """
        let arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script]
        #expect(try NativeBuild.output(of: "/usr/bin/setpriv", arguments + [identity.socket.path]) == "0")
    }

    @Test func `a daemon that does not read ends the helper after half a second`() throws {
        let identity = try IdentityHelper()
        let connection = try identity.connect()
        connection.stopWaiting()
        let handle = try folder(of: getpid())
        try eventually("its queue is full") { !connection.send(look(), [handle]) }
        #expect(identity.process.wait() == .killed(signal: SIGALRM, leftCore: false))
    }

    @Test func `without a socket of the service manager it does not start`() throws {
        let program = try NativeBuild.program("ostiary-identity")
        #expect(try SpawnedProcess(program).wait() == .exited(1))
        #expect(try SpawnedProcess(program, environment: ["LISTEN_PID=1", "LISTEN_FDS=1"]).wait() == .exited(1))
    }

    // MARK: a namesake

    @Test func `a session of the user with a terminal of that number is a namesake`() throws {
        let terminal = try PseudoTerminal()
        let caller = try CallerProcess(on: terminal)
        let connection = try IdentityHelper(isConfined: true).connect()
        func ask(_ user: UInt32, _ number: UInt32, _ session: Int32) throws -> Answer {
            let head: [UInt8] = [0x4E, 0, 0, 0] + bytes(serial)
            return try connection.ask(head + bytes(user) + bytes(number) + bytes(session))
        }
        let number = try UInt32(truncatingIfNeeded: status(terminal.path).st_rdev)
        let none = Answer([0x6E, 0, 0, 0] + bytes(serial) + [0, 0, 0, 0])
        #expect(try ask(getuid(), number, 1) == Answer([0x6E, 1, 0, 0] + bytes(serial) + bytes(caller.processID)))
        #expect(try ask(getuid(), number, caller.processID) == none)
        #expect(try ask(getuid() + 1, number, 1) == none)
        caller.end()
        #expect(try ask(getuid(), number, 1) == none)
    }

    /// No signal would end a helper that reads what `/proc` says of the process's descriptors.
    @Test(.enabled(if: hasFaults, "this user may not let the kernel wait for memory"))
    func `a process whose descriptors keep each reader waiting is a namesake, and keeps nobody waiting`() throws {
        let terminal = try PseudoTerminal()
        let pipe = try PipeEnds()
        let process = try SpawnedProcess(
            "/usr/bin/python3", [holdsEpoll],
            descriptors: [terminal.slave.number, pipe.writer.number, -1])
        var ready = pollfd(fd: pipe.reader.number, events: Int16(POLLIN), revents: 0)
        try #require(poll(&ready, 1, 10_000) == 1)
        let number = try UInt32(truncatingIfNeeded: status(terminal.path).st_rdev)
        let head: [UInt8] = [0x4E, 0, 0, 0] + bytes(serial)
        let request = head + bytes(getuid()) + bytes(number) + bytes(1 as Int32)
        let answer = try IdentityHelper(isConfined: true).connect().ask(request)
        #expect(answer == Answer([0x6E, 1, 0, 0] + bytes(serial) + bytes(process.processID)))
    }

    // MARK: taken over

    @Test func `each call that it does not need ends it`() throws {
        let victim = try SpawnedProcess("/bin/sleep", ["600"])
        let attempts = try NativeBuild.attempts(of: "ostiary-identity")
        #expect(attempts.count > 20)
        let killed = ProcessEnding.killed(signal: SIGSYS, leftCore: false)
        for attempt in attempts {
            let ending = try NativeBuild.ending(of: attempt, by: "ostiary-identity", at: victim.processID)
            // A handle opens nothing.
            #expect(ending == (attempt == "openat-handle" ? .exited(1) : killed), "\(attempt)")
            let confined = try NativeBuild.ending(
                of: attempt, ["confined"], by: "ostiary-identity", at: victim.processID)
            let isAllowed = ["openat-handle", "openat", "read"].contains(attempt)
            #expect(confined == (isAllowed ? .exited(1) : killed), "\(attempt), confined")
        }
    }

    @Test(arguments: ["process_vm_readv", "pidfd_getfd", "seize"]) func `without the filter the attempts work`(
        attempt: String
    ) throws {
        let victim = try SpawnedProcess("/bin/sleep", ["600"])
        let ending = try NativeBuild.ending(of: attempt, ["unfiltered"], by: "ostiary-identity", at: victim.processID)
        #expect(ending == .exited(1))
    }
}

import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import Synchronization
import SystemDaemonTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// The daemon of the machine, with the test as its service manager.
@Suite("The daemon of the machine", .timeLimit(.minutes(10))) struct SystemDaemonTests {
    private let stage: SystemDaemonStage

    init() throws { stage = try SystemDaemonStage() }

    private func caller(under wrapper: [String]? = nil) throws -> Caller {
        try Caller(atSocket: stage.requestsPath, program: Caller.program, under: wrapper ?? stage.asDaemon)
    }

    /// How a start ended that must fail, and what was said.
    private func failure(
        _ options: [String] = [], passing passed: [SystemDaemonStage.Passed]? = nil, environment: [String] = [],
        under wrapper: [String]? = nil, accounts: [String: UInt32]? = nil, announcedTo process: String = "$$",
        of stage: SystemDaemonStage? = nil
    ) throws -> (ending: ProcessEnding, words: String) {
        let stage = stage ?? self.stage
        let process = try stage.spawn(
            options, passing: passed, environment: environment, under: wrapper, accounts: accounts,
            announcedTo: process)
        return (process.wait(), stage.standardError)
    }

    // MARK: sockets that outlive it

    @Test func `a program is served at the socket of the service manager`() throws {
        let daemon = try stage.start()
        let caller = try caller().greeted()
        #expect(try caller.client.status().processID == UInt32(daemon.processID))
        #expect(try caller.client.status().stateDirectory == stage.state)
    }

    @Test func `of 200 clients none is refused while one daemon ends and the next one starts`() throws {
        var daemon = try stage.start()
        let isOver = Flag()
        defer { isOver.set() }
        let path = stage.requestsPath
        let clients = Threads<Int>()
        for _ in 0..<200 {
            clients.start {
                var count = 0
                repeat {
                    // Any refusal is thrown: the path is always there, and somebody listens.
                    let socket = try UnixSocket.connectInTime(to: path, seconds: 60)
                    count += 1
                    usleep(50_000)
                    socket.shutdown()
                } while !isOver.isSet
                return count
            }
        }
        for _ in 0..<3 {
            daemon.signal(SIGTERM)
            #expect(daemon.wait() == .exited(0), "\(stage.standardError)")
            daemon = try stage.start()
        }
        isOver.set()
        for client in clients.wait() { #expect(try client.get() > 0) }
        #expect(try caller().greeted().client.status().processID == UInt32(daemon.processID))
    }

    @Test func `a crash leaves the socket as it is, and the next daemon serves what waits there`() throws {
        let before = DaemonFolders.status(of: stage.requestsPath)
        let crashed = try stage.start()
        let right = try #require(try caller().greeted().client.ask(.createRight("kept", .unrestricted)).right)
        crashed.signal(SIGSEGV)
        #expect(crashed.wait() == .killed(signal: SIGSEGV, leftCore: false))
        let waiting = try caller()
        let next = try stage.start()
        defer { withExtendedLifetime(next) {} }
        #expect(try waiting.greeted().client.ask(.findRight("kept")).right == right)
        let after = DaemonFolders.status(of: stage.requestsPath)
        #expect(before.st_ino == after.st_ino && before.st_mode == after.st_mode && after.st_ino != 0)
    }

    @Test func `an end leaves both sockets in their folder`() throws {
        let daemon = try stage.start()
        daemon.signal(SIGTERM)
        #expect(daemon.wait() == .exited(0), "\(stage.standardError)")
        for path in [stage.requestsPath, stage.signInsPath] {
            #expect(DaemonFolders.status(of: path).st_mode & S_IFMT == S_IFSOCK)
        }
        _ = try UnixSocket.connect(to: stage.requestsPath)
    }

    @Test func `it starts without the socket of the PAM module`() throws {
        let daemon = try stage.spawn(passing: [.init("requests", stage.requests.number)])
        try stage.awaitNotification("READY=1")
        #expect(try caller().greeted().client.status().processID == UInt32(daemon.processID))
    }

    @Test func `a second daemon over the same store ends with words`() throws {
        let daemon = try stage.start()
        let second = try failure()
        #expect(second.ending == .exited(1))
        #expect(second.words.contains("Another ostiaryd serves \(stage.state) already"))
        #expect(try caller().greeted().client.status().processID == UInt32(daemon.processID))
    }

    // MARK: the service manager

    @Test func `the service manager is told of readiness and of the end`() throws {
        let daemon = try stage.spawn()
        #expect(try stage.awaitNotification("READY=1") == ["READY=1", "STATUS=serving"])
        #expect(try caller().greeted().client.status().processID == UInt32(daemon.processID))
        daemon.signal(SIGTERM)
        try stage.awaitNotification("STOPPING=1")
        #expect(daemon.wait() == .exited(0))
    }

    @Test func `the service manager hears that the daemon is well, as often as it wants to`() throws {
        let daemon = try stage.start(environment: ["WATCHDOG_USEC=300000"])
        for _ in 0..<3 { try stage.awaitNotification("WATCHDOG=1") }
        daemon.signal(SIGSTOP)
        while stage.notification() != nil {}
        #expect(stage.notification() == nil, "a daemon that stands still tells nothing")
        daemon.signal(SIGCONT)
        try stage.awaitNotification("WATCHDOG=1")
    }

    @Test func `a service manager that watches nothing is told nothing`() throws {
        let daemon = try stage.start()
        #expect(stage.notification() == nil)
        withExtendedLifetime(daemon) {}
    }

    // MARK: programs

    @Test func `it can start no program when it is ready`() throws {
        let daemon = try stage.start(["--start-when-ready", "/bin/true"])
        #expect(stage.standardError.contains("code=\(EPERM)"), "\(stage.standardError)")
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.processID)/task")
        #expect(threads.count > 1)
        for thread in threads {
            let status = try String(
                contentsOfFile: "/proc/\(daemon.processID)/task/\(thread)/status", encoding: .utf8)
            #expect(status.contains("\nSeccomp:\t2\n") && status.contains("\nNoNewPrivs:\t1\n"), "\(status)")
        }
    }

    // MARK: accounts

    @Test(.enabled(if: Account.isRoot, Account.needsRoot)) func `it does not run as root`() throws {
        let start = try failure(under: [])
        #expect(start.ending == .exited(1))
        #expect(
            start.words
                == "ostiaryd: ostiaryd --system runs under the account ostiary, and this process is of root. Use "
                + "`systemctl start ostiaryd.service`.\n")
    }

    @Test(.enabled(if: Account.isRoot, Account.needsRoot)) func `it runs under no other account than its own`() throws {
        let start = try failure(under: SystemDaemonStage.asUser(33))
        #expect(start.ending == .exited(1))
        #expect(start.words.contains("this process is of user 33."))
    }

    @Test func `it does not start without accounts of its own`() throws {
        let start = try failure(accounts: ["ostiary": stage.userID])
        #expect(start.ending == .exited(1))
        #expect(
            start.words.contains(
                "The daemon of the machine has no accounts: there is no account ostiary-identity: run `systemd-sysusers`."
            ))
    }

    @Test func `it does not start where a helper has its account`() throws {
        var accounts = stage.accounts
        accounts["ostiary-fido"] = stage.userID
        let start = try failure(accounts: accounts)
        #expect(start.ending == .exited(1))
        #expect(start.words.contains("the accounts ostiary-fido and ostiary have the same number, and must not."))
    }

    @Test(.enabled(if: Account.isRoot, Account.needsRoot))
    func `programs of a helper's account, and of nobody, are sent away without a word`() throws {
        let daemon = try stage.start()
        let refused = try #require(stage.accounts["ostiary-fido"])
        for userID in [refused, Account.nobody] {
            #expect(try caller(under: SystemDaemonStage.asUser(userID)).client.isEndedByDaemon)
            try eventually("the log names user \(userID)") {
                stage.standardError.contains("cause=foreignUser(\(userID))")
            }
        }
        #expect(try caller().greeted().client.status().processID == UInt32(daemon.processID))
    }

    // MARK: refused starts

    @Test(
        arguments: [
            ["--detach"], ["--runtime-directory", "/run/user/1"], ["--state-directory", "/var/lib/other"],
            ["--configuration", "/etc/other.conf"], ["--applications-directory", "/etc/other"],
            ["--associations-directory", "/etc/other"], ["--accept-older-store"], ["--move-enclave", "tpm"],
            ["--adopt-user-name", "ada"], ["--reports-readiness"], ["--ends-with-parent"], ["--for-tests"],
            ["--test-programs", "/opt", "--test-group", "a"],
        ])
    func `an option that is not the machine's is refused`(_ options: [String]) throws {
        let start = try failure(options)
        #expect(start.ending == .exited(2))
        #expect(start.words.contains("Error: \(options[0]) does not go with --system."), "\(start.words)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.state).isEmpty)
    }

    @Test(
        arguments: [
            "prompt.pinentry = /usr/bin/pinentry", "prompt.display = :0", "prompt.wayland-display = wayland-0",
            "prompt.xauthority = /tmp/cookie",
        ])
    func `a setting that is for one user is refused`(_ line: String) throws {
        let stage = try SystemDaemonStage(configuration: line + "\n")
        let start = try failure(of: stage)
        #expect(start.ending == .exited(1))
        let key = try #require(line.split(separator: " ").first)
        #expect(
            start.words.contains("ostiaryd: The setting \(key) in \(stage.root.path)/etc/ostiary/ostiaryd.conf is for"),
            "\(start.words)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.state).isEmpty)
    }

    @Test func `settings of the machine count`() throws {
        let stage = try SystemDaemonStage(
            configuration: "prompt.terminal = never\nusers.store-mebibytes = 1\n")
        let daemon = try stage.start()
        defer { withExtendedLifetime(daemon) {} }
        let caller = try Caller(atSocket: stage.requestsPath, program: Caller.program, under: stage.asDaemon).greeted()
        let secret = [UInt8](repeating: 7, count: 60_000)
        func make(_ name: String) throws -> Answer {
            try caller.client.ask(.createRight(name, .unrestricted, hasSecret: true), tail: secret)
        }
        for number in 1...17 { #expect(try make("\(number)").right != nil) }
        #expect(try make("18").failure?.cause == "store.share")
    }

    @Test func `settings that others can change are refused`() throws {
        let path = stage.root.path("etc/ostiary/ostiaryd.conf")
        #expect(chmod(path, 0o666) == 0)
        let start = try failure()
        #expect(start.ending == .exited(1))
        #expect(start.words.contains("The configuration \(path) cannot be used: other users can write to it."))
    }

    private static let isWithoutSockets = "ostiaryd --system takes its sockets from the service manager"

    @Test func `a start without the service manager is refused`() throws {
        let start = try failure(announcedTo: "")
        #expect(start.ending == .exited(1))
        #expect(start.words.contains(Self.isWithoutSockets))
    }

    @Test func `sockets that are announced to another process are refused`() throws {
        let start = try failure(announcedTo: "1")
        #expect(start.ending == .exited(1))
        #expect(start.words.contains(Self.isWithoutSockets))
    }

    enum WrongSockets: CaseIterable {
        case exchanged, twice, unknown, third, none, onlyPAM, countTooLarge, file, unconnected, elsewhere, packets
    }

    @Test(arguments: WrongSockets.allCases) func `wrong sockets are refused`(_ defect: WrongSockets) throws {
        let (requests, signIns) = (stage.requests.number, stage.signIns.number)
        var kept: [SharedDescriptor] = []
        func other(_ number: CInt) throws -> CInt {
            kept.append(SharedDescriptor(try Descriptor(number, from: "socket")))
            return number
        }
        var environment: [String] = []
        let passed: [SystemDaemonStage.Passed]
        let words: String
        switch defect {
        case .exchanged:
            passed = [.init("pam", requests), .init("requests", signIns)]
            words = "The socket that was passed as pam is not the one at \(stage.signInsPath), or not of its type."
        case .twice:
            passed = [.init("requests", requests), .init("requests", requests)]
            words = "a socket by the name requests, and ostiaryd knows no such one, or has it already."
        case .unknown:
            passed = [.init("requests", requests), .init("other", signIns)]
            words = "a socket by the name other, and"
        case .third:
            passed = [.init("requests", requests), .init("pam", signIns), .init("unknown", signIns)]
            words = "a socket by the name unknown, and"
        case .none:
            passed = []
            words = "LISTEN_FDS and LISTEN_FDNAMES do not agree on the number of sockets."
        case .onlyPAM:
            passed = [.init("pam", signIns)]
            words = "The service manager passed no socket by the name requests."
        case .countTooLarge:
            passed = [.init("requests", requests)]
            environment = ["LISTEN_FDS=3"]
            words = "LISTEN_FDS and LISTEN_FDNAMES do not agree on the number of sockets."
        case .file:
            passed = [.init("requests", try other(open("/dev/null", O_RDWR | O_CLOEXEC)))]
            words = "The descriptor that was passed as requests is no Unix socket that listens"
        case .unconnected:
            let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            passed = [.init("requests", try other(socket(AF_UNIX, type, 0)))]
            words = "The descriptor that was passed as requests is no Unix socket that listens"
        case .elsewhere:
            let listener = try SystemDaemonStage.listen(at: stage.root.path("elsewhere"), SOCK_STREAM)
            passed = [.init("requests", try other(dup(listener.number)))]
            words = "The socket that was passed as requests is not the one at \(stage.requestsPath)"
        case .packets:
            // Of the other type, at the right path.
            let path = stage.requestsPath
            #expect(unlink(path) == 0)
            let listener = try SystemDaemonStage.listen(at: path, SOCK_SEQPACKET)
            passed = [.init("requests", try other(dup(listener.number)))]
            words = "The socket that was passed as requests is not the one at \(path), or not of its type."
        }
        let start = try failure(passing: passed, environment: environment)
        #expect(start.ending == .exited(1))
        #expect(start.words.contains(words), "\(start.words)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.state).isEmpty)
        withExtendedLifetime(kept) {}
    }

    /// Says to threads that something is over.
    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .acquiring) }

        func set() { value.store(true, ordering: .releasing) }
    }
}

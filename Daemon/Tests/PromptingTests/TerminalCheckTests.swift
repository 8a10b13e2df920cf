import ExactNames
import Foundation
import Glibc
@testable import Prompting
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

private struct FixedLogins: LoginRecords {
    let line: String
    let userID: UInt32
    func hasLogin(of userID: UInt32, on line: String) -> Bool { line == self.line && userID == self.userID }
}

/// A terminal in a devpts that is mounted nowhere, with the number of one in `/dev/pts`.
private struct PrivateTerminal {
    let slave: SharedDescriptor
    private let masters: [SharedDescriptor]

    init(numbered path: String) throws {
        let context = try Descriptor(fsopen("devpts", CUnsignedInt(FSOPEN_CLOEXEC)), from: "fsopen")
        guard fsconfig(context.number, FSCONFIG_CMD_CREATE.rawValue, nil, nil, 0) == 0 else {
            throw SystemCallError("fsconfig")
        }
        let mount = try Descriptor(fsmount(context.number, CUnsignedInt(FSMOUNT_CLOEXEC), 0), from: "fsmount")
        let wanted = try #require(CInt(path.dropFirst("/dev/pts/".count)))
        var masters: [SharedDescriptor] = []
        var number: CInt = -1
        while number < wanted {
            let master = try Descriptor(openat(mount.number, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), from: "openat")
            var locked: CInt = 0
            guard ioctl(master.number, 0x4004_5431 as UInt, &locked) == 0,  // TIOCSPTLCK
                ioctl(master.number, 0x8004_5430 as UInt, &number) == 0  // TIOCGPTN
            else { throw SystemCallError("ioctl") }
            masters.append(SharedDescriptor(master))
        }
        try #require(number == wanted)
        self.masters = masters
        slave = SharedDescriptor(
            try Descriptor(openat(mount.number, "\(wanted)", O_RDWR | O_NOCTTY | O_CLOEXEC), from: "openat"))
    }

    /// Waits until something was written to it.
    func waitForText() throws {
        var polled = pollfd(fd: masters[masters.count - 1].number, events: Int16(POLLIN), revents: 0)
        try #require(poll(&polled, 1, 20_000) == 1)
    }
}

extension RealPromptTests {
    @Suite struct TerminalCheckTests {
        let terminal: PseudoTerminal
        let process: CallerProcess

        init() throws {
            terminal = try PseudoTerminal()
            process = try CallerProcess(on: terminal)
        }

        private func refusal(
            _ descriptor: SharedDescriptor, _ caller: PromptCaller, _ policy: TerminalPolicy = .any,
            logins: any LoginRecords = SystemLoginRecords()
        ) -> TerminalRefusal? {
            do throws(TerminalRefusal) {
                _ = try TerminalCheck(policy: policy, logins: logins).verify(descriptor, of: caller)
                return nil
            } catch { return error }
        }

        @Test func `the caller's own terminal is accepted under its own name`() throws {
            let verified = try TerminalCheck(policy: .any).verify(terminal.slave, of: process.caller(nil))
            #expect(verified.path == terminal.path)
        }

        @Test func `another terminal of the same user is refused`() throws {
            let other = try PseudoTerminal()
            #expect(refusal(other.slave, try process.caller(nil)) == .notControllingTerminal)
        }

        @Test func `another user's terminal is refused`() throws {
            #expect(refusal(terminal.slave, try process.caller(nil, userID: getuid() + 1)) == .otherOwner)
        }

        @Test func `the master side of the caller's terminal is refused`() throws {
            #expect(refusal(terminal.master, try process.caller(nil)) == .notATerminal)
        }

        /// `/dev/tty` is one file for all terminals, so it does not tell which name its terminal has.
        @Test func `the caller's terminal opened as /dev/tty is refused`() throws {
            var ends: [CInt] = [-1, -1]
            #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
            let near = UnixSocket(owning: Descriptor(owning: ends[0]))
            let far = SharedDescriptor(Descriptor(owning: ends[1]))
            let terminal = try PseudoTerminal()
            let process = try CallerProcess(
                on: terminal, script: "echo ready; exec '\(Build.program("test-caller"))' --terminal",
                descriptors: [far.number])
            try near.setReceiveTimeout(seconds: 30)
            var byte: UInt8 = 0
            let received = try withUnsafeMutableBytes(of: &byte) {
                try near.receive(into: $0, expecting: .descriptor).descriptor
            }
            try #require(received >= 0)
            let opened = SharedDescriptor(Descriptor(owning: received))
            #expect(refusal(opened, try process.caller(nil)) == .unnamed)
            #expect(refusal(terminal.slave, try process.caller(nil)) == nil)
        }

        /// A program has its own controlling terminal with the number of another's in a devpts that it made itself.
        @Test(.enabled(if: geteuid() == 0, "only root can mount without namespaces of its own"))
        func `a terminal of a private devpts is not taken for the one that has its number here`() throws {
            let own = try PrivateTerminal(numbered: terminal.path)
            let attacker = try SpawnedProcess(
                "/bin/bash", ["-c", "exec 0<>/proc/self/fd/3 3>&-; echo ready >&0; exec sleep 600"],
                descriptors: [-1, -1, -1, own.slave.number])
            try own.waitForText()
            let status = try #require(ProcessStatus(of: attacker.processID))
            #expect(status.terminalDevice == ProcessStatus(of: process.processID)?.terminalDevice)
            let caller = PromptCaller(
                processID: attacker.processID, process: ProcessHandle(of: attacker.processID), userID: getuid(),
                program: "x", terminal: nil)
            for policy in [TerminalPolicy.any, .login] {
                let logins = FixedLogins(line: String(terminal.path.dropFirst(5)), userID: getuid())
                #expect(refusal(own.slave, caller, policy, logins: logins) == .unnamed)
                guard case .ambiguous? = refusal(terminal.slave, caller, policy, logins: logins) else {
                    Issue.record("the other's own file")
                    continue
                }
            }
            // It plainly has a terminal of its own, so it keeps nobody else from being asked.
            #expect(refusal(terminal.slave, try process.caller(nil)) == nil)
            attacker.end()
            #expect(refusal(terminal.slave, try process.caller(nil)) == nil)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can mount without namespaces of its own"))
        func `a process that hides which terminal of the number is its own is named`() throws {
            let own = try PrivateTerminal(numbered: terminal.path)
            let hidden = try SpawnedProcess(
                "/bin/bash", ["-c", "exec 0<>/proc/self/fd/3 3>&-; echo ready >&0; exec 0<&-; exec sleep 600"],
                descriptors: [-1, -1, -1, own.slave.number])
            try own.waitForText()
            while refusal(terminal.slave, try process.caller(nil)) == nil { sched_yield() }
            let refused = try #require(refusal(terminal.slave, try process.caller(nil)))
            #expect(refused == .ambiguous(process: hidden.processID))
            #expect(
                refused.words.hasPrefix(
                    "process \(hidden.processID) of another session has a terminal with the same number"))
            hidden.end()
            #expect(refusal(terminal.slave, try process.caller(nil)) == nil)
        }

        @Test(arguments: [O_RDONLY, O_WRONLY]) func `a descriptor for one direction only is refused`(_ mode: CInt)
            throws
        {
            let half = try PseudoTerminal.open(terminal.path, mode)
            #expect(refusal(half, try process.caller(nil)) == .notATerminal)
        }

        @Test(arguments: ["/dev/null", nil, "/dev/zero"])
        func `a device or a file that is no terminal is refused`(_ device: String?) throws {
            let folder = try TestFolder()
            try Data("no terminal".utf8).write(to: URL(fileURLWithPath: folder.path("file")))
            let file = try PseudoTerminal.open(device ?? folder.path("file"), O_RDWR)
            #expect(refusal(file, try process.caller(nil)) == .notATerminal)
        }

        @Test func `a process without a terminal is refused whatever it passes`() throws {
            let caller = PromptCaller(
                processID: 1, process: ProcessHandle(of: 1), userID: getuid(), program: "init", terminal: nil)
            #expect(refusal(terminal.slave, caller) == .notControllingTerminal)
        }

        @Test func `a stopped caller is refused`() throws {
            process.signal(SIGSTOP)
            while ProcessStatus(of: process.processID)?.isStopped != true { sched_yield() }
            #expect(refusal(terminal.slave, try process.caller(nil)) == .callerStopped)
        }

        @Test func `a later process with the same id is refused`() throws {
            // The handle is another process's that has ended; the id is this one's by now.
            let earlier = try SpawnedProcess("/bin/sleep", ["600"], descriptors: [-1, -1, -1])
            let handle = try #require(ProcessHandle(of: earlier.processID))
            #expect(handle.status?.isDead == false)
            earlier.end()
            let caller = PromptCaller(
                processID: process.processID, process: handle, userID: getuid(), program: "x", terminal: nil)
            #expect(refusal(terminal.slave, caller) == .callerGone)
            #expect(handle.status == nil)
        }

        @Test func `a caller that ended is refused`() throws {
            let caller = try process.caller(nil)
            process.end()
            #expect(refusal(terminal.slave, caller) == .callerGone)
        }

        @Test func `the policy never refuses every terminal`() throws {
            #expect(refusal(terminal.slave, try process.caller(nil), .never) == .forbiddenByPolicy)
        }

        @Test func `the policy login asks for a login of that user on that terminal`() throws {
            let caller = try process.caller(nil)
            let line = String(terminal.path.dropFirst(5))
            #expect(refusal(terminal.slave, caller, .login, logins: FixedLogins(line: line, userID: getuid())) == nil)
            #expect(
                refusal(terminal.slave, caller, .login, logins: FixedLogins(line: line, userID: getuid() + 1))
                    == .noLogin)
            #expect(
                refusal(terminal.slave, caller, .login, logins: FixedLogins(line: "pts/x", userID: getuid()))
                    == .noLogin)
            #expect(refusal(terminal.slave, caller, .login) == .noLogin, "the system knows of no login here")
        }
    }
}

@Suite struct ProcessStatusTests {
    private static let tail =
        " 34816 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 6950912 2000 18446744073709551615 1 1 0"

    private func parse(_ text: String) -> ProcessStatus? { ProcessStatus(parsing: Array(text.utf8)) }

    @Test(arguments: [
        "bash", "a b", "((sd-pam))", ") R 1 1 1 1 1", "x) S 9 9 9 9 9 (y", "", "line\nend", "żółw",
    ])
    func `fields are counted behind the last parenthesis`(_ name: String) throws {
        let status = try #require(parse("42 (\(name)) S 1 77 40" + Self.tail + "\n"))
        #expect(status.state == UInt8(ascii: "S"))
        #expect(status.processGroup == 77)
        #expect(status.session == 40)
        #expect(status.terminalDevice == 34816)
        #expect(status.foregroundGroup == 77)
        #expect(status.startTime == 987654)
        #expect(status.isInForeground && !status.isStopped && !status.isDead)
    }

    @Test func `a name that is not UTF-8 is no obstacle`() {
        let text = Array("42 (".utf8) + [0xFF, 0x29, 0xC3] + Array(") S 1 77 40\(Self.tail)".utf8)
        #expect(ProcessStatus(parsing: text)?.session == 40)
    }

    @Test(arguments: [("T", true), ("t", true), ("S", false), ("R", false), ("D", false)])
    func `stopped is told from waiting`(_ state: String, _ isStopped: Bool) {
        #expect(parse("42 (x) \(state) 1 77 40" + Self.tail)?.isStopped == isStopped)
    }

    @Test(arguments: ["Z", "X"]) func `a zombie is dead`(_ state: String) {
        #expect(parse("42 (x) \(state) 1 77 40" + Self.tail)?.isDead == true)
    }

    @Test func `without a terminal nothing is in the foreground`() throws {
        let status = try #require(parse("42 (x) S 1 -1 40 0 -1 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 1 1"))
        #expect(!status.isInForeground)
        #expect(status.terminalDevice == 0)
    }

    @Test func `another group in front means background`() {
        #expect(parse("42 (x) S 1 76 40" + Self.tail)?.isInForeground == false)
    }

    @Test func `a device number with the highest bit set is read as the kernel means it`() {
        let text = "42 (x) S 1 77 40 -2147448832 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 1 1"
        #expect(parse(text)?.terminalDevice == 0x8000_8800)
    }

    @Test(arguments: [
        "", ")", "42 (x", "42 (x)", "42 (x) ", "42 (x) S", "42 (x) S 1 77", "42 (x)S 1 77 40 1 1",
        "42 (x) SS 1 77 40 34816 77",
        "42 (x) S 1 a 40 34816 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 1 1",
        "42 (x) S 1 77 40 34816 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 -5 1 1",
        "42 (x) S 1 99999999999 40 34816 77 4194560 120 0 0 0 1 2 0 0 20 0 1 0 987654 1 1",
    ])
    func `other texts are no status`(_ text: String) {
        #expect(parse(text) == nil)
    }

    @Test func `this process is found, and an id that cannot be is not`() {
        #expect(ProcessStatus(of: getpid())?.session == getsid(0))
        #expect(ProcessStatus(of: -1) == nil)
        #expect(ProcessStatus(of: .max) == nil)
    }
}

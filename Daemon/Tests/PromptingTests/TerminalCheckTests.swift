import ExactNames
import Foundation
import Glibc
@testable import Prompting
import ProcessFacts
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

extension PlayedFacts {
    /// The kernel's, with one login.
    fileprivate static func login(of userID: UInt32, on line: String) -> PlayedFacts {
        var facts = PlayedFacts()
        facts.hasLogin = { $0 == userID && $1 == line }
        return facts
    }
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

        private struct Logins: SessionRecords {
            let line: String

            func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? { nil }
            func isAtMachine(_ userID: UInt32) -> Bool { true }
            func hasLogin(of userID: UInt32, on line: String) -> Bool { userID == getuid() && line == self.line }
        }

        /// systemd may be built without utmp.
        @Test func `a login that logind alone knows counts where it is asked`() throws {
            let facts = PlayedFacts.login(of: 1, on: "nowhere")
            let (caller, slave) = (try process.caller(terminal.slave), terminal.slave)
            let line = String(terminal.path.dropFirst("/dev/".count))
            for (sessions, isLogin) in [
                (Logins(line: line), true), (Logins(line: "tty1"), false), (nil, false),
            ] as [(Logins?, Bool)] {
                let check = TerminalCheck(policy: .login, facts: facts, sessions: sessions)
                if isLogin {
                    #expect(throws: Never.self) { _ = try check.verify(slave, of: caller) }
                } else {
                    #expect(throws: TerminalRefusal.noLogin) { _ = try check.verify(slave, of: caller) }
                }
            }
        }

        private func refusal(
            _ descriptor: SharedDescriptor, _ caller: PromptCaller, _ policy: TerminalPolicy = .any,
            facts: any CallerFacts = KernelFacts()
        ) -> TerminalRefusal? {
            do throws(TerminalRefusal) {
                _ = try TerminalCheck(policy: policy, facts: facts).verify(descriptor, of: caller)
                return nil
            } catch { return error }
        }

        @Test func `the caller's own terminal is accepted under its own name`() throws {
            let verified = try TerminalCheck(policy: .any, facts: KernelFacts()).verify(
                terminal.slave, of: process.caller(nil))
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
                processID: attacker.processID, process: try? KernelFacts().hold(attacker.processID), userID: getuid(),
                program: "x", terminal: nil)
            for policy in [TerminalPolicy.any, .login] {
                let facts = PlayedFacts.login(of: getuid(), on: String(terminal.path.dropFirst(5)))
                #expect(refusal(own.slave, caller, policy, facts: facts) == .unnamed)
                guard case .ambiguous? = refusal(terminal.slave, caller, policy, facts: facts) else {
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
                processID: 1, process: try? KernelFacts().hold(1), userID: getuid(), program: "init", terminal: nil)
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
            let handle = try KernelFacts().hold(earlier.processID)
            #expect(try !handle.status().isDead)
            earlier.end()
            let caller = PromptCaller(
                processID: process.processID, process: handle, userID: getuid(), program: "x", terminal: nil)
            #expect(refusal(terminal.slave, caller) == .callerGone)
            #expect(throws: FactFailure.absent) { try handle.status() }
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
            #expect(refusal(terminal.slave, caller, .login, facts: PlayedFacts.login(of: getuid(), on: line)) == nil)
            #expect(
                refusal(terminal.slave, caller, .login, facts: PlayedFacts.login(of: getuid() + 1, on: line))
                    == .noLogin)
            #expect(
                refusal(terminal.slave, caller, .login, facts: PlayedFacts.login(of: getuid(), on: "pts/x"))
                    == .noLogin)
            #expect(refusal(terminal.slave, caller, .login) == .noLogin, "the system knows of no login here")
        }

        // MARK: facts that the kernel does not tell

        private static let status = ProcessStatus(
            parsing: Array("9 (x) S 1 9 9 34816 9 0 0 0 0 0 0 0 0 0 20 0 1 0 5 1 1".utf8))
        private static let file = TerminalFact.File(device: 20, inode: 3)

        /// A caller with a played state, on a played terminal of its user.
        private func refusal(
            _ status: Result<ProcessStatus, FactFailure>, on file: TerminalFact.File = file, of user: UInt32 = 1000,
            _ change: (inout PlayedFacts) -> Void = { _ in }
        ) -> TerminalRefusal? {
            let process = PlayedProcess(9) { $0.status = status }
            var facts = PlayedFacts()
            facts.terminal = TerminalFact(
                number: 34816, file: Self.file, name: TerminalFact.Name(path: "/dev/pts/0", file: file, owner: user))
            facts.namesake = .success(nil)
            change(&facts)
            let caller = PromptCaller(processID: 9, process: process, userID: 1000, program: "x", terminal: nil)
            return refusal(terminal.slave, caller, facts: facts)
        }

        @Test(
            arguments: [
                (.absent, .callerGone), (.unreadable, .callerUnreadable), (.refused, .callerUnreadable),
            ] as [(FactFailure, TerminalRefusal)])
        func `a caller whose state is not known is refused`(failure: FactFailure, expected: TerminalRefusal) throws {
            #expect(refusal(.success(try #require(Self.status))) == nil)
            #expect(refusal(.failure(failure)) == expected)
        }

        @Test func `a process without a handle is gone`() {
            let caller = PromptCaller(processID: 9, process: nil, userID: 1000, program: "x", terminal: nil)
            #expect(refusal(terminal.slave, caller) == .callerGone)
        }

        @Test(arguments: [.absent, .unreadable, .refused] as [FactFailure])
        func `a terminal is refused while nobody can tell whether another has its number`(failure: FactFailure) throws {
            let status = try #require(Self.status)
            #expect(refusal(.success(status)) { $0.namesake = .failure(failure) } == .processesUnreadable)
            #expect(refusal(.success(status)) { $0.namesake = .success(12) } == .ambiguous(process: 12))
        }

        @Test func `a terminal of another user, and one with another's name, are refused`() throws {
            let status = try #require(Self.status)
            #expect(refusal(.success(status), of: 1001) == .otherOwner)
            #expect(refusal(.success(status), on: TerminalFact.File(device: 21, inode: 3)) == .unnamed)
            #expect(refusal(.success(status), on: TerminalFact.File(device: 20, inode: 4)) == .unnamed)
            let unnamed = TerminalFact(number: 34816, file: Self.file, name: nil)
            #expect(refusal(.success(status)) { $0.terminal = unnamed } == .unnamed)
            #expect(refusal(.success(status)) { $0.terminal = .some(nil) } == .notATerminal)
            let other = TerminalFact(number: 34817, file: Self.file, name: nil)
            #expect(refusal(.success(status)) { $0.terminal = other } == .notControllingTerminal)
        }
    }
}

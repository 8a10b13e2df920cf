import Foundation
import Glibc
import IndependentTools
import Testing
import UnixSocket

@testable import DoorSupport

/// The program behind a helper.
@Suite("The program behind a helper", .timeLimit(.minutes(10)))
struct ParentClientTests {
    private static func line(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func `a name with parentheses and blanks moves no field`() throws {
        let process = try #require(
            ClientProcess(7, parsing: Self.line("7 (a) S 1 2) (b) R 41 42 43 34817 42 0 0\n")))
        #expect(process.name == "a) S 1 2) (b")
        #expect(process.parent == 41 && process.session == 43 && process.terminalDevice == 34817)
    }

    @Test func `a terminal's number is unsigned`() throws {
        let process = try #require(ClientProcess(7, parsing: Self.line("7 (a) S 1 2 3 -2147483647 2\n")))
        #expect(process.terminalDevice == 2_147_483_649)
    }

    @Test(arguments: [
        "", "7", "7 (a", "7 a) S 1 2 3 4", "7 (a) S 1 2 3", "7 (a) Z 1 2 3 4 5", "7 (a) X 1 2 3 4 5",
        "7 (a) S x 2 3 4 5",
        ")(",
    ])
    func `a text of another form, and a dead process, are none`(text: String) {
        #expect(ClientProcess(7, parsing: Self.line(text)) == nil)
    }

    @Test func `shells are known by the whole name`() throws {
        func isNamedLikeShell(_ name: String) throws -> Bool {
            try #require(ClientProcess(7, parsing: Self.line("7 (\(name)) S 1 2 3 4 5"))).isNamedLikeShell
        }
        for name in ["sh", "dash", "bash", "zsh"] { #expect(try isNamedLikeShell(name), "\(name)") }
        for name in ["git", "sh ", "mysh", "bash-static", ""] { #expect(try !isNamedLikeShell(name), "\(name)") }
    }

    @Test func `a shell's file is called like one, is root's, and nobody else may write it`() {
        for name in ["dash", "bash", "ksh93"] {
            #expect(ClientProcess.isShell(file: name, owner: 0, mode: 0o100755), "\(name)")
        }
        for name in ["python3", "git", "bash-static", "sh ", ""] {
            #expect(!ClientProcess.isShell(file: name, owner: 0, mode: 0o100755), "\(name)")
        }
        #expect(!ClientProcess.isShell(file: "dash", owner: 1000, mode: 0o100755))
        for mode: UInt32 in [0o100775, 0o100757] {
            #expect(!ClientProcess.isShell(file: "dash", owner: 0, mode: mode))
        }
    }

    @Test func `this process and its parent are found`() throws {
        let own = try #require(ClientProcess(getpid()))
        #expect(own.parent == getppid() && own.session == getsid(0))
        #expect(ClientProcess(0) == nil && ClientProcess(-1) == nil)
    }

    @Test func `the parent is named by a descriptor that no other process can take over`() throws {
        guard getppid() > 1 else { return }
        let parent = try ParentClient.ofThisProcess()
        #expect(parent.processID > 1 && parent.processID != getpid())
        var exit = pollfd(fd: parent.process.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&exit, 1, 0) == 0, "it lives")
    }

    // MARK: shells

    /// Runs a program that starts another one and prints its number, and walks from there.
    ///
    /// - Returns: the client that was found, and the number of `program`.
    private static func client(
        behind program: String, _ arguments: [String]
    ) throws -> (client: ParentClient, starter: Int32) {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let started = Int32(said.trimmingCharacters(in: .newlines))
        defer {
            if let started { kill(started, SIGKILL) }
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
        let starter = process.processIdentifier
        let client = try ParentClient.ofProcess(#require(started, "\(said)"), startedBy: starter)
        return (client, starter)
    }

    /// A background job of the shell has no input unless it is given one. The shell ends with its input, and not with `wait`: it has the
    /// signal mask of the test's thread, and dash waits forever where that holds SIGCHLD back.
    private static let script = ["-c", "exec 3<&0; cat <&3 & echo $!; read -r line <&3"]

    @Test func `a shell of the machine is passed over, and the program above it is named`() throws {
        let found = try Self.client(behind: "/bin/sh", Self.script)
        #expect(found.client.processID == getpid())
    }

    @Test func `a program that gave itself the name of a shell is named`() throws {
        let script = """
            import ctypes, subprocess
            assert ctypes.CDLL(None).prctl(15, b"sh", 0, 0, 0) == 0
            child = subprocess.Popen(["cat"])
            print(child.pid, flush=True)
            child.wait()
            """
        let found = try Self.client(behind: "/usr/bin/python3", ["-c", script])
        #expect(found.client.name == "sh")
        #expect(found.client.processID == found.starter)
    }

    @Test func `a shell that is a user's own file is named`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/ostiary-parent-\(UUID().uuidString.prefix(8))"
        try #require(mkdir(folder, 0o700) == 0)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let copy = folder + "/sh"
        try ProgramFile.copy(URL(fileURLWithPath: "/bin/sh"), to: copy)
        // What root copies is root's.
        if geteuid() == 0 { try #require(chown(copy, 65_534, 65_534) == 0) }
        let found = try Self.client(behind: copy, Self.script)
        #expect(found.client.name == "sh")
        #expect(found.client.processID == found.starter)
    }
}

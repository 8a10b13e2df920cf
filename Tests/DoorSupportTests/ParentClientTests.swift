import Foundation
import Glibc
import Testing
import UnixSocket

@testable import DoorSupport

/// The program behind a helper.
@Suite("The program behind a helper")
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
        func isShell(_ name: String) throws -> Bool {
            try #require(ClientProcess(7, parsing: Self.line("7 (\(name)) S 1 2 3 4 5"))).isShell
        }
        for name in ["sh", "dash", "bash", "zsh"] { #expect(try isShell(name), "\(name)") }
        for name in ["git", "sh ", "mysh", "bash-static", ""] { #expect(try !isShell(name), "\(name)") }
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
}

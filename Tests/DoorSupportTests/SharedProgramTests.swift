import Glibc
import Testing

@testable import DoorSupport

/// Which program the file of several names is.
@Suite("The program that a file's name chooses")
struct SharedProgramTests {
    private func program(_ path: String) -> SharedProgram? { SharedProgram(executing: Array(path.utf8)) }

    @Test(arguments: SharedProgram.allCases)
    func `each name is its program, in every folder`(shared: SharedProgram) {
        for folder in ["", "/usr/bin", "/usr/libexec/ostiary", "/home/ada/ostiary-hid", "/a b/ä"] {
            #expect(program("\(folder)/\(shared.rawValue)") == shared)
        }
        // The kernel's word behind a file that was replaced since: an upgrade goes on while an agent starts its background.
        #expect(program("/usr/libexec/ostiary/\(shared.rawValue) (deleted)") == shared)
    }

    @Test(arguments: [
        "", "/", "ostiary-hid", "./ostiary-hid", "/usr/bin/ostiary", "/usr/bin/ostiary-doors", "/usr/bin/Ostiary-hid",
        "/usr/bin/ostiary-hid ", "/usr/bin/ ostiary-hid", "/usr/bin/ostiary-hid\n", "/usr/bin/ostiary-hid\0",
        "/usr/bin/ostiary-hid2", "/usr/bin/an-ostiary-hid", "/usr/bin/ostiary-hid.dpkg-new", "/ostiary-hid/x",
        "/usr/bin/ostiary\u{2010}hid", "/usr/bin/ostiary-hi\u{301}d", "/usr/bin/ostiary-hid (deleted) (deleted)",
        "/usr/bin/git-credential-ostiary", "/usr/bin/docker-credential-ostiary", "(unreachable)/usr/bin/ostiary-hid",
    ])
    func `every other name, and a path without a beginning, is none`(path: String) {
        #expect(program(path) == nil)
    }

    @Test func `bytes that are no text are none`() {
        #expect(SharedProgram(executing: Array("/usr/bin/ostiary-hid".utf8) + [0xFF]) == nil)
    }

    /// What is registered and what is done must be the same word.
    @Test func `the names of doors are those that are registered`() {
        for door in [DoorProgram.sshAgent, .credentialHelper, .agePlugin, .unitCredentials, .pkcs11] {
            #expect(program("/usr/libexec/ostiary/\(door.name)")?.rawValue == door.name)
        }
    }

    @Test func `this process has a path, and is none of them`() {
        let path = SharedProgram.executedPath
        #expect(path.first == UInt8(ascii: "/"))
        #expect(SharedProgram(executing: path) == nil)
        #expect(path == ClientProcess.executedPath(at: "/proc/\(getpid())/exe"))
    }

    @Test func `the refusal names the file and all programs, and shows no name that a terminal would obey`() {
        let names = SharedProgram.allCases.map(\.rawValue)
        let shown = SharedProgram.refusal(of: Array("/usr/bin/ostiary-doors".utf8))
        #expect(shown.hasPrefix("The executed file is called “ostiary-doors”, and is no program under this name. "))
        for name in names { #expect(shown.contains(name)) }
        for hidden in ["", "/", "/usr/bin/a\u{1B}[2Jb", "/usr/bin/a\nb"] {
            let text = SharedProgram.refusal(of: Array(hidden.utf8))
            #expect(text.hasPrefix("The name of the executed file cannot be told, so nobody knows which program"))
            #expect(!text.contains("\u{1B}") && !text.contains("\n"))
        }
    }
}

import Foundation
import Glibc
import Testing
import UnixSocket

@testable import DoorSupport

/// Programs of the system, told from those of a person that are called the same.
@Suite struct SystemProgramTests {
    /// Runs a program, which waits for its input to end.
    private func running<Result>(_ file: URL, _ body: (SharedDescriptor) throws -> Result) throws -> Result {
        let (process, input) = (Process(), Pipe())
        process.executableURL = file
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        defer {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
        return try body(#require(ClientProcess.hold(process.processIdentifier)))
    }

    private static let cat = URL(fileURLWithPath: "/bin/cat").resolvingSymlinksInPath()

    @Test func `a file of root's is known by its name alone`() throws {
        let name = Self.cat.lastPathComponent
        try running(Self.cat) { process in
            #expect(SystemProgram.isExecuted(by: process, named: name))
            for other in ["", name + "x", String(name.dropLast()), "xdg-desktop-portal", "bin/\(name)"] {
                #expect(!SystemProgram.isExecuted(by: process, named: other), "\(other)")
            }
        }
    }

    @Test func `a copy under the name is none, nor one that others may write`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let copy = folder.appendingPathComponent("xdg-desktop-portal")
        try FileManager.default.copyItem(at: Self.cat, to: copy)
        // Where root runs the test the copy is root's, too.
        #expect(chmod(copy.path, 0o775) == 0)
        try running(copy) { process in
            #expect(!SystemProgram.isExecuted(by: process, named: "xdg-desktop-portal"))
        }
        #expect(SystemProgram.isOfSystem(owner: 0, mode: 0o100755))
        for (owner, mode) in [(1000, 0o100755), (0, 0o100775), (0, 0o100757)] as [(UInt32, UInt32)] {
            #expect(!SystemProgram.isOfSystem(owner: owner, mode: mode))
        }
    }

    @Test func `a process that has ended executes nothing`() throws {
        let held = try running(Self.cat) { $0 }
        #expect(!SystemProgram.isExecuted(by: held, named: Self.cat.lastPathComponent))
    }
}

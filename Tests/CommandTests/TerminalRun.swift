import Foundation
import Glibc
import Testing

/// One run of the command with a pseudo-terminal as standard output.
struct TerminalRun {
    let status: Int32
    /// What appeared on the terminal, with the terminal's own line ends.
    let screen: String
    let errors: String

    init(_ arguments: [String], in folder: CommandFolder) throws {
        let (terminal, other) = try Self.openTerminal()
        defer { close(terminal) }

        let process = Process()
        process.executableURL = try CommandRun.program.get()
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.environment = try CommandRun.environment(in: folder)
        let errorFile = try folder.emptyFile("stderr")
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(fileDescriptor: other, closeOnDealloc: false)
        process.standardError = try FileHandle(forWritingTo: errorFile)
        try process.run()
        close(other)
        // Reading ends with EIO when the command, the last holder of the other side, has ended.
        screen = String(decoding: Self.readAll(terminal), as: UTF8.self)
        process.waitUntilExit()
        status = process.terminationStatus
        errors = String(decoding: try Data(contentsOf: errorFile), as: UTF8.self)
    }

    /// Both sides of a new pseudo-terminal (ptmx(4)); Swift's Glibc module shows neither posix_openpt nor ptsname.
    private static func openTerminal() throws -> (CInt, CInt) {
        let (setLock, getNumber): (UInt, UInt) = (0x4004_5431 /* TIOCSPTLCK */, 0x8004_5430 /* TIOCGPTN */)
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number): (CInt, CInt) = (0, 0)
        try #require(terminal >= 0 && ioctl(terminal, setLock, &lock) == 0 && ioctl(terminal, getNumber, &number) == 0)
        let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(other >= 0)
        return (terminal, other)
    }

    private static func readAll(_ descriptor: CInt) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }
}

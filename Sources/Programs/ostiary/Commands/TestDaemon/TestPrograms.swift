import Foundation
import Glibc
import UnixSocket

/// The programs of a test run.
enum TestPrograms {
    /// The most programs that a daemon registers.
    private static let limit = 256

    /// The executables below a folder, by their paths without links, sorted. Scripts are none, because the daemon would
    /// know all scripts of an interpreter by the interpreter.
    static func below(_ folder: String) throws -> [String] {
        guard let real = unsafe realpath(folder, nil) else {
            throw CommandError.unreadableInput(SystemCallError("realpath", subject: folder))
        }
        defer { unsafe free(real) }
        let root = unsafe String(cString: real)
        guard let names = FileManager.default.enumerator(atPath: root) else {
            throw CommandError.unreadableInput(SystemCallError("opendir", subject: root))
        }
        var programs: [String] = []
        for case let name as String in names where isProgram(root + "/" + name) { programs.append(root + "/" + name) }
        guard programs.count <= limit else {
            throw CommandError.usage(
                "There are \(programs.count) programs below \(root), and at most \(limit) can be registered. Name a "
                    + "smaller folder with --programs.")
        }
        return programs.sorted()
    }

    private static func isProgram(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & S_IXUSR != 0,
            !PathName.last(of: path).contains(".so"), let file = FileHandle(forReadingAtPath: path)
        else { return false }
        defer { try? file.close() }
        // ELF (elf(5)). A file that cannot be read is not run either.
        return (try? file.read(upToCount: 4)) == Data([0x7f, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")])
    }

    /// The path of the program that a command names, found as execvp(3) finds it.
    static func path(of name: String) throws -> String {
        if name.contains("/") { return name }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
            .split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? "." : String($0) }
        guard let folder = folders.first(where: { isExecutable($0 + "/" + name) }) else {
            throw CommandError.commandNotStarted(SystemCallError("execvp", subject: name, code: ENOENT))
        }
        return folder + "/" + name
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}

import ArgumentParser
import Glibc
import UnixSocket

/// The path of a program as the daemon sees it: absolute and without symbolic links.
struct ProgramPath: ParsableArguments {
    @Argument(help: "The program's file.", completion: .file()) var program: String

    func resolved() throws -> String { try Self.resolved(program) }

    static func resolved(_ program: String) throws -> String {
        guard let path = unsafe realpath(program, nil) else {
            guard errno != ENOENT else { throw CommandError.noProgram(path: program) }
            throw CommandError.unreadableInput(SystemCallError("realpath", subject: program))
        }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}

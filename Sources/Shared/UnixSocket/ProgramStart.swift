@_implementationOnly import CLinuxShims

/// Starts other programs (posix_spawn(3)).
public enum ProgramStart {
    /// Starts a program with no signal blocked or ignored.
    ///
    /// - Parameters:
    ///   - program: its path; nothing is searched.
    ///   - arguments: the first is the program's own name.
    ///   - environment: `NAME=VALUE`; all of it.
    ///   - descriptors: the child's descriptors from 0 on; -1 stands for the null device. It gets no others.
    ///   - leadsSession: whether it leaves this process's session, and with that the terminal. It then leads a session and a
    ///     process group of its own.
    /// - Returns: the child's process id. Until the caller has reaped the child, the id means no other process.
    public static func spawn(
        program: String, arguments: [String], environment: [String], descriptors: [CInt], leadsSession: Bool,
        workingDirectory: String = "/"
    ) throws(SystemCallError) -> Int32 {
        var child: Int32 = 0
        let code = CStrings.withPointers(arguments) { arguments in
            CStrings.withPointers(environment) { environment in
                ostiary_spawn(
                    program, arguments, environment, descriptors, CInt(descriptors.count), leadsSession ? 1 : 0,
                    workingDirectory, &child)
            }
        }
        guard code == 0 else { throw SystemCallError("posix_spawn", subject: program, code: code) }
        return child
    }
}

import Foundation
import Glibc
import SecretItems
import UnixSocket

/// Where the files of the person's session lie (XDG Base Directory Specification).
struct SessionFolders {
    let data: String
    let configuration: String

    /// - Parameter variables: those of the environment.
    init(_ variables: [String: String]) throws(SecretsFailure) {
        func folder(_ variable: String, _ standard: String) throws(SecretsFailure) -> String {
            if let path = variables[variable], PathName.isAbsolute(path) { return path }
            guard let home = variables["HOME"], PathName.isAbsolute(home) else {
                throw .setup("HOME names no folder, so nothing was written.")
            }
            return home + standard
        }
        data = try folder("XDG_DATA_HOME", "/.local/share")
        configuration = try folder("XDG_CONFIG_HOME", "/.config")
    }

    static func ofThisSession() throws(SecretsFailure) -> SessionFolders {
        try SessionFolders(ProcessInfo.processInfo.environment)
    }
}

/// The program that the bus is to start: this one, where it lies.
enum OwnProgram {
    /// Its path, without links.
    static func path() throws(SecretsFailure) -> String {
        guard let path = unsafe realpath("/proc/self/exe", nil) else {
            throw .unreadable(SystemCallError("realpath", subject: "/proc/self/exe"))
        }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}

import DoorSupport
import Foundation
import Glibc
import UnixSocket

/// An absolute path of a socket or a program, as the files of ssh, shells and systemd write it.
///
/// Their rules of quoting differ. A path with a character that one of them reads between quotation marks is refused, so no path adds a
/// setting or a command.
struct ConfiguredPath {
    let path: String

    /// - Throws: ``CommandError/usage(_:)``.
    init(_ path: String) throws {
        let isPlain = path.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && $0.value != 0x7F && !Self.special.contains($0)
        }
        guard PathName.isAbsolute(path), isPlain else {
            throw CommandError.usage(
                "\(path.quotedName) is no absolute path without control characters, quotation marks, backslashes and `$`, so "
                    + "nothing was written.")
        }
        self.path = path
    }

    private static let special = Set("\"'\\$`".unicodeScalars)

    // MARK: the agent's socket

    /// The agent's socket in the runtime folder of a user manager.
    static let ownName = "/ostiary/ssh-agent.sock"
    static var standardFolder: String { "/run/user/\(getuid())" }
    static var standardSocket: String { standardFolder + ownName }

    /// Where the agent has its socket.
    ///
    /// - Parameter manager: the runtime folder of the user manager. Its agent serves a session without XDG_RUNTIME_DIR, too, such as one
    ///   of su.
    static func ownSocket(
        _ variables: [String: String] = ProcessInfo.processInfo.environment,
        userManager manager: String = standardFolder
    ) throws -> String {
        if (variables["XDG_RUNTIME_DIR"] ?? "").isEmpty, FileManager.default.fileExists(atPath: manager) {
            return manager + ownName
        }
        return try DoorListener.runtimeFolder() + "/ssh-agent.sock"
    }

    /// Whether both are one file, or one path where there is none.
    func leadsTo(_ other: String) -> Bool { AtomicFile.resolved(path) == AtomicFile.resolved(other) }

    // MARK: how it is written

    /// For ssh_config(5). ssh ends with an error where a variable of the line is not set, as under cron, so the line has none: `%i` is the
    /// user's number.
    var inSSHConfig: String { path == Self.standardSocket ? "/run/user/%i\(Self.ownName)" : inUnit }

    /// For a POSIX shell, whose session may have no XDG_RUNTIME_DIR.
    var inShell: String {
        path == Self.standardSocket ? "\"/run/user/$(id -u)\(Self.ownName)\"" : "'\(path)'"
    }

    /// For systemd.service(5). ssh reads the same form.
    var inUnit: String { "\"\(path.replacingOccurrences(of: "%", with: "%%"))\"" }
}

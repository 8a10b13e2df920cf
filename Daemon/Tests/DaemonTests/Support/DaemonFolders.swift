import Foundation
import Glibc
import StoreTestSupport
import UnixSocket

/// The folders of one private daemon, removed with the value.
final class DaemonFolders: Sendable {
    let root: TestFolder
    /// What the daemon's standard error goes to, over all its starts here.
    let errorFile: String
    /// A configuration that says nothing, so that no configuration of the machine counts.
    let configuration: String

    var runtime: String { root.path("run/ostiary") }
    var state: String { root.path("state/ostiary") }
    var socket: String { runtime + "/ostiaryd.socket" }
    var store: String { state + "/vault.sqlite" }
    var deviceSecret: String { state + "/device-secret" }
    var storeKeys: String { state + "/store-keys" }

    /// - Parameter configurationText: the lines of `ostiaryd.conf`.
    init(configurationText: String = "") throws {
        root = try TestFolder()
        errorFile = root.path("standard-error")
        configuration = root.path("ostiaryd.conf")
        for folder in ["run", "state"] {
            try FileManager.default.createDirectory(
                atPath: root.path(folder), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        try write(configurationText, to: configuration)
        try write("", to: errorFile)
    }

    /// Options that name these folders, and no bus: a session of this machine is not the test's.
    var options: [String] { options(systemBus: root.path("no-bus")) }

    func options(systemBus: String) -> [String] {
        [
            "--runtime-directory", runtime, "--state-directory", state, "--configuration", configuration,
            "--system-bus",
            systemBus,
        ]
    }

    func write(_ text: String, to path: String, mode: mode_t = 0o600) throws {
        try write(Data(text.utf8), to: path, mode: mode)
    }

    func write(_ contents: Data, to path: String, mode: mode_t = 0o600) throws {
        try contents.write(to: URL(fileURLWithPath: path))
        guard chmod(path, mode) == 0 else { throw SystemCallError("chmod", subject: path) }
    }

    var standardError: String { (try? String(contentsOfFile: errorFile, encoding: .utf8)) ?? "unreadable" }

    /// Every regular file below the root: its path and its bytes.
    func files() throws -> [String: Data] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path)
        return try names.reduce(into: [:]) { files, name in
            let path = root.path(name)
            guard Self.status(of: path).st_mode & S_IFMT == S_IFREG else { return }
            files[name] = try Data(contentsOf: URL(fileURLWithPath: path))
        }
    }

    /// What a refused start may not change: kind, mode and contents of all in the state folder.
    func snapshot() throws -> [String: Entry] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: state)
        return try names.reduce(into: [:]) { entries, name in
            let path = "\(state)/\(name)"
            let status = Self.status(of: path)
            let isFile = status.st_mode & S_IFMT == S_IFREG
            entries[name] = Entry(
                mode: status.st_mode, contents: isFile ? try Data(contentsOf: URL(fileURLWithPath: path)) : nil)
        }
    }

    struct Entry: Equatable {
        let mode: mode_t
        let contents: Data?
    }

    static func status(of path: String) -> stat {
        var status = stat()
        return lstat(path, &status) == 0 ? status : stat()
    }

    /// The permission bits of `path`.
    static func mode(of path: String) -> mode_t { status(of: path).st_mode & 0o7777 }
}

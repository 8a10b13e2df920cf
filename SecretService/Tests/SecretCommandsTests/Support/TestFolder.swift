import Foundation
import Glibc

/// A folder of a test's own.
final class TestFolder {
    let path: String

    init() throws {
        path =
            FileManager.default.temporaryDirectory.appendingPathComponent("ostiary-keyring-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ text: String, to name: String) throws {
        let file = URL(fileURLWithPath: file(name))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    func text(of name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }

    func isThere(_ name: String) -> Bool {
        var status = stat()
        return lstat(file(name), &status) == 0
    }

    func mode(of name: String) -> mode_t {
        var status = stat()
        return lstat(file(name), &status) == 0 ? status.st_mode & 0o777 : 0
    }

    /// The names of all entries below the folder, with their contents; links with what they lead to.
    func everything() throws -> [String: String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: path)
        return try names.reduce(into: [:]) { found, name in
            if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: file(name)) {
                found[name] = "-> " + target
            } else if try isFile(name) {
                found[name] = try text(of: name)
            }
        }
    }

    private func isFile(_ name: String) throws -> Bool {
        let attributes = try FileManager.default.attributesOfItem(atPath: file(name))
        return attributes[.type] as? FileAttributeType == .typeRegular
    }
}

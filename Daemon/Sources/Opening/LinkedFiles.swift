import Foundation
import Glibc
import UnixSocket

/// Files of the state folder that have a second name elsewhere. A backup of hard links (`cp -al`) makes one for each.
///
/// The daemon would go on writing into such a backup. And a program that opened its database there would lock another journal than the
/// daemon's, which ruins a database (SQLite, "How To Corrupt", 2.5). So each file gets bytes of its own before it is opened, and the
/// backup keeps the old ones.
struct LinkedFiles {
    let folder: String
    let userID: UInt32

    /// Gives each file bytes of its own, one after the other, durably. A crash leaves whole files only. Nobody may have a file of
    /// the folder open.
    ///
    /// - Returns: the names of these files.
    func separate() throws -> [String] {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: folder) } catch {
            throw BrokerOpeningError.stateDirectory(path: folder, "cannot be read: \(error)")
        }
        try removeCopiesLeftBehind(among: names)
        let linked = names.filter { !$0.hasSuffix(Self.suffix) && isLinked($0) }.sorted()
        do {
            for name in linked { try copy(name) }
            if !linked.isEmpty { try flush(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        } catch {
            throw BrokerOpeningError.stateDirectory(
                path: folder,
                "has files that are linked elsewhere, as in a backup of hard links, and they could not be copied (\(error)). Make "
                    + "room on its disk, or remove the other names, and start again. Nothing was changed.")
        }
        return linked
    }

    private static let suffix = ".own"

    /// A crash between copy and rename leaves a copy. It may hold wraps that a later change of the passcode erased from the file.
    private func removeCopiesLeftBehind(among names: [String]) throws {
        let present = Set(names)
        let copies = names.filter {
            $0.hasSuffix(Self.suffix) && present.contains(String($0.dropLast(Self.suffix.count)))
        }
        do {
            for name in copies {
                let path = "\(folder)/\(name)"
                guard unsafe unlink(path) == 0 else { throw SystemCallError("unlink", subject: path) }
            }
            if !copies.isEmpty { try flush(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        } catch {
            throw BrokerOpeningError.stateDirectory(
                path: folder,
                "has a copy that an interrupted start left, and it could not be removed (\(error)). Remove it, and start again. "
                    + "Nothing was changed.")
        }
    }

    private func isLinked(_ name: String) -> Bool {
        var status = stat()
        return unsafe lstat("\(folder)/\(name)", &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && status.st_uid == userID && status.st_nlink > 1
    }

    private func copy(_ name: String) throws {
        let path = "\(folder)/\(name)"
        // Another user's process cannot be in the folder, and no other daemon: it is closed and locked.
        let copy = path + Self.suffix
        do {
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            try flush(copy, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
            guard unsafe rename(copy, path) == 0 else { throw SystemCallError("rename", subject: path) }
        } catch {
            _ = unsafe unlink(copy)
            throw error
        }
    }

    private func flush(_ path: String, _ mode: CInt) throws(SystemCallError) {
        let file = try Descriptor(unsafe open(path, mode), from: "open", subject: path)
        guard fsync(file.number) == 0 else { throw SystemCallError("fsync", subject: path) }
    }
}

import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// The store of a user's own daemon, from which the objects were copied or will be.
struct FormerStore {
    let location: UserDaemonLocation
    var folder: String { location.stateDirectory }

    /// A copy in the store of the machine.
    struct Copy {
        /// Which part of that store it is.
        let id: Data
        /// How many keys and items stayed behind.
        let left: UInt32
    }

    /// Says that the copy was made. A daemon of the user's own removes it: what changes then is in no copy.
    private var copyMark: String { folder + "/copied" }
    /// Keeps a daemon of the user's own from starting here.
    private var migratedMark: String { folder + "/migrated" }

    init(_ location: UserDaemonLocation) { self.location = location }

    /// Whether its removal has begun.
    var isBeingRemoved: Bool { exists(migratedMark) }

    func requireStore() throws(CommandError) {
        guard !isBeingRemoved || copied != nil else {
            throw .notMigrated("Your own store was moved into the store of this machine already.")
        }
        guard copied != nil || exists(folder + "/vault.sqlite") else {
            throw .notMigrated("There is no store of your own in \(folder.visibleName). Nothing was copied.")
        }
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// The copy that was made; nil when none was, or when the mark cannot be read.
    var copied: Copy? {
        guard let data = FileManager.default.contents(atPath: copyMark) else { return nil }
        let words = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let left = UInt32(words[0]), let id = Data(base64Encoded: String(words[1])) else {
            return nil
        }
        return Copy(id: id, left: left)
    }

    func note(_ copy: Copy) throws { try write("\(copy.left) \(copy.id.base64EncodedString())\n", to: copyMark) }

    /// Removes everything but the mark, which comes first: no daemon of the user's own starts with what is left of it.
    func remove() throws {
        try write("Moved into the store of the machine.\n", to: migratedMark)
        let kept = Set([migratedMark, copyMark].map { PathName.last(of: $0) })
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !kept.contains(name) {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        try FileManager.default.removeItem(atPath: copyMark)
    }

    private func write(_ text: String, to path: String) throws {
        let file = try Descriptor(
            unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600), from: "open",
            subject: path)
        let bytes = Array(text.utf8)
        guard unsafe Glibc.write(file.number, bytes, bytes.count) == bytes.count, fsync(file.number) == 0 else {
            throw SystemCallError("write", subject: path)
        }
        let parent = try Descriptor(
            unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), from: "open", subject: folder)
        guard fsync(parent.number) == 0 else { throw SystemCallError("fsync", subject: folder) }
    }
}

import Foundation
import Glibc
import UnixSocket

/// Writes a file so that its name leads either to the complete new content or to the state before.
enum AtomicFile {
    /// Puts `bytes` at `path`: writes a new file beside it, synchronises it and renames it. Follows a symbolic link.
    /// Writes directly to a device, a pipe or another file that is not regular.
    ///
    /// - Parameters:
    ///   - mode: of the new file, less the process's umask; an older file's mode is not kept.
    ///   - replacing: false fails with `EEXIST` if there is a file, also one that came into being meanwhile.
    static func write(
        _ bytes: UnsafeRawBufferPointer, to path: String, mode: mode_t, replacing: Bool
    ) throws(SystemCallError) {
        guard !isSpecial(path) else { return try unsafe writeThrough(bytes, to: path) }
        let file = try unsafe NewFile(bytes, for: path, mode: mode)
        do throws(SystemCallError) { try file.place(replacing: replacing) } catch {
            file.discard()
            throw error
        }
    }

    /// Throws when ``write(_:to:mode:)`` cannot succeed, as far as that can be known without trying.
    static func requireWritable(_ path: String) throws(SystemCallError) {
        var status = stat()
        let isFolder = unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        if isFolder || path.hasSuffix("/") {
            throw SystemCallError("open", subject: path, code: EISDIR)
        }
        guard !isSpecial(path) else { return }
        guard unsafe access(PathName.folder(of: resolved(path)), W_OK | X_OK) == 0 else {
            throw SystemCallError("open", subject: path)
        }
    }

    /// Whether writing would overwrite something: there is a regular file, or a link that leads to one or nowhere.
    static func isThere(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && !isSpecial(path)
    }

    static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    static func writeThrough(_ bytes: UnsafeRawBufferPointer, to path: String) throws(SystemCallError) {
        let descriptor = try Descriptor(
            unsafe open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), from: "open", subject: path)
        try unsafe StreamDescriptor(number: descriptor.number).write(bytes, subject: path)
    }

    /// Where `path` leads; itself when nothing is there yet.
    static func resolved(_ path: String) -> String {
        guard let real = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }

    /// A name in the same folder, so that the rename stays within one file system. Short enough beside any file name.
    static func temporaryPath(beside path: String) -> String {
        PathName.folder(of: path) + "/.ostiary-" + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}

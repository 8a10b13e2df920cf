import Glibc
import UnixSocket

/// A complete new file in the folder of its place, which has no name there yet.
struct NewFile {
    private let path: String
    private let target: String
    private let temporary: String

    /// Writes `bytes` beside the place that `path` leads to, and synchronises them.
    init(_ bytes: UnsafeRawBufferPointer, for path: String, mode: mode_t) throws(SystemCallError) {
        self.path = path
        target = AtomicFile.resolved(path)
        temporary = AtomicFile.temporaryPath(beside: target)
        let descriptor = try Descriptor(
            unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode), from: "open",
            subject: path)
        do throws(SystemCallError) {
            try unsafe StreamDescriptor(number: descriptor.number).write(bytes, subject: path)
            guard fsync(descriptor.number) == 0 else { throw SystemCallError("fsync", subject: path) }
        } catch {
            discard()
            throw error
        }
    }

    func discard() { unsafe unlink(temporary) }

    /// Gives the file its name.
    ///
    /// - Parameter replacing: false fails with `EEXIST` if there is a file, also one that came into being meanwhile.
    func place(replacing: Bool) throws(SystemCallError) {
        let isThere = replacing ? unsafe rename(temporary, target) == 0 : name()
        guard isThere else { throw SystemCallError("rename", subject: path) }
    }

    /// Gives the file its name, unless another file has it: a second name is never made over an older file. Where the file
    /// system has no second names, the last look decides.
    private func name() -> Bool {
        if unsafe link(temporary, target) == 0 { return unsafe unlink(temporary) == 0 }
        guard Self.meansNoSecondNames(errno) else { return false }
        guard !isNameTaken else {
            errno = EEXIST
            return false
        }
        return unsafe rename(temporary, target) == 0
    }

    /// Gives the older file a second name, under which it can be brought back; nil if there is none. Where the file system has no
    /// second names, the older file has only the new one until ``place(replacing:)``.
    func keepOlder() throws(SystemCallError) -> String? {
        guard isNameTaken else { return nil }
        let kept = AtomicFile.temporaryPath(beside: target)
        if unsafe link(target, kept) == 0 { return kept }
        guard Self.meansNoSecondNames(errno), unsafe rename(target, kept) == 0 else {
            throw SystemCallError("link", subject: path)
        }
        return kept
    }

    /// Takes the name from the new file again, and gives it to the older one that ``keepOlder()`` kept.
    func takeBack(_ older: String?) {
        guard let older else {
            unsafe unlink(target)
            return
        }
        unsafe rename(older, target)
        // Renaming one name of a file to another one of the same file does nothing (rename(2)).
        unsafe unlink(older)
    }

    private var isNameTaken: Bool {
        var status = stat()
        return unsafe lstat(target, &status) == 0
    }

    private static func meansNoSecondNames(_ code: CInt) -> Bool { [EPERM, ENOSYS, EOPNOTSUPP].contains(code) }
}

extension AtomicFile {
    /// Writes several files, all or none: all are stored beside their places before the first one gets its name, and if one cannot
    /// get it, the names of the others lead to what was there before.
    ///
    /// - Parameter replacing: see ``write(_:to:mode:replacing:)``.
    static func write(
        _ files: [(path: String, bytes: [UInt8])], mode: mode_t, replacing: Bool
    ) throws(SystemCallError) {
        var (waiting, placed) = ([NewFile](), [(file: NewFile, older: String?)]())
        do throws(SystemCallError) {
            for file in files where !isSpecial(file.path) {
                waiting.append(
                    try unsafe file.bytes.withUnsafeBufferPointer { (bytes) throws(SystemCallError) in
                        try unsafe NewFile(UnsafeRawBufferPointer(bytes), for: file.path, mode: mode)
                    })
            }
            while let file = waiting.first {
                let older = replacing ? try file.keepOlder() : nil
                do throws(SystemCallError) { try file.place(replacing: replacing) } catch {
                    if older != nil { file.takeBack(older) }
                    throw error
                }
                placed.append((file, older))
                waiting.removeFirst()
            }
            // What went into a pipe or a device cannot be taken back, so it goes last.
            for file in files where isSpecial(file.path) {
                try unsafe file.bytes.withUnsafeBufferPointer { (bytes) throws(SystemCallError) in
                    try unsafe writeThrough(UnsafeRawBufferPointer(bytes), to: file.path)
                }
            }
        } catch {
            for file in waiting { file.discard() }
            for (file, older) in placed.reversed() { file.takeBack(older) }
            throw error
        }
        for case (_, let older?) in placed { unsafe unlink(older) }
    }
}

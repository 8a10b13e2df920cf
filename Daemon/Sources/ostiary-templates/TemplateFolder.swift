import Crypto
import Glibc
import TemplateAnswers
import UnixSocket

/// One user's templates in fprintd's folder.
struct TemplateFolder {
    private let root: String
    private let userID: UInt32

    /// - Parameters:
    ///   - root: fprintd's folder.
    ///   - userID: the user who owns the templates.
    init(at root: String, ofUser userID: UInt32) {
        (self.root, self.userID) = (root, userID)
    }

    /// An answer for a moment without changes, and the watch for later changes.
    ///
    /// - Throws: when the kernel gives no watches. Then changes would go unnoticed.
    func stableAnswer(_ key: SymmetricKey) throws(SystemCallError) -> (TemplateAnswer, FolderChanges) {
        for _ in 0..<HelperLimits.readAttempts {
            let changes = try FolderChanges()
            let answer = try answer(key, changes)
            if !changes.haveHappened { return (answer, changes) }
        }
        return (.unreadable, try FolderChanges())
    }

    private func answer(_ key: SymmetricKey, _ changes: FolderChanges) throws(SystemCallError) -> TemplateAnswer {
        do throws(ReadFailure) {
            var templates = TemplateReader(key)
            guard let folder = try openUserFolder(changes) else { return .none }
            try templates.read(folder, changes)
            return templates.answer
        } catch {
            switch error {
            case .unreadable: return .unreadable
            case .failed(let call): throw call
            }
        }
    }

    /// Nil when fprintd has no folder for the user.
    private func openUserFolder(_ changes: FolderChanges) throws(ReadFailure) -> Descriptor? {
        guard let name = try userName() else { return nil }
        guard let root = try OpenEntry.folder(AT_FDCWD, root) else {
            // If fprintd is installed later, it makes the folder. Watch for that.
            guard let parent = try OpenEntry.folder(AT_FDCWD, PathName.folder(of: root)) else { return nil }
            try changes.noting(parent.number)
            return nil
        }
        try changes.noting(root.number)
        return try OpenEntry.folder(root.number, name)
    }

    /// The user's name in the user database. fprintd files templates under that name.
    private func userName() throws(ReadFailure) -> String? {
        errno = 0
        guard let entry = unsafe getpwuid(userID), let name = unsafe entry.pointee.pw_name else {
            // Any other error means that the database cannot be read.
            guard errno == 0 || errno == ENOENT else { throw .unreadable }
            return nil
        }
        let text = unsafe String(cString: name)
        guard !text.isEmpty, text != ".", text != "..", !text.utf8.contains(UInt8(ascii: "/")) else {
            throw .unreadable
        }
        return text
    }
}

/// Why templates were not read.
enum ReadFailure: Error {
    /// Something differs from fprintd's form, or exceeds a limit.
    case unreadable
    /// A system call failed for a reason other than the templates.
    case failed(SystemCallError)
}

extension FolderChanges {
    func noting(_ folder: CInt) throws(ReadFailure) {
        do { try watch(folder) } catch { throw .failed(error) }
    }
}

/// Opens entries of folders, but no symbolic links.
enum OpenEntry {
    /// Nil when there is none.
    static func folder(_ parent: CInt, _ name: String) throws(ReadFailure) -> Descriptor? {
        try open(parent, name, O_DIRECTORY, S_IFDIR)
    }

    /// Nil when there is none.
    static func file(_ parent: CInt, _ name: String) throws(ReadFailure) -> Descriptor? {
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        try open(parent, name, O_NONBLOCK | O_NOCTTY, S_IFREG)
    }

    private static func open(_ parent: CInt, _ name: String, _ flags: CInt, _ type: mode_t) throws(ReadFailure)
        -> Descriptor?
    {
        let number = unsafe openat(parent, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flags)
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw .unreadable
        }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        // Templates that another user could have written prove nothing.
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == type, status.st_uid == geteuid() else {
            throw .unreadable
        }
        return descriptor
    }
}

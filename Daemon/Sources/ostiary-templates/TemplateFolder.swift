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
    ///   - userID: whose templates are read.
    init(at root: String, ofUser userID: UInt32) {
        (self.root, self.userID) = (root, userID)
    }

    /// The answer of a moment in which nothing changed, and the changes since then.
    ///
    /// - Throws: when the kernel gives no watches; then nothing can be said about changes.
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
            // fprintd may be installed later, and make it.
            guard let parent = try OpenEntry.folder(AT_FDCWD, PathName.folder(of: root)) else { return nil }
            try changes.noting(parent.number)
            return nil
        }
        try changes.noting(root.number)
        return try OpenEntry.folder(root.number, name)
    }

    /// fprintd files templates under the name that the user database has for the number.
    private func userName() throws(ReadFailure) -> String? {
        errno = 0
        guard let entry = unsafe getpwuid(userID), let name = unsafe entry.pointee.pw_name else {
            // The kernel's number is right, but the database may be out of reach.
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
    /// Something is not as fprintd leaves it, or past a limit.
    case unreadable
    /// A call failed that has nothing to do with the templates.
    case failed(SystemCallError)
}

extension FolderChanges {
    func noting(_ folder: CInt) throws(ReadFailure) {
        do { try watch(folder) } catch { throw .failed(error) }
    }
}

/// Opens entries of folders, and no symbolic link.
enum OpenEntry {
    /// Nil when there is none.
    static func folder(_ parent: CInt, _ name: String) throws(ReadFailure) -> Descriptor? {
        try open(parent, name, O_DIRECTORY, S_IFDIR)
    }

    /// Nil when there is none.
    static func file(_ parent: CInt, _ name: String) throws(ReadFailure) -> Descriptor? {
        // A pipe would otherwise be waited for.
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
        // Templates that somebody else could have written say nothing.
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == type, status.st_uid == geteuid() else {
            throw .unreadable
        }
        return descriptor
    }
}

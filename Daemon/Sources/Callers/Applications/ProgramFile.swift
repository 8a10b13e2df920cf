package import ExactNames
import Foundation
import Glibc
import OstiaryMessages
package import Refusals
import UnixSocket

/// A file that is to be registered as a program, or is at the path of a registered one.
package struct ProgramFile {
    package let path: ExactName
    /// The file, where somebody passed it and this process does not see it.
    private let offered: OfferedProgram?

    /// - Parameter offered: the file as somebody passed it, who sees more than this process. What is at the path is looked at where it can
    ///   be seen.
    /// - Throws: a refusal that tells the person the file's defect.
    package init(path: String, offered: OfferedProgram? = nil) throws(Refusal) {
        self.offered = Self.isHidden(path) ? offered : nil
        let found = self.offered.map { $0.path.map { ExactName($0) } } ?? Self.resolved(path)
        guard PathName.isAbsolute(path), found == ExactName(path) else {
            throw Self.refusal("Name the program by its absolute path, without links in it.")
        }
        guard self.offered.map(Self.isExecutable) ?? Self.isExecutable(path) else {
            throw Self.refusal("There is no executable program at this path.")
        }
        guard !CallerProgram.isInterpreter(path), !(self.offered.map(Self.isScript) ?? Self.isScript(path)) else {
            throw Self.refusal(
                "Interpreters and scripts cannot be registered, because one interpreter runs many scripts.")
        }
        self.path = ExactName(path)
    }

    /// Whether this process may not see what is at the path.
    static func isHidden(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) != 0 && errno == EACCES
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }

    private static func isExecutable(_ program: OfferedProgram) -> Bool {
        var status = stat()
        return unsafe fstat(program.file.number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && status.st_mode & 0o111 != 0 && status.st_nlink > 0
    }

    private static func refusal(_ what: String) -> Refusal {
        Refusal(.invalidParameter, what, cause: "application.path")
    }

    private static func resolved(_ path: String) -> ExactName? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(validatingCString: resolved).map { ExactName($0) }
    }

    private static func isScript(_ path: String) -> Bool {
        guard let file = try? NamedFile.open(path) else { return false }
        var start: [UInt8] = [0, 0]
        return unsafe read(file.number, &start, 2) == 2 && start == Array("#!".utf8)
    }

    /// One that is not read is none: it gets no digest either.
    private static func isScript(_ program: OfferedProgram) -> Bool {
        guard program.isOfKernel else { return false }
        var start: [UInt8] = [0, 0]
        return unsafe pread(program.file.number, &start, 2, 0) == 2 && start == Array("#!".utf8)
    }

    /// The identity of the file as it is now.
    package func identity(_ digests: ContentDigests) throws(ProgramFileError) -> Registration.Identity {
        if let offered { return .content(try digests.digest(of: offered)) }
        return Self.isReplaceableByRootAlone(path.text) ? .rootOwned : .content(try digests.digest(of: path.text))
    }

    /// Whether the file and every folder above it belong to root and nobody else may write to them.
    static func isReplaceableByRootAlone(_ path: String) -> Bool {
        var part = path
        while true {
            var status = stat()
            guard unsafe lstat(part, &status) == 0, status.st_uid == 0, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
                return false
            }
            if part == "/" { return true }
            part = PathName.folder(of: part)
        }
    }
}

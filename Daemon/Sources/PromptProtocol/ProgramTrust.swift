import Foundation
import Glibc
import UnixSocket

/// Whether a program is safe to type secrets into: only root and the daemon's user may be able to write or replace it.
///
/// The check covers the file, each folder on the way and each symbolic link in it. All must belong to root or that
/// user, and neither group nor others may write to them. A folder that others may write to passes when it is sticky
/// (`/tmp`): there, only the owner of an entry, who is root or that user, can move or remove it (inode(7)).
public enum ProgramTrust {
    /// Follows at most so many links, as the kernel does (path_resolution(7)).
    private static let linkCount = 40

    /// Returns when the user can trust the program at the absolute path `path` now.
    ///
    /// - Throws: the reason why not.
    public static func verify(_ path: String, userID: UInt32) throws(ProgramDistrust) {
        try verifyFile(path, userID: userID)
        guard unsafe access(path, X_OK) == 0 else { throw .missing(path) }
    }

    /// Returns when only root and the user can change or replace the file at the absolute path `path`. The file need
    /// not be executable; a library is not.
    ///
    /// - Throws: the reason why not.
    public static func verifyFile(_ path: String, userID: UInt32) throws(ProgramDistrust) {
        guard PathName.isAbsolute(path) else { throw .missing(path) }
        var (rest, folder, links) = (parts(of: path), "", 0)
        var status = try verifiedStatus(of: "/", userID)
        while let name = rest.popLast() {
            guard status.st_mode & S_IFMT == S_IFDIR else { throw .missing(path) }
            if name == ".." {
                let parent = PathName.folder(of: folder)
                folder = parent == "/" || folder.isEmpty ? "" : parent
                continue
            }
            let entry = folder + "/" + name
            let found = try verifiedStatus(of: entry, userID)
            guard found.st_mode & S_IFMT == S_IFLNK else {
                (folder, status) = (entry, found)
                continue
            }
            links += 1
            guard links <= linkCount, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: entry)
            else { throw .missing(entry) }
            if PathName.isAbsolute(target) { folder = "" }
            rest += parts(of: target)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .missing(path) }
    }

    /// The names in a path, in reverse order.
    private static func parts(of path: String) -> [String] {
        PathName.names(in: path).reversed()
    }

    private static func verifiedStatus(of path: String, _ userID: UInt32) throws(ProgramDistrust) -> stat {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw .missing(path) }
        guard status.st_uid == 0 || status.st_uid == userID else { throw .otherOwner(path) }
        // The mode of a link does not matter: a link can only be replaced, and the mode of its folder decides that.
        let isLink = status.st_mode & S_IFMT == S_IFLNK
        let isSticky = status.st_mode & S_IFMT == S_IFDIR && status.st_mode & S_ISVTX != 0
        guard isLink || isSticky || status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { throw .writableByOthers(path) }
        return status
    }
}

/// Why a program is not started. Each names the file, folder or link that is the cause.
public enum ProgramDistrust: Error, Equatable, Sendable, CustomStringConvertible {
    /// It does not exist, or cannot be executed.
    case missing(String)
    /// It belongs neither to root nor to the user.
    case otherOwner(String)
    /// Its group or everybody can write to it.
    case writableByOthers(String)

    public var description: String {
        switch self {
        case .missing(let path): "\(path) cannot be executed"
        case .otherOwner(let path): "\(path) belongs to another user"
        case .writableByOthers(let path): "\(path) can be written to by other users"
        }
    }
}

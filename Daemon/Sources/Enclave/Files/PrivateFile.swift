import CLinuxShims
import Foundation
import Glibc
package import SecretMemory
import UnixSocket

/// A small file in a store's folder that belongs to one user and is closed to all others, such as the device secret.
///
/// New contents are first written to another file. Once they are on disk, that file gets the name. So a crash leaves no
/// partial file.
package struct PrivateFile: Sendable {
    private let name: String
    private let folder: String
    private let owner: UInt32

    /// - Parameter owner: the user who must own file and folder.
    package init(_ name: String, inFolder folder: String, ownedBy owner: UInt32) {
        self.name = name
        self.folder = folder
        self.owner = owner
    }

    // MARK: reading

    /// The bytes, after a check that folder and file belong to the owner alone. For a file that is too long, the result
    /// has one byte more than `byteCount`.
    package func read(atMost byteCount: Int) throws(PrivateFileError) -> SecretBytes {
        let folder = try openFolder()
        let number = unsafe openat(folder.number, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard number >= 0 else { throw Self.openingError(errno) }
        let file = Descriptor(owning: number)
        let status = try Self.status(of: file)
        guard status.st_mode & S_IFMT == S_IFREG else { throw .unusable(.notRegularFile) }
        guard status.st_uid == owner else { throw .unusable(.foreignOwner) }
        guard status.st_mode & (S_IRWXG | S_IRWXO) == 0 else { throw .unusable(.permissive) }
        return try Self.contents(of: file, atMost: byteCount + 1)
    }

    private func openFolder() throws(PrivateFileError) -> Descriptor {
        let number = unsafe open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW)
        guard number >= 0 else { throw Self.openingError(errno) }
        let folder = Descriptor(owning: number)
        let status = try Self.status(of: folder)
        guard status.st_uid == owner else { throw .unusable(.foreignOwner) }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { throw .unusable(.permissive) }
        return folder
    }

    private static func openingError(_ code: CInt) -> PrivateFileError {
        switch code {
        case ENOENT: .missing
        case ELOOP, ENOTDIR: .unusable(.notRegularFile)
        default: .unusable(.systemCall(errno: code))
        }
    }

    private static func status(of descriptor: borrowing Descriptor) throws(PrivateFileError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else { throw .unusable(.systemCall(errno: errno)) }
        return status
    }

    private static func contents(
        of file: borrowing Descriptor, atMost byteCount: Int
    ) throws(PrivateFileError) -> SecretBytes {
        var buffer = SecretBytes(zeroed: byteCount)
        var count = 0
        while count < buffer.count {
            let result = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe Glibc.read(file.number, bytes.baseAddress! + count, bytes.count - count)
            }
            if result < 0 && errno == EINTR { continue }
            guard result >= 0 else { throw .unusable(.systemCall(errno: errno)) }
            if result == 0 { break }
            count += result
        }
        return buffer.prefix(count)
    }

    // MARK: writing

    /// Makes the file, durably. If the file exists already, it stays unchanged.
    package func create(_ contents: borrowing SecretBytes) throws(PrivateFileError) {
        let directory = try openFolder()
        let temporary = "\(name).\(UUID().uuidString)"
        do throws(PrivateFileError) {
            try Self.write(contents, to: temporary, in: directory)
            try giveName(to: temporary)
        } catch {
            // If this fails too, an unused file stays behind.
            _ = unsafe unlinkat(directory.number, temporary, 0)
            throw error
        }
        guard fsync(directory.number) == 0 else { throw .notWritten(errno: errno) }
    }

    /// Gives the file its name, if none has it yet.
    private func giveName(to temporary: String) throws(PrivateFileError) {
        let source = "\(folder)/\(temporary)"
        if unsafe ostiary_rename_exclusive(source, "\(folder)/\(name)") == 0 { return }
        let code = errno
        guard code == EEXIST, unsafe unlink(source) == 0 else { throw .notWritten(errno: code) }
    }

    private static func write(
        _ contents: borrowing SecretBytes, to name: String, in folder: borrowing Descriptor
    ) throws(PrivateFileError) {
        let number = unsafe openat(folder.number, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw .notWritten(errno: errno) }
        let file = Descriptor(owning: number)
        guard fchmod(number, 0o600) == 0 else { throw .notWritten(errno: errno) }  // Whatever the umask was.
        var offset = 0
        while offset < contents.count {
            let result = unsafe contents.withUnsafeBytes { bytes in
                unsafe Glibc.write(file.number, bytes.baseAddress! + offset, bytes.count - offset)
            }
            if result < 0 && errno == EINTR { continue }
            guard result > 0 else { throw .notWritten(errno: errno) }
            offset += result
        }
        guard fsync(file.number) == 0 else { throw .notWritten(errno: errno) }
    }
}

/// Why a private file was not read or written.
package enum PrivateFileError: Error, Equatable, Sendable {
    /// There is no such file, or not even the folder.
    case missing
    /// The file exists but cannot be trusted or read.
    case unusable(PrivateFileDefect)
    /// The file was not written: the `errno` of the system call that failed.
    case notWritten(errno: Int32)
}

/// The fault of an existing private file.
public enum PrivateFileDefect: Error, Equatable, Sendable {
    /// A symbolic link, folder, pipe or device.
    case notRegularFile
    /// File or folder belongs to another user.
    case foreignOwner
    /// Group or others have rights to the file, or may write to its folder.
    case permissive
    /// Of a version of the format that this program does not read.
    case unknownVersion
    /// The contents are not those that were written.
    case damaged
    /// A system call failed with this `errno`.
    case systemCall(errno: Int32)
}

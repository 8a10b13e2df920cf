import CLinuxShims
import Foundation
import Glibc
import SecretMemory
import UnixSocket

/// The file `device-secret` in the folder of a store.
struct DeviceSecretFile {
    static let name = "device-secret"

    let directory: String

    /// The secret, after the folder and the file were found to be this user's alone.
    func read() throws(EnclaveError) -> SecretBytes {
        let folder = try openFolder()
        let number = unsafe openat(folder.number, Self.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard number >= 0 else { throw Self.openingError(errno) }
        let file = Descriptor(owning: number)
        try Self.checkFile(file)
        return try DeviceSecretFormat.decode(try Self.contents(of: file))
    }

    /// The secret that is there, or a new one where there is none.
    func readOrCreate() throws(EnclaveError) -> SecretBytes {
        do {
            return try read()
        } catch .deviceSecretMissing {
            try create()
            return try read()
        }
    }

    // MARK: reading

    private func openFolder() throws(EnclaveError) -> Descriptor {
        let number = unsafe open(directory, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW)
        guard number >= 0 else { throw Self.openingError(errno) }
        let folder = Descriptor(owning: number)
        let status = try Self.status(of: folder)
        guard status.st_uid == geteuid() else { throw .deviceSecretUnreadable(.foreignOwner) }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { throw .deviceSecretUnreadable(.permissive) }
        return folder
    }

    private static func openingError(_ code: CInt) -> EnclaveError {
        switch code {
        case ENOENT: .deviceSecretMissing
        case ELOOP, ENOTDIR: .deviceSecretUnreadable(.notRegularFile)
        default: .deviceSecretUnreadable(.systemCall(errno: code))
        }
    }

    private static func checkFile(_ file: borrowing Descriptor) throws(EnclaveError) {
        let status = try status(of: file)
        guard status.st_mode & S_IFMT == S_IFREG else { throw .deviceSecretUnreadable(.notRegularFile) }
        guard status.st_uid == geteuid() else { throw .deviceSecretUnreadable(.foreignOwner) }
        guard status.st_mode & (S_IRWXG | S_IRWXO) == 0 else { throw .deviceSecretUnreadable(.permissive) }
    }

    private static func status(of descriptor: borrowing Descriptor) throws(EnclaveError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor.number, &status) == 0 else {
            throw .deviceSecretUnreadable(.systemCall(errno: errno))
        }
        return status
    }

    /// All bytes of the file, at most one more than the format has.
    private static func contents(of file: borrowing Descriptor) throws(EnclaveError) -> SecretBytes {
        var buffer = SecretBytes(zeroed: DeviceSecretFormat.byteCount + 1)
        var count = 0
        while count < buffer.count {
            let result = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe Glibc.read(file.number, bytes.baseAddress! + count, bytes.count - count)
            }
            if result < 0 && errno == EINTR { continue }
            guard result >= 0 else { throw .deviceSecretUnreadable(.systemCall(errno: errno)) }
            if result == 0 { break }
            count += result
        }
        return buffer.prefix(count)
    }

    // MARK: creating

    /// Writes a new secret beside, makes it durable, and gives it its name unless somebody was faster.
    private func create() throws(EnclaveError) {
        let folder = try openFolder()
        let temporary = "\(Self.name).\(UUID().uuidString)"
        do throws(EnclaveError) {
            let secret = SecretBytes(random: DeviceSecretFormat.secretByteCount)
            try Self.write(DeviceSecretFormat.encode(secret), to: temporary, in: folder)
            try giveName(to: temporary)
        } catch {
            _ = unsafe unlinkat(folder.number, temporary, 0)  // If this fails too, a file stays that nothing ever reads.
            throw error
        }
        guard fsync(folder.number) == 0 else { throw .unavailable(code: UInt32(errno)) }
    }

    private func giveName(to temporary: String) throws(EnclaveError) {
        let source = "\(directory)/\(temporary)"
        let result = unsafe ostiary_rename_exclusive(source, "\(directory)/\(Self.name)")
        if result == 0 { return }
        let code = errno
        guard code == EEXIST, unsafe unlink(source) == 0 else { throw .unavailable(code: UInt32(code)) }
    }

    private static func write(
        _ contents: consuming SecretBytes, to name: String, in folder: borrowing Descriptor
    ) throws(EnclaveError) {
        let number = unsafe openat(folder.number, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw .unavailable(code: UInt32(errno)) }
        let file = Descriptor(owning: number)
        guard fchmod(number, 0o600) == 0 else { throw .unavailable(code: UInt32(errno)) }  // Whatever the umask was.
        var offset = 0
        while offset < contents.count {
            let result = unsafe contents.withUnsafeBytes { bytes in
                unsafe Glibc.write(file.number, bytes.baseAddress! + offset, bytes.count - offset)
            }
            if result < 0 && errno == EINTR { continue }
            guard result > 0 else { throw .unavailable(code: UInt32(errno)) }
            offset += result
        }
        guard fsync(file.number) == 0 else { throw .unavailable(code: UInt32(errno)) }
    }
}

import Crypto
import Foundation
import Glibc
import Synchronization
import UnixSocket

/// Why a program's file cannot be identified.
package enum ProgramFileError: Error, Equatable, Sendable {
    case unreadable
    /// It was written to while it was read.
    case changing
}

/// SHA-256 digests of files. A digest is used again while the file's stamp is unchanged.
package final class ContentDigests: Sendable {
    private static let capacity = 256
    /// Largest file that is looked at.
    private static let byteCount = 1 << 30
    /// A file system's clock ticks every few milliseconds: two changes within a tick look alike, so that a digest is kept only
    /// when the last change is older than this.
    private static let settling: Int128 = 2_000_000_000

    private let digests = Mutex<[FileStamp: Data]>([:])

    /// The digest of what `name` leads to, relative to a folder's handle (`AT_FDCWD` for none).
    func digest(of name: String, in folder: CInt = AT_FDCWD) throws(ProgramFileError) -> Data {
        var status = stat()
        guard unsafe fstatat(folder, name, &status, 0) == 0 else { throw .unreadable }
        if let known = digests.withLock({ $0[FileStamp(status)] }) { return known }
        let file = try NamedFile.open(name, in: folder)
        let before = try Self.status(of: file)
        let digest = try Self.contentDigest(of: file)
        let after = try Self.status(of: file)
        guard FileStamp(before) == FileStamp(after) else { throw .changing }
        remember(digest, FileStamp(after))
        return digest
    }

    private func remember(_ digest: Data, _ key: FileStamp) {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        guard FileStamp.nanoseconds(now) - key.changed > Self.settling else { return }
        digests.withLock { digests in
            if digests.count >= Self.capacity { digests = [:] }
            digests[key] = digest
        }
    }

    private static func status(of file: borrowing Descriptor) throws(ProgramFileError) -> stat {
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= byteCount
        else {
            throw .unreadable
        }
        return status
    }

    private static func contentDigest(of file: borrowing Descriptor) throws(ProgramFileError) -> Data {
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: 256 * 1024)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(file.number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable }
            if count == 0 { return Data(hash.finalize()) }
            unsafe buffer.withUnsafeBytes {
                unsafe hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
        }
    }
}

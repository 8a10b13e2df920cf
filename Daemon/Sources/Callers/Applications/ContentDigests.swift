import Crypto
import Foundation
import Glibc
import ProcessFacts
import Synchronization
import Threading
import UnixSocket

/// Why a program's file cannot be identified.
package enum ProgramFileError: Error, Equatable, Sendable {
    case unreadable
    /// It was written to, or its links or permissions were changed, each time that it was read.
    case changing
    /// It was passed, and lies in a file system whose server may never answer.
    case foreignFileSystem
}

/// SHA-256 digests of files. A file is read once for all threads that ask at the same time.
///
/// A digest is used again while the file's stamp is unchanged, if the stamp shows each later change. A store to a mapped page
/// changes the stamp only when it is the first one to that page, and in some file systems not even then. So a digest is kept
/// only in file systems where the first store does, and only if nobody had the file open for writing, or mapped so, while it
/// was read: a lease of the kernel says that. Any other file is read each time.
package final class ContentDigests: Sendable {
    private static let capacity = 256
    /// Largest file that is looked at.
    private static let byteCount = 1 << 30
    /// A file system's clock ticks every few milliseconds: two changes within a tick look alike, so that a digest is kept only
    /// when the last change is older than this.
    private static let settling: Int128 = 2_000_000_000
    /// How often a file is read again that changed meanwhile. A new link to it, as a backup makes, changes its stamp too.
    private static let readings = 4

    private let digests = Mutex<[FileStamp: Data]>([:])
    private let rounds = SharedRounds<FileStamp, Result<Data, ProgramFileError>>()
    private let willRead: @Sendable () -> Void

    package init() { willRead = {} }

    /// - Parameter willRead: called before a file is read, on the thread that reads it.
    init(willRead: @escaping @Sendable () -> Void) { self.willRead = willRead }

    /// The digest of what `name` leads to, relative to a folder's handle (`AT_FDCWD` for none). Blocks while it reads.
    func digest(of name: String, in folder: CInt = AT_FDCWD) throws(ProgramFileError) -> Data {
        for _ in 0..<Self.readings {
            do { return try present(name, folder) } catch .changing { continue } catch { throw error }
        }
        throw .changing
    }

    /// The digest of an executed file. Blocks while it reads.
    func digest(of content: ExecutedContent) throws(ProgramFileError) -> Data {
        try digest(of: content.name, in: content.folder?.number ?? AT_FDCWD)
    }

    /// The digest of a program's file that was passed. Blocks while it reads.
    func digest(of program: OfferedProgram) throws(ProgramFileError) -> Data {
        guard program.isOfKernel else { throw .foreignFileSystem }
        for _ in 0..<Self.readings {
            do { return try present(program) } catch .changing { continue } catch { throw error }
        }
        throw .changing
    }

    private func present(_ program: OfferedProgram) throws(ProgramFileError) -> Data {
        let stamp = try FileStamp(Self.status(of: program.file.number))
        if let known = program.keptDigest(stamp) { return known }
        let round = rounds.value(for: stamp) { reading(program, stamp) }
        // What another thread read through may not have been open for reading.
        if case .failure(.unreadable) = round.value, !round.isOwn { return try reading(program, stamp).get() }
        let digest = try round.value.get()
        if Self.isSettled(stamp) { program.keep(digest, stamp) }
        return digest
    }

    private func reading(_ program: OfferedProgram, _ stamp: FileStamp) -> Result<Data, ProgramFileError> {
        do throws(ProgramFileError) {
            willRead()
            let digest = try Self.contentDigest(of: program.file.number)
            guard try FileStamp(Self.status(of: program.file.number)) == stamp else { throw .changing }
            return .success(digest)
        } catch { return .failure(error) }
    }

    /// Threads that wait for a reading of the file.
    func waitingCount(at path: String) -> Int {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? rounds.waitingCount(for: FileStamp(status)) : 0
    }

    private func present(_ name: String, _ folder: CInt) throws(ProgramFileError) -> Data {
        var status = stat()
        guard unsafe fstatat(folder, name, &status, 0) == 0 else { throw .unreadable }
        let stamp = FileStamp(status)
        if let known = digests.withLock({ $0[stamp] }) { return known }
        let round = rounds.value(for: stamp) { reading(name, folder, stamp) }
        // Another thread's name may have been closed to that thread, and its process may have ended.
        if case .failure(.unreadable) = round.value, !round.isOwn { return try reading(name, folder, stamp).get() }
        return try round.value.get()
    }

    private func reading(_ name: String, _ folder: CInt, _ stamp: FileStamp) -> Result<Data, ProgramFileError> {
        // The round before this one may have left it.
        if let known = digests.withLock({ $0[stamp] }) { return .success(known) }
        do throws(ProgramFileError) {
            let file = try NamedFile.open(name, in: folder)
            let lease = ReadLease(file)
            willRead()
            guard try FileStamp(Self.status(of: file.number)) == stamp else { throw .changing }
            let digest = try Self.contentDigest(of: file.number)
            guard try FileStamp(Self.status(of: file.number)) == stamp else { throw .changing }
            if lease.end() { remember(digest, stamp) }
            return .success(digest)
        } catch { return .failure(error) }
    }

    private func remember(_ digest: Data, _ key: FileStamp) {
        guard Self.isSettled(key) else { return }
        digests.withLock { digests in
            if digests.count >= Self.capacity { digests = [:] }
            digests[key] = digest
        }
    }

    /// Whether the last change is so old that each later one gives the file another stamp.
    static func isSettled(_ stamp: FileStamp) -> Bool {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return FileStamp.nanoseconds(now) - stamp.changed > settling
    }

    private static func status(of file: CInt) throws(ProgramFileError) -> stat {
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= byteCount
        else {
            throw .unreadable
        }
        return status
    }

    /// Reads at places of its own: who passed the descriptor can move the common one.
    private static func contentDigest(of file: CInt) throws(ProgramFileError) -> Data {
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: 256 * 1024)
        var offset = 0
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe pread(file, $0.baseAddress, $0.count, offset) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable }
            if count == 0 { return Data(hash.finalize()) }
            offset += count
            // The file grew while it was read.
            guard offset <= byteCount else { throw .changing }
            unsafe buffer.withUnsafeBytes {
                unsafe hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
        }
    }
}

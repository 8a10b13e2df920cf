import CLinuxShims
import Glibc
import UnixSocket

/// The file and its system calls. Every record is one `write`; an incomplete write is undone.
struct LogFile: ~Copyable, Sendable {
    /// How much space is reserved at a time, in bytes.
    static let reserveChunk = 256 * 1024

    let source: LogSource
    /// Where the next record goes.
    private(set) var end: Int
    private var reservedEnd: Int
    /// Bytes of a failed write may lie behind ``end``.
    private var needsTruncation = false

    /// A new file (0600) holding `bytes`, on disk; fails if there is one.
    static func create(_ path: String, bytes: [UInt8]) throws(AuditLogError) -> LogFile {
        let number = unsafe Glibc.open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw AuditLogError(errno: errno) }
        var file = LogFile(LogSource(SharedDescriptor(Descriptor(owning: number))), end: 0)
        try unsafe bytes.span.withUnsafeBytes { (bytes) throws(AuditLogError) in try unsafe file.append(bytes) }
        try sync(file.source.descriptor)
        return file
    }

    private init(_ source: LogSource, end: Int) {
        self.source = source
        self.end = end
        reservedEnd = end
    }

    /// The file at `path`, or nil if there is none. Anything but a regular file of the user is damage.
    init?(opening path: String, ownedBy userID: UInt32) throws(AuditLogError) {
        guard let (source, byteCount) = try Self.open(path, O_RDWR | O_APPEND, ownedBy: userID) else { return nil }
        guard fchmod(source.descriptor.number, 0o600) == 0 else { throw AuditLogError(errno: errno) }
        self.init(source, end: byteCount)
    }

    /// Like ``init(opening:ownedBy:)``, for a closed part, which may be write-protected.
    init?(reading path: String, ownedBy userID: UInt32) throws(AuditLogError) {
        guard let (source, byteCount) = try Self.open(path, O_RDONLY, ownedBy: userID) else { return nil }
        self.init(source, end: byteCount)
    }

    private static func open(
        _ path: String, _ mode: CInt, ownedBy userID: UInt32
    ) throws(AuditLogError) -> (LogSource, byteCount: Int)? {
        let number = unsafe Glibc.open(path, mode | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        if number < 0 && errno == ENOENT { return nil }
        if number < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO) { throw .damaged }
        guard number >= 0 else { throw AuditLogError(errno: errno) }
        let descriptor = SharedDescriptor(Descriptor(owning: number))
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { throw AuditLogError(errno: errno) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == userID, status.st_nlink == 1 else {
            throw .damaged
        }
        return (LogSource(descriptor), Int(status.st_size))
    }

    /// Appends a sealed record with one `write`. If that fails, the file keeps its former end.
    mutating func append(_ record: borrowing RecordBuffer) throws(AuditLogError) {
        try unsafe record.withRecord { (bytes) throws(AuditLogError) in try unsafe append(bytes) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) throws(AuditLogError) {
        if needsTruncation { try truncate(to: end) }
        try reserve(bytes.count)
        let written = unsafe write(source.descriptor.number, bytes.baseAddress, bytes.count)
        let code = errno
        if written == bytes.count {
            end += written
            return
        }
        if written > 0 {
            needsTruncation = true
            // If this fails too, the next append tries it again, and opening the log cuts a torn record as well.
            if ftruncate(source.descriptor.number, off_t(end)) == 0 { needsTruncation = false }
        }
        throw written < 0 ? AuditLogError(errno: code) : .diskFull
    }

    /// Cuts the file.
    mutating func truncate(to newEnd: Int) throws(AuditLogError) {
        guard ftruncate(source.descriptor.number, off_t(newEnd)) == 0 else { throw AuditLogError(errno: errno) }
        needsTruncation = false
        end = newEnd
        reservedEnd = newEnd
    }

    /// Waits until everything written so far is on disk.
    static func sync(_ descriptor: SharedDescriptor) throws(AuditLogError) {
        guard fdatasync(descriptor.number) == 0 else { throw .notDurable }
    }

    /// Reserves space ahead, so that a full disk is met here and not in the middle of a record.
    private mutating func reserve(_ byteCount: Int) throws(AuditLogError) {
        guard end + byteCount > reservedEnd else { return }
        for length in [max(Self.reserveChunk, byteCount), byteCount] {
            if ostiary_reserve(source.descriptor.number, Int64(end), Int64(length)) == 0 {
                reservedEnd = end + length
                return
            }
            // This file system cannot reserve space. The write itself will report a full disk.
            guard errno == ENOSPC || errno == EDQUOT else { return }
        }
        throw .diskFull
    }
}

extension AuditLogError {
    init(errno code: CInt) {
        self = code == ENOSPC || code == EDQUOT ? .diskFull : .io(code: code)
    }
}

import ArgumentParser
import Foundation
import Glibc
import SecretMemory
import UnixSocket

/// A file argument that is read; `-` is standard input.
struct InputFile: ExpressibleByArgument, Equatable {
    private static let chunkByteCount = 1 << 20
    private let path: String

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        path = argument
    }

    private init(path: String) { self.path = path }

    static let standardInput = InputFile(path: "-")

    static var defaultCompletionKind: CompletionKind { .file() }

    var isStandardInput: Bool { path == "-" }

    /// For messages.
    var name: String { isStandardInput ? "standard input" : path }

    /// Nil if there is no such file, or no regular one.
    var identity: FileIdentity? {
        isStandardInput ? FileIdentity(descriptor: STDIN_FILENO) : FileIdentity(path: path)
    }

    /// The file's name for prompts. It leaves out the folders, which tell more about the person than about the file.
    var shortName: String { isStandardInput ? name : PathName.last(of: path) }

    /// Lends the content piece by piece; memory does not grow with the file. Shows progress on a terminal.
    func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        let file = try open()
        var progress = ProgressLine("Reading", total: byteCount(of: file.number))
        var buffer = [UInt8](repeating: 0, count: Self.chunkByteCount)
        var done = 0
        while true {
            let count = try unsafe buffer.withUnsafeMutableBytes { bytes in
                let count = try unsafe read(file.number, into: bytes)
                try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                return count
            }
            if count == 0 { return }
            done += count
            progress.update(done)
        }
    }

    /// The content, read straight into a secret.
    ///
    /// - Throws: ``CommandError/inputTooLarge(name:limit:)`` when there are more than `limit` bytes.
    func secretBytes(limit: Int) throws -> SecretBytes {
        let file = try open()
        var secret = SecretBytes(zeroed: limit + 1)
        let count = try unsafe secret.withUnsafeMutableBytes { (buffer) throws in
            var filled = 0
            while filled < buffer.count {
                let count = try unsafe read(
                    file.number, into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
                if count == 0 { break }
                filled += count
            }
            return filled
        }
        guard count <= limit else { throw CommandError.inputTooLarge(name: name, limit: limit) }
        return secret.prefix(count)
    }

    /// The content of a file that needs no secrecy.
    func data(limit: Int) throws -> Data {
        Data(exposing: try secretBytes(limit: limit))
    }

    private func open() throws(CommandError) -> Descriptor {
        do {
            if isStandardInput {
                return try Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), from: "fcntl", subject: name)
            }
            return try Descriptor(
                unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), from: "open", subject: path)
        } catch { throw .unreadableInput(error) }
    }

    private func read(_ number: CInt, into buffer: UnsafeMutableRawBufferPointer) throws(CommandError) -> Int {
        do {
            return try unsafe StreamDescriptor(number: number).read(into: buffer, subject: name)
        } catch { throw .unreadableInput(error) }
    }

    /// Nil for pipes and devices, which have no size beforehand.
    private func byteCount(of number: CInt) -> Int? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_size
    }
}

/// Which regular file a name leads to: two names of one file have the same identity.
struct FileIdentity: Hashable {
    private let device: dev_t
    private let inode: ino_t

    /// Nil if the path leads to no regular file, which cannot be lost by being overwritten.
    init?(path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: CInt) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init?(_ status: stat) {
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        (device, inode) = (status.st_dev, status.st_ino)
    }
}

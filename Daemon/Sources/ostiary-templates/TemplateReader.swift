import Crypto
import Glibc
import TemplateAnswers
import UnixSocket

/// Reads a user's folder in a fixed order and computes the digest, see `Documentation/formats/enrolled-templates.md`.
struct TemplateReader {
    private var code: HMAC<SHA256>
    private var fileCount = 0
    private var entryCount = 0
    private var byteCount = 0

    init(_ key: SymmetricKey) {
        code = HMAC(key: key)
        code.update(data: Array("ostiary.enrolled-templates.v1".utf8))
    }

    var answer: TemplateAnswer { fileCount == 0 ? .none : .enrolled(Array(code.finalize())) }

    /// Reads all templates below an open folder.
    mutating func read(
        _ folder: borrowing Descriptor, _ changes: FolderChanges, path: [UInt8] = [], depth: Int = 0
    ) throws(ReadFailure) {
        try changes.noting(folder.number)
        for name in try names(in: folder) {
            let path = path + [UInt8(ascii: "/")] + Array(name.utf8)
            if depth < HelperLimits.folderDepth {
                guard let entry = try OpenEntry.folder(folder.number, name) else { continue }
                try read(entry, changes, path: path, depth: depth + 1)
            } else {
                guard let entry = try OpenEntry.file(folder.number, name) else { continue }
                let contents = try contents(of: entry)
                update(path)
                update(contents)
                fileCount += 1
            }
        }
    }

    /// The names of the entries, sorted by their bytes.
    private mutating func names(in folder: borrowing Descriptor) throws(ReadFailure) -> [String] {
        let number = fcntl(folder.number, F_DUPFD_CLOEXEC, 3)
        guard number >= 0, let stream = unsafe fdopendir(number) else {
            if number >= 0 { close(number) }
            throw .unreadable
        }
        defer { unsafe closedir(stream) }
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe Array(bytes.prefix { $0 != 0 })
            }
            guard name != Array(".".utf8), name != Array("..".utf8) else { continue }
            entryCount += 1
            guard entryCount <= HelperLimits.entryCount else { throw .unreadable }
            names.append(name)
        }
        guard errno == 0 else { throw .unreadable }
        var texts: [String] = []
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            // fprintd's names are ASCII.
            guard let text = String(validating: name, as: UTF8.self) else { throw .unreadable }
            texts.append(text)
        }
        return texts
    }

    private mutating func contents(of file: borrowing Descriptor) throws(ReadFailure) -> [UInt8] {
        var contents: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe Glibc.read(file.number, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable }
            if count == 0 { return contents }
            byteCount += count
            contents += part[..<count]
            guard contents.count <= HelperLimits.fileByteCount, byteCount <= HelperLimits.totalByteCount else {
                throw .unreadable
            }
        }
    }

    /// Digests length and bytes, so that two different lists of files never give the same input.
    private mutating func update(_ bytes: [UInt8]) {
        let count = UInt32(bytes.count)
        code.update(data: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) })
        code.update(data: bytes)
    }
}

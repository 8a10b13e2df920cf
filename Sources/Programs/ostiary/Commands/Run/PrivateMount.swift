import Foundation
import Glibc
import UnixSocket

/// The place of the mount that holds a command's secrets. The command and its children see their files there, and everybody else an empty
/// folder.
struct PrivateMount {
    let folder: String

    /// Makes the folder, for this user alone.
    init() throws(CommandError) {
        let place = Self.place
        var template = Array((place + "/ostiary-run-XXXXXX").utf8CString)
        guard unsafe template.withUnsafeMutableBufferPointer({ unsafe mkdtemp($0.baseAddress!) }) != nil else {
            throw .privateMount(SystemCallError("mkdtemp", subject: place))
        }
        folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static var place: String {
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        return PathName.isAbsolute(runtime) ? runtime : FileManager.default.temporaryDirectory.path
    }

    func path(of name: String) -> String { folder + "/" + name }

    /// Removes the folder. What is mounted there for others ends with the last process that sees it.
    func remove() { unsafe rmdir(folder) }
}

/// The files of a private mount, open for writing.
struct MountedSecrets: ~Copyable {
    private var files: [SharedDescriptor] = []

    mutating func add(_ file: consuming Descriptor) { files.append(SharedDescriptor(file)) }

    var count: Int { files.count }

    /// Overwrites each with zeros and makes it empty: a process that outlives the command finds nothing.
    func wipe() {
        let zeros = [UInt8](repeating: 0, count: 4096)
        for file in files {
            var status = stat()
            guard unsafe fstat(file.number, &status) == 0 else { continue }
            var offset = 0
            while offset < status.st_size {
                let count = unsafe pwrite(file.number, zeros, min(zeros.count, Int(status.st_size) - offset), offset)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                offset += count
            }
            ftruncate(file.number, 0)
        }
    }
}

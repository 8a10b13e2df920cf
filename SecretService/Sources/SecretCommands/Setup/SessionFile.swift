import Foundation
import Glibc
import SecretItems
import UnixSocket

/// A file of the person's session that `enable` writes, and whose place `disable` gives back.
///
/// A file that is there already is kept beside it. Both steps end with a rename, so an interruption leaves either state, and the same
/// command run again goes on.
struct SessionFile {
    /// The first line tells files of this command from others.
    static let mark = "# Written by `ostiary secrets enable`; `ostiary secrets disable` takes it away."
    /// Neither the bus nor a desktop reads files with such an ending.
    private static let ending = ".before-ostiary"

    enum State: Equatable {
        case absent, ours
        /// Of somebody else, or no file.
        case foreign
    }

    let path: String
    /// What it says, below the first line.
    let lines: [String]

    private var keptPath: String { path + Self.ending }
    private var text: String { ([Self.mark] + lines).joined(separator: "\n") + "\n" }

    func state() throws(SecretsFailure) -> State {
        guard let entry = try Entry(path) else { return .absent }
        guard entry.isFile else { return .foreign }
        return try Self.beginning(of: path).starts(with: (Self.mark + "\n").utf8) ? .ours : .foreign
    }

    // MARK: enable

    /// Puts the file there; returns what was done, in a sentence.
    func place() throws(SecretsFailure) -> String {
        let state = try state()
        if state == .ours {
            let present = try Self.beginning(of: path)
            if present.elementsEqual(text.utf8) { return "\(path) is as it should be." }
        }
        if state == .foreign { try keep() }
        try write()
        guard state == .foreign else { return "Wrote \(path)." }
        return "Wrote \(path). What was there is kept as \(keptPath), and `ostiary secrets disable` gives it back."
    }

    private func keep() throws(SecretsFailure) {
        if let kept = try Entry(keptPath) {
            // An interrupted run gave the file its second name.
            guard try Entry(path) != kept else { return }
            throw .setup(
                "\(path) is not of this command, and \(keptPath) keeps a former one already. Nothing was changed there: move one of "
                    + "them away, and run the command again.")
        }
        if unsafe link(path, keptPath) == 0 { return }
        // Some file systems have no second names, and folders never have.
        guard [EPERM, ENOSYS, EOPNOTSUPP].contains(errno), unsafe rename(path, keptPath) == 0 else {
            throw .unwritable(SystemCallError("link", subject: keptPath))
        }
    }

    private func write() throws(SecretsFailure) {
        let folder = PathName.folder(of: path)
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw .setup("The folder \(folder.quotedName) cannot be made (\(error)).") }
        let temporary = folder + "/.ostiary-" + String(UInt64.random(in: .min ... .max), radix: 36)
        do throws(SystemCallError) {
            try write(to: temporary)
            guard unsafe rename(temporary, path) == 0 else { throw SystemCallError("rename", subject: path) }
        } catch {
            unsafe unlink(temporary)
            throw .unwritable(error)
        }
    }

    private func write(to temporary: String) throws(SystemCallError) {
        let file = try Descriptor(
            unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644), from: "open",
            subject: path)
        let number = file.number
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
            guard count > 0 else {
                guard count < 0, errno == EINTR else { throw SystemCallError("write", subject: path) }
                continue
            }
            rest = rest.dropFirst(count)
        }
        // Whatever the umask is.
        guard fchmod(file.number, 0o644) == 0, fsync(file.number) == 0 else {
            throw SystemCallError("fsync", subject: path)
        }
    }

    // MARK: disable

    /// Takes the file away, and gives its place back; returns what was done, nil for nothing.
    func withdraw() throws(SecretsFailure) -> String? {
        let (state, kept) = (try state(), try Entry(keptPath))
        guard let kept else {
            guard state == .ours else { return nil }
            guard unsafe unlink(path) == 0 else { throw .unwritable(SystemCallError("unlink", subject: path)) }
            return "Removed \(path)."
        }
        guard state == .foreign else {
            let back = "\(path) is again what it was before."
            if unsafe rename(keptPath, path) == 0 { return back }
            // A folder takes the place of no file, so the file goes first.
            guard errno == ENOTDIR, unsafe unlink(path) == 0, unsafe rename(keptPath, path) == 0 else {
                throw .unwritable(SystemCallError("rename", subject: path))
            }
            return back
        }
        guard try Entry(path) != kept else {
            // An interrupted run gave the file a second name, and wrote nothing.
            unsafe unlink(keptPath)
            return nil
        }
        return "\(path) is not of this command any more, and stays. What was there before lies in \(keptPath)."
    }

    // MARK: what is there

    /// What a path leads to, without following a link.
    private struct Entry: Equatable {
        private let device: dev_t
        private let number: ino_t
        let isFile: Bool

        /// Nil if there is nothing.
        init?(_ path: String) throws(SecretsFailure) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else {
                guard errno == ENOENT else { throw .unreadable(SystemCallError("lstat", subject: path)) }
                return nil
            }
            (device, number, isFile) = (status.st_dev, status.st_ino, status.st_mode & S_IFMT == S_IFREG)
        }
    }

    /// More than any file of ours has.
    private static let byteCount = 64 * 1024

    private static func beginning(of path: String) throws(SecretsFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count: Int
        do throws(SystemCallError) {
            let file = try Descriptor(
                unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), from: "open", subject: path)
            let number = file.number
            count = unsafe bytes.withUnsafeMutableBytes { unsafe read(number, $0.baseAddress, $0.count) }
            guard count >= 0 else { throw SystemCallError("read", subject: path) }
        } catch { throw .unreadable(error) }
        return Array(bytes.prefix(count))
    }
}

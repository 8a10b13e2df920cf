import Glibc
import UnixSocket

/// The administrator's choice for all programs of the machine, in `/etc/ostiary/client.conf`: lines `mode = user` or
/// `mode = system`; `#` begins a comment. Without the file the mode is `user`.
package struct ClientConfiguration: Equatable {
    enum Mode: String { case user, system }

    package static let path = "/etc/ostiary/client.conf"
    var mode: Mode = .user

    /// - Parameter administrator: the only user who may be able to write the file.
    static func load(
        from path: String = path, administrator: UInt32 = 0
    ) throws(OstiaryError) -> ClientConfiguration {
        let file: SharedDescriptor
        do throws(SystemCallError) {
            // A pipe in the file's place must not stop every program of the machine.
            let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            file = SharedDescriptor(try Descriptor(opened, from: "open", subject: path))
        } catch {
            guard error.code == ENOENT, isAbsent(path) else { throw unreadable(path) }
            return ClientConfiguration()
        }
        return try ClientConfiguration(parsing: text(of: file, path, administrator), path: path)
    }

    /// Whether nothing has the name. A link to nothing is a configuration that cannot be read.
    private static func isAbsent(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) != 0 && errno == ENOENT
    }

    private static func text(
        of file: SharedDescriptor, _ path: String, _ administrator: UInt32
    ) throws(OstiaryError) -> String {
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw unreadable(path)
        }
        guard status.st_uid == administrator, status.st_mode & 0o022 == 0 else {
            throw OstiaryError(
                .invalidConfiguration,
                "Other users than root can change \(path), so no daemon is used. Make root its owner, and remove write "
                    + "access for group and others.")
        }
        guard let bytes = allBytes(of: file), let text = String(validating: bytes, as: UTF8.self) else {
            throw unreadable(path)
        }
        return text
    }

    /// Nil when it cannot be read. Foundation's `FileHandle` would load Foundation and ICU into each program that asks Ostiary.
    private static func allBytes(of file: SharedDescriptor) -> [UInt8]? {
        var (bytes, part): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 4096))
        while true {
            let count = unsafe read(file.number, &part, part.count)
            if count == 0 { return bytes }
            if count < 0, errno != EINTR { return nil }
            bytes += part.prefix(max(0, count))
        }
    }

    /// Unreadable is not absent: the file may say `system`, and a user's daemon would then be a downgrade.
    private static func unreadable(_ path: String) -> OstiaryError {
        OstiaryError(.invalidConfiguration, "\(path) exists but cannot be read; make it readable or remove it.")
    }

    init() {}

    init(parsing text: String, path: String = path) throws(OstiaryError) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.prefix { $0 != "#" }.withoutOuterBlanks
            if content.isEmpty { continue }
            let parts = content.split(separator: "=", maxSplits: 1).map(\.withoutOuterBlanks)
            guard parts.count == 2, parts[0] == "mode", let mode = Mode(rawValue: parts[1]) else {
                throw OstiaryError(
                    .invalidConfiguration, "\(path), line \(index + 1): expected `mode = user` or `mode = system`.")
            }
            self.mode = mode
        }
    }
}

extension StringProtocol {
    /// The text without blanks and line ends before and behind it.
    var withoutOuterBlanks: String {
        let kept = drop(while: \.isWhitespace)
        guard let last = kept.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(kept[...last])
    }
}

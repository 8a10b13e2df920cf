package import DoorSupport
import Glibc
package import OstiaryClient
import UnixSocket

/// Which unit gets which item under which credential's id: lines of `UNIT CREDENTIAL = ITEM`, empty lines, and comments that begin with
/// `#`. Strict: one wrong line, and no unit gets anything. Nothing is a pattern.
package struct CredentialRules: Sendable {
    private let items: [UnitRequest: ItemReference]
    private let path: String

    /// More than a thousand rules.
    private static let byteCount = 64 * 1024

    /// The usual file: `/etc/ostiary/credentials.conf` of root, `ostiary/credentials.conf` in the configuration folder of others.
    package static func usualPath() throws(DoorFailure) -> String {
        guard geteuid() != 0 else { return "/etc/ostiary/credentials.conf" }
        if let folder = unsafe getenv("XDG_CONFIG_HOME").map({ unsafe String(cString: $0) }),
            PathName.isAbsolute(folder)
        {
            return folder + "/ostiary/credentials.conf"
        }
        guard let entry = unsafe getpwuid(geteuid()), let home = unsafe entry.pointee.pw_dir else {
            throw .rulesUnusable(
                "This user has no home folder, so there is no place for rules. Name a file with --rules.")
        }
        return unsafe String(cString: home) + "/.config/ostiary/credentials.conf"
    }

    /// The item that a unit gets.
    ///
    /// - Throws: `noRule`.
    package func item(for request: UnitRequest) throws(DoorFailure) -> ItemReference {
        guard let item = items[request] else { throw .noRule(request, path) }
        return item
    }

    package var count: Int { items.count }

    // MARK: the file

    /// Reads a file that belongs to this user or root, and that nobody else can write.
    ///
    /// - Throws: `rulesAbsent`, `rulesUnusable`.
    package init(at path: String) throws(DoorFailure) {
        try self.init(parsing: try Self.bytes(at: path), path: path)
    }

    private static func bytes(at path: String) throws(DoorFailure) -> [UInt8] {
        // A pipe in the file's place must not hold up all units.
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard number >= 0 else {
            if errno == ENOENT { throw .rulesAbsent(path) }
            throw unreadable(SystemCallError("open", subject: path))
        }
        let file = Descriptor(owning: number)
        var status = stat()
        guard unsafe fstat(file.number, &status) == 0 else { throw unreadable(SystemCallError("fstat", subject: path)) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .rulesUnusable("\(path) is not a file. Remove it, and write the rules into a file.")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw .rulesUnusable(
                "\(path) can be written by others, who could give any unit any secret. Make it yours alone (chmod go-w)."
            )
        }
        return try contents(of: file, path)
    }

    private static func contents(of file: borrowing Descriptor, _ path: String) throws(DoorFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount + 1)
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe read(file.number, $0.baseAddress! + filled, $0.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(SystemCallError("read", subject: path)) }
            if count == 0 { break }
            filled += count
        }
        return Array(bytes[..<filled])
    }

    private static func unreadable(_ error: SystemCallError) -> DoorFailure {
        .rulesUnusable("The rules are there, but cannot be read (\(error)). Make them readable.")
    }

    // MARK: the lines

    /// - Parameter path: for the words of failures.
    package init(parsing bytes: [UInt8], path: String) throws(DoorFailure) {
        guard bytes.count <= Self.byteCount else {
            throw .rulesUnusable("\(path) has more than \(Self.byteCount) bytes. Make it shorter.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .rulesUnusable("\(path) is not text in UTF-8. Correct it.")
        }
        var items: [UnitRequest: ItemReference] = [:]
        for (index, line) in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            func wrong(_ reason: String) -> DoorFailure { .rulesUnusable("\(path), line \(index + 1): \(reason)") }
            let trimmed = Self.trimmed(line)
            if trimmed.isEmpty || trimmed.first == "#" { continue }
            guard let (request, item) = Self.rule(trimmed) else {
                throw wrong("expected `UNIT CREDENTIAL = ITEM`, such as `backup.service key = backup`.")
            }
            guard items.updateValue(item, forKey: request) == nil else {
                throw wrong("\(request.unit) has a rule for \(request.credential) already. Remove one of them.")
            }
        }
        (self.items, self.path) = (items, path)
    }

    private typealias Scalars = Substring.UnicodeScalarView

    private static func rule(_ line: Scalars) -> (UnitRequest, ItemReference)? {
        // A control character belongs to no name, and could hide a part of a line from whoever reads it.
        guard let mark = line.firstIndex(of: "="),
            line.allSatisfy({ $0 == "\t" || $0.properties.generalCategory != .control })
        else { return nil }
        let names = line[..<mark].split { $0 == " " || $0 == "\t" }.map { String($0) }
        guard names.count == 2, let item = ItemReference(String(trimmed(line[line.index(after: mark)...]))) else {
            return nil
        }
        do { return (try UnitRequest(unit: names[0], credential: names[1]), item) } catch { return nil }
    }

    private static func trimmed(_ text: Scalars) -> Scalars {
        func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }
        guard let begin = text.firstIndex(where: { !isBlank($0) }), let end = text.lastIndex(where: { !isBlank($0) })
        else {
            return text[text.endIndex...]
        }
        return text[begin...end]
    }
}

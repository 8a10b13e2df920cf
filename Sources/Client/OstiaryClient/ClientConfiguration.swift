import Foundation

/// The administrator's choice for all programs of the machine, in `/etc/ostiary/client.conf`: lines `mode = user` or
/// `mode = system`; `#` begins a comment. Without the file the mode is `user`.
struct ClientConfiguration: Equatable {
    enum Mode: String { case user, system }

    static let path = "/etc/ostiary/client.conf"
    var mode: Mode = .user

    static func load(from path: String = path) throws(OstiaryError) -> ClientConfiguration {
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch CocoaError.fileReadNoSuchFile {
            return ClientConfiguration()
        } catch {
            // Unreadable is not absent: the file may say `system`, and a user's daemon would then be a downgrade.
            throw OstiaryError(
                .invalidConfiguration, "\(path) exists but cannot be read; make it readable or remove it.")
        }
        return try ClientConfiguration(parsing: text, path: path)
    }

    init() {}

    init(parsing text: String, path: String = path) throws(OstiaryError) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
            if content.isEmpty { continue }
            let parts = content.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, parts[0] == "mode", let mode = Mode(rawValue: parts[1]) else {
                throw OstiaryError(
                    .invalidConfiguration, "\(path), line \(index + 1): expected `mode = user` or `mode = system`.")
            }
            self.mode = mode
        }
    }

    /// Throws when the configuration asks for the system's daemon. A user's daemon never takes its place.
    func requireUserMode() throws(OstiaryError) {
        guard mode == .user else {
            throw OstiaryError(
                .daemonUnavailable,
                "\(Self.path) asks for the system daemon, which this version does not have. No other daemon is used "
                    + "instead; the administrator can write `mode = user` there.")
        }
    }
}

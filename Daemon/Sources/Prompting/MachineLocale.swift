import Settings
import UnixSocket

/// The language of the machine, for questions to users whose session the daemon may not ask.
enum MachineLocale {
    /// systemd's file (locale.conf(5)), and Debian's.
    private static let paths = ["/etc/locale.conf", "/etc/default/locale"]

    /// The variables of the first file that is there and can be read; empty without one.
    static func variables(in paths: [String] = Self.paths) -> [String: String] {
        for path in paths {
            guard let text = try? ConfigurationFile.text(path, userID: 0) else { continue }
            return variables(of: text)
        }
        return [:]
    }

    /// Lines `NAME=VALUE`, the value in quotation marks or without.
    static func variables(of text: String) -> [String: String] {
        var variables: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let value = parts[1].filter { $0 != "\"" && $0 != "'" }
            if !value.isEmpty { variables[String(parts[0])] = String(value) }
        }
        return variables
    }
}

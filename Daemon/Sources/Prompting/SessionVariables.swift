import MessageBus
import PromptProtocol

/// The environment that systemd's user manager gives its services (org.freedesktop.systemd1(5)). The desktop puts its display
/// there, and the session its locale.
enum SessionVariables {
    /// The variables by their names. Empty without a user manager.
    ///
    /// - Parameters:
    ///   - userID: the user who is asked. A bus of another user would tell that user's variables.
    ///   - path: the socket of the user's bus.
    static func of(_ userID: UInt32, at path: String) -> [String: String] {
        var variables: [String: String] = [:]
        do throws(BusError) {
            guard let bus = try Bus(ofUserOrRoot: userID, at: path) else { return [:] }
            let answer = try bus.call(
                "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.DBus.Properties", "Get",
                "org.freedesktop.systemd1.Manager", "Environment")
            guard try answer.enter(.variant, "as") else { return [:] }
            try answer.readArray(of: "s") { () throws(BusError) in
                let parts = try answer.readText().split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2, !parts[1].isEmpty { variables[String(parts[0])] = String(parts[1]) }
            }
        } catch { return [:] }
        return variables
    }
}

extension SheetLanguage {
    /// The language that the variables of a session ask for, as gettext reads them (gettext's manual, "The LANGUAGE
    /// variable"). English if there is none, or if the sheet does not speak it.
    init(ofSession variables: [String: String]) {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { variables[$0] }.first ?? "C"
        let isPlain = ["C", "POSIX"].contains(locale.prefix { $0 != "." })
        let wished = isPlain ? [] : (variables["LANGUAGE"] ?? "").split(separator: ":").map(String.init)
        self = (wished + [locale]).lazy.compactMap { SheetLanguage(locale: $0) }.first ?? .english
    }
}

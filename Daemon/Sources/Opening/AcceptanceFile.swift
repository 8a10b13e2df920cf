import Settings

/// Root's file that takes one copy of the machine's store for the newest one. Nobody who starts the daemon of the machine can speak for all
/// its users, and no passcode of one of them does.
///
/// The file holds the line that a refused start has named (``StoreRollback/acceptanceLine(for:in:)``). The daemon never changes the
/// file: the line serves once, because the counter moves on.
package struct AcceptanceFile: Sendable {
    private let path: String
    /// To whom the file must belong if not to root.
    private let userID: UInt32

    package init(path: String, ownedBy userID: UInt32) { (self.path, self.userID) = (path, userID) }

    /// Whether the file holds this line, and nothing else.
    func holds(_ line: String) throws(BrokerOpeningError) -> Bool {
        do throws(ConfigurationError) {
            guard let text = try ConfigurationFile.text(path, userID: userID) else { return false }
            return text == line || text == line + "\n"
        } catch {
            throw .store(
                "The file \(path), which accepts an older copy of the store, cannot be used: \(error). Correct or remove it, and start "
                    + "again. Nothing was changed.")
        }
    }

    /// The advice for a copy that is not accepted.
    func advice(_ line: String) -> String {
        "Put the newest copy in its place. If there is none, root accepts this copy: `echo \(line) | sudo tee \(path)`, then `sudo "
            + "systemctl restart ostiaryd.service`. The line is for this copy and until the machine restarts, and serves once. Later changes "
            + "of all users are lost."
    }

    /// The advice of a daemon that serves.
    package var advice: String {
        "Put the newest copy in its place. If there is none, restart the daemon: `journalctl -u ostiaryd.service` then names the line in "
            + "\(path) with which root accepts this copy. Later changes of all users are lost."
    }
}

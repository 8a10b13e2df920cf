package import Logging
package import Vault

/// Wipes what a committed change replaced or removed from the store's journal.
///
/// The change stands whether or not this succeeds, so a failure (another process reads the database) is no reason to report
/// the change as failed: it is logged, and the next change and the next start erase it as well; after a full disk, whatever
/// is written when there is room.
package struct JournalEraser {
    package let vault: Vault
    package let log: Logger

    package init(vault: Vault, log: Logger) {
        self.vault = vault
        self.log = log
    }

    package func erase() {
        do { try vault.compactAfterSecretsChanged() } catch {
            log.warning("old wraps lie in the store's journal until it can be emptied", metadata: ["cause": "\(error)"])
        }
    }
}

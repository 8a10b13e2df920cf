package import AuditLog
package import Owners
import Vault

extension OpenedStore {
    /// The records of the log that an account's owner may read, count and verify.
    ///
    /// A daemon that serves one person starts and stops for this person, who therefore sees the daemon's records too.
    package func logAudience(of account: OwnerAccount) -> LogAudience {
        let owner = account.id.ownerID
        return configuration.serves.sole == nil ? .owner(owner) : .ownerAndDaemon(owner)
    }
}

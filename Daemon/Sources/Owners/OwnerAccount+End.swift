import Auditing
import Authenticators
import OwnerKeys
import ProtectedObjects
import SessionLocks
import Synchronization

extension OwnerAccount {
    /// Ends the account: nobody is served by it any more. A lock that comes meanwhile finds no keys. Looks at the owner's
    /// environment end with the last reference to the account.
    package func end() {
        forgetProofs()
        stopFollowing()
    }

    /// Wipes the keys. Waits for nothing, so it comes first.
    package func forgetProofs() {
        ring.wipe()
        recentBiometry.forget()
        leases.endAll(because: .accountEnded)
    }

    /// Stops following events, and writes the records that are held back. May wait some seconds until biometry has stored its state.
    func stopFollowing() {
        sessionLocks.withLock { $0 }?.stop()
        biometry?.stop()
        trail.writeFolded()
    }
}

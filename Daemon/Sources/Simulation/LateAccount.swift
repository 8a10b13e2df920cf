import Broker
import Owners
import Synchronization

/// The account of a broker that is made after the person who is asked by it.
final class LateAccount: Sendable {
    private struct Held: Sendable { weak var account: OwnerAccount? }
    private let held = Mutex(Held())

    func set(_ account: OwnerAccount) { held.withLock { $0.account = account } }

    /// Has the daemon notice what became of the reader.
    func look() { _ = held.withLock { $0.account }?.biometryState() }
}

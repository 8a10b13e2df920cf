import Synchronization

/// The keys that questions of this daemon use now. A key does one thing at a time, and a touch is meant for one question: so a
/// second question waits until the first one lets the key go.
final class KeyTurns: Sendable {
    private let taken = Mutex<Set<SecurityKeyPort>>([])

    /// False when another question uses the key.
    func take(_ port: SecurityKeyPort) -> Bool { taken.withLock { $0.insert(port).inserted } }

    func giveBack(_ port: SecurityKeyPort) { taken.withLock { _ = $0.remove(port) } }
}

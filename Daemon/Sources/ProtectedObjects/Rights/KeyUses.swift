import Foundation
import Synchronization
package import Vault

/// When keys were used last, as far as this daemon saw it: what the owner is told of keys that no item refers to. The store
/// does not know, since a use would then cost a write.
package final class KeyUses: Sendable {
    private struct Contents {
        var since: Double
        var lastUses: [VaultID: Double] = [:]
    }

    /// Entries, at 40 bytes each. A program could use and remove keys in a loop.
    private static let limit = 500_000

    private let contents: Mutex<Contents>

    package init() { contents = Mutex(Contents(since: Date().timeIntervalSince1970)) }

    /// Every use since then is known. Seconds since 1970, as all times here.
    package var knownSince: Double { contents.withLock { $0.since } }

    package func note(_ id: VaultID) {
        let now = Date().timeIntervalSince1970
        contents.withLock { contents in
            if contents.lastUses.count >= Self.limit, contents.lastUses[id] == nil {
                contents.lastUses = [:]
                contents.since = now
            }
            contents.lastUses[id] = now
        }
    }

    /// Nil when no use is known.
    package func lastUse(of id: VaultID) -> Double? { contents.withLock { $0.lastUses[id] } }

    package func forget(_ id: VaultID) { contents.withLock { $0.lastUses[id] = nil } }
}

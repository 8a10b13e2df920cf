import OstiaryMessages
package import Refusals
import Synchronization
package import Vault

/// Objects that are authorized under a lease. Their secrets stay in the ``LeaseTable``, which decides about each use.
extension EvaluationContext {
    /// Notes that an object was authorized under a lease, unless grants were ended since `era`.
    package func grantUnderLease(_ object: VaultID, since era: Era) throws(Refusal) {
        let hasRoom = contents.withLock {
            $0.leased.count < ContextLimits.meterCount || $0.leased[object] != nil
        }
        guard hasRoom else { throw Refusal(.tooMany, "The context holds too many objects of leases; use a new one.") }
        let place = try place(for: LimitedSubject(.object(object), nil))
        try add(since: era) { contents in
            contents.leased[object] = place
            return nil
        }
    }

    /// Whether the object is to be used under a lease: it was authorized so, and nothing has ended that. A grant of the context's own for
    /// this use comes first.
    package func isLeased(_ object: VaultID, for use: GrantPurpose) -> Bool {
        contents.withLock { $0.leased[object] != nil && $0.rights[object]?.serves(use) != true }
    }

    func endLeased(_ objects: Set<VaultID>) {
        let hasEnded = contents.withLock { contents in
            let count = contents.leased.count
            for object in objects { contents.leased[object] = nil }
            return contents.leased.count < count
        }
        if hasEnded { ended([]) }
    }
}

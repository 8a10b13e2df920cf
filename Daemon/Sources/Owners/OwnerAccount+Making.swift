package import KeySlots
import OwnerKeys
package import ProtectedObjects
package import Vault

extension OwnerAccount {
    /// Makes key and slots of an object. The enclave may take long, so nobody waits for a lock meanwhile.
    ///
    /// - Returns: also what the slots are wrapped to: all public halves of a moment when no keys changed. Store the record only while
    ///   they are still the same.
    package func prepare(
        _ draft: borrowing RightStore.Draft
    ) throws -> (record: ObjectRecord, publicHalves: Set<PublicHalf>) {
        let publicHalves = changing.withSharedLock { Set(ring.publicHalves) }
        return (try rights.prepare(draft), publicHalves)
    }

    /// Makes an object, and runs `store` while no keys of the owner change.
    package func make(
        _ draft: borrowing RightStore.Draft, storing store: (ObjectRecord) throws -> Void
    ) throws -> ObjectRecord {
        let (early, publicHalves) = try prepare(draft)
        changing.lock()
        defer { changing.unlock() }
        let isCurrent = Set(ring.publicHalves) == publicHalves
        // Rarely keys have changed meanwhile. Now none can.
        let record = isCurrent ? early : try rights.prepare(draft)
        try store(record)
        return record
    }
}

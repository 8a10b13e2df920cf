import ExactNames
package import Foundation
package import KeySlots
import OstiaryMessages
package import ProtectedObjects
package import Refusals
import Synchronization
package import Vault

/// Enclave keys that a program, or a door for its client, made for items which it is about to add.
///
/// They are nowhere else. Nobody can find or use them, nothing of them is stored before their item is, in one transaction
/// with it, and with the connection or its client they are gone. So whenever the program or the daemon ends, no key is left that nobody
/// could ever name again.
package final class DraftKeys: Sendable {
    private struct Draft {
        let record: ObjectRecord
        /// What its slots were wrapped to.
        let publicHalves: Set<PublicHalf>
    }

    private let drafts = Mutex<[VaultID: Draft]>([:])

    /// - Parameter publicHalves: all that there are, as they were when the slots were made.
    package func add(_ record: ObjectRecord, wrappedTo publicHalves: Set<PublicHalf>) throws(Refusal) {
        let isAdded = drafts.withLock { drafts in
            guard drafts.count < SessionLimits.draftKeyCount else { return false }
            drafts[record.id] = Draft(record: record, publicHalves: publicHalves)
            return true
        }
        guard isAdded else {
            throw Refusal(
                .tooMany, "\(SessionLimits.draftKeyCount) new keys wait for their items; add these items first.",
                cause: "key.too-many")
        }
    }

    /// The key with this id, in one of `groups`; nil for any other, which may be stored.
    package func key(_ id: Data, groups: AccessGroups) -> ObjectRecord? {
        guard let id = VaultID(bytes: id), let draft = drafts.withLock({ $0[id] }),
            groups.names.contains(draft.record.attributes.group)
        else { return nil }
        return draft.record
    }

    /// Throws unless the key is still here and its slots can be opened with the present keys: a change of the keys
    /// wraps only stored objects again. Call this while no keys change.
    package func requireCurrent(_ id: VaultID, _ publicHalves: [PublicHalf]) throws(Refusal) {
        guard let draft = drafts.withLock({ $0[id] }) else { throw RightStore.keyNotFound }
        guard draft.publicHalves == Set(publicHalves) else { throw Refusal.keysChanged }
    }

    var isEmpty: Bool { drafts.withLock { $0.isEmpty } }

    /// Forgets a key that was stored or is not wanted any more; false when it is not here.
    @discardableResult package func remove(_ id: VaultID) -> Bool {
        drafts.withLock { $0.removeValue(forKey: id) } != nil
    }
}

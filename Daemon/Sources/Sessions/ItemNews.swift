import Auditing
import OstiaryMessages
import OwnerKeys
import Vault

/// Changes of items that one program has not been told of. Their number is bounded: beyond it the news only says that the program must
/// look at its items again.
struct ItemNews: Sendable {
    /// Items that are remembered for one program. An answer with all of them has about 10 kB.
    static let itemCount = 256

    private struct Change {
        let itemClass: ItemClass
        var effect: ChangedItem.Effect
        /// The place among the changes.
        let order: Int
    }

    private(set) var looksAgain: Bool
    private var changes: [VaultID: Change] = [:]
    private var nextOrder = 0

    /// - Parameter looksAgain: whether the program's knowledge is unknown, so that it must look at its items.
    init(looksAgain: Bool = false) { self.looksAgain = looksAgain }

    var isEmpty: Bool { !looksAgain && changes.isEmpty }

    /// Adds a change. Several changes of one item are one, and an item that came and went again is none.
    mutating func note(_ id: VaultID, _ itemClass: ItemClass, _ effect: ChangedItem.Effect) {
        guard !looksAgain else { return }
        if let former = changes[id] {
            changes[id] = former.effect.followed(by: effect).map {
                Change(itemClass: itemClass, effect: $0, order: former.order)
            }
        } else if changes.count < Self.itemCount {
            changes[id] = Change(itemClass: itemClass, effect: effect, order: nextOrder)
            nextOrder += 1
        } else {
            lookAgain()
        }
    }

    /// Says nothing of single items.
    mutating func lookAgain() { self = ItemNews(looksAgain: true) }

    /// The answer to a program that was told of `former`.
    func message(_ lock: KeyRing.LockState, after former: KeyRing.LockState) -> WireItemNews {
        .with {
            ($0.unlocked, $0.unlockedSinceStart) = (lock.isUnlocked, lock.wasUnlockedSinceStart)
            $0.wasLocked = lock.closingCount != former.closingCount
            $0.looksAgain = looksAgain
            $0.changes = changes.sorted { $0.value.order < $1.value.order }.map { id, change in
                .with { ($0.itemID, $0.itemClass, $0.kind) = (id.bytes, change.itemClass.name, change.effect.kind) }
            }
        }
    }
}

extension ChangedItem.Effect {
    /// Both changes in one; nil if nothing remains of them.
    fileprivate func followed(by later: Self) -> Self? {
        switch (self, later) {
        case (.added, .removed): nil
        case (.added, .added), (.added, .changed): .added
        case (.changed, .removed), (.removed, .removed): .removed
        case (.changed, .added), (.changed, .changed), (.removed, .added), (.removed, .changed): .changed
        }
    }

    fileprivate var kind: WireItemChange.Kind {
        switch self {
        case .added: .added
        case .changed: .changed
        case .removed: .removed
        }
    }
}

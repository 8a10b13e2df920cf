import OstiaryMessages
import Owners
import ProtectedObjects
import Refusals
import Sessions
import Vault

/// Items that are for certain programs (`only`), whatever the others prove.
///
/// The daemon looks at the program itself: the connected one, or the client that a door names. A door that asks for itself, and the owner's
/// command, are no exception where data is read. They may put an item in order: delete it, and change its rule and its programs after
/// its rule was proved.
extension Exchange {
    /// The door's client; nil for a program that asks for itself.
    var clientProgram: LeaseQuery.Program? { isForClient ? LeaseQuery.Program(caller) : nil }

    /// Whether the program may have the item's data, as far as that is known while the item's class is closed.
    func isForProgram(_ record: ItemRecord) -> Bool {
        guard record.itemClass == .freeform else { return true }
        return account.items.digests.isFor(LeaseQuery.Program(caller), record.itemClass, record.index)
    }

    /// Throws where data of one of the items is for other programs. Call it before anybody is asked.
    func requireDataIsForProgram(of openers: [ItemOpener]) throws(Refusal) {
        guard openers.allSatisfy({ isForProgram($0.record) }) else { throw ItemStore.ofOtherProgram }
    }

    /// The same by the names themselves: the terms that said so are only the beginnings of digests.
    func requireDataIsForProgram(of record: ItemRecord, _ attributes: ItemAttributes) throws(Refusal) {
        guard record.itemClass == .freeform else { return }
        guard attributes.isFor(LeaseQuery.Program(caller)) else { throw ItemStore.ofOtherProgram }
    }

    /// Throws where a client is to change what keeps one of the items for other programs: its data, its rule, its programs, or the place
    /// where they find it.
    func requireMayKeep(_ records: [ItemRecord]) throws(Refusal) {
        guard isForClient else { return }
        guard records.allSatisfy(isForProgram) else { throw ItemStore.ofOtherProgram }
    }
}

extension Broker {
    /// Throws where free attributes are to be replaced that items of the class do not have.
    static func requireReplaceable(_ body: WireUpdateItemsRequest, of itemClass: ItemClass) throws(Refusal) {
        guard !body.replacesFreeAttributes || itemClass == .freeform else {
            throw Refusal(
                .invalidParameter, "The items have no free attributes that could be replaced.", cause: "item.attribute")
        }
    }
}

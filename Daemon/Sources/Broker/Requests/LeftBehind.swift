import ExactNames
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import ProtectedObjects
import Vault

/// The numbers of objects that a program stored under its path and does not see after it is registered. Its items and
/// keys are in the group of that path, and its rights are filed under the path. The objects stay, and the program sees
/// them again without the registration.
struct LeftBehind: Equatable {
    let items: Int
    let rights: Int
    /// Enclave keys without an item.
    let keys: Int

    init(items: Int, rights: Int, keys: Int) { (self.items, self.rights, self.keys) = (items, rights, keys) }

    /// The objects that several programs leave behind together.
    init(adding parts: [LeftBehind]) {
        items = parts.reduce(0) { $0 + $1.items }
        rights = parts.reduce(0) { $0 + $1.rights }
        keys = parts.reduce(0) { $0 + $1.keys }
    }

    var isEmpty: Bool { items == 0 && rights == 0 && keys == 0 }

    /// The sentence that the prompt shows the owner; nil when there are no objects.
    var consequence: DisplayText? {
        guard !isEmpty else { return nil }
        let what = [
            Broker.counted(items, "keychain item"), Broker.counted(rights, "right"),
            Broker.counted(keys, "enclave key"),
        ].compactMap(\.self).joined(separator: ", ")
        return DisplayText(
            "The program will no longer see what it stored under its path: \(what). These stay. The program sees them "
                + "again when its registration is removed.")
    }

    var message: WireLeftBehind {
        .with {
            $0.items = UInt32(clamping: items)
            $0.rights = UInt32(clamping: rights)
            $0.keys = UInt32(clamping: keys)
        }
    }
}

extension OwnerAccount {
    /// Counts the objects that the program at `path` stored without a registration.
    func leftBehind(at path: ExactName, as requester: StretchRequester) throws -> LeftBehind {
        LeftBehind(
            items: try items.count(inGroup: path),
            rights: try rights.counts(application: path, as: requester).readable,
            keys: try rights.countOfKeysWithoutItem(inGroup: path, as: requester))
    }
}

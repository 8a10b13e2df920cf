import ExactNames
import OwnerKeys
import Owners
import PromptProtocol
import Prompting
import StoreKeys
import Synchronization
import Vault

/// What the trusted place shows to the owners of a store. The prompter is there before the store is open.
final class StoredPlaceOwners: PlaceOwners {
    private struct Store {
        /// The accounts hold the prompter, and so this.
        weak var owners: OwnerRegistry?
        let keys: StoreKeys
    }

    private let store = Mutex<Store?>(nil)

    func begin(_ owners: OwnerRegistry, _ keys: StoreKeys) {
        store.withLock { $0 = Store(owners: owners, keys: keys) }
    }

    func options(for owner: OwnerID) throws -> TrustedPlaceOptions {
        guard let (owners, keys) = store.withLock({ store in store.flatMap { ($0.owners, $0.keys) } }),
            let account = owners?.open.first(where: { $0.id.ownerID == owner })
        else { throw NotOpen() }
        let sign = try OwnerSignStorage(vault: account.vault, owner: account.id, keys: keys).load()
        return TrustedPlaceOptions(
            owner: DisplayText(fact: account.user.name), sign: sign.map { DisplayText(fact: $0.text) })
    }

    private struct NotOpen: Error {}
}

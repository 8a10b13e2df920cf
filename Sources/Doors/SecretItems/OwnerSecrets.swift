import AccessControl
import DoorSupport
import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory

/// The keyring, for the owner's own commands: they ask for themselves and not for a client, and the daemon asks the person at their
/// terminal. Calls block.
public enum OwnerSecrets {
    /// Whether the program at this path is registered as the door of the Secret Service.
    public static func isRegistered(_ path: String) throws(SecretsFailure) -> Bool {
        do {
            return try OstiaryClient.shared.applications().contains { application in
                application.path == path && application.isDoor
                    && application.accessGroups.contains(DoorProgram.accessGroup)
            }
        } catch { throw SecretsFailure(any: error) }
    }

    /// The items or rows that match, oldest first, locked ones too. Asks nobody.
    public static func list(_ query: SecretQuery) throws(SecretsFailure) -> [OwnedSecret] {
        do {
            return try OstiaryClient.shared.listItems(query.selection, returningAttributes: true)
                .compactMap { OwnedSecret($0) }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] } catch {
            throw SecretsFailure(any: error)
        }
    }

    /// Has the passcode open the store. Asks nobody if it is open.
    public static func open(asking reason: String) throws(SecretsFailure) {
        do {
            let status = try OstiaryClient.shared.status()
            guard status.passcode.isSet, !status.unlocked else { return }
            try AuthorizationContext().authorize(.store, interaction: Interaction(reason: reason))
        } catch { throw SecretsFailure(any: error) }
    }

    /// Reads a secret that asks for nothing.
    public static func read(_ id: SecretID, in collection: String) throws(SecretsFailure) -> HeldSecret {
        var found: HeldSecret?
        do {
            try OstiaryClient.shared.findItems(
                SecretQuery(collection: collection, id: id).selection, returningData: true
            ) { _, data in
                switch data {
                case .some(let data): found = HeldSecret(SecretBytes(copying: data))
                case .none: found = HeldSecret(SecretBytes(zeroed: 0))
                }
            }
        } catch { throw SecretsFailure(any: error) }
        guard let found else { throw .notFound("There is no such item any more.") }
        return found
    }

    // MARK: changes

    /// Makes an item or a collection, and returns its id.
    ///
    /// - Parameters:
    ///   - origin: kept with the item (``OwnedSecret/origin``).
    ///   - reason: for the question of a store that was locked meanwhile.
    public static func add(
        _ new: NewSecret, origin: String? = nil, asking reason: String
    ) throws(SecretsFailure) -> SecretID {
        let added: StoredItem
        do {
            let control = try Self.accessControl(of: new)
            let values = Self.attributes(new.values, origin)
            let use = ItemUse(interaction: Interaction(reason: reason))
            if let secret = new.secret {
                added = try OstiaryClient.shared.addItem(
                    SecretAttribute.itemClass, attributes: values, accessControl: control,
                    data: SecretBytes(copying: secret.bytes), use: use)
            } else {
                added = try OstiaryClient.shared.addItem(
                    SecretAttribute.itemClass, attributes: values, accessControl: control, use: use)
            }
        } catch let failure as SecretsFailure { throw failure } catch { throw SecretsFailure(any: error) }
        guard let id = SecretID(added.id) else {
            throw .keyringFailed("The daemon's answer names no item; restart the daemon.")
        }
        return id
    }

    /// Changes an item, under its rule.
    public static func change(
        _ id: SecretID, in collection: String, to change: SecretChange, origin: String?, asking reason: String
    ) throws(SecretsFailure) {
        let selection = SecretQuery(collection: collection, id: id).selection
        let (values, replaces) = (attributes(change.values, origin), change.attributes != nil)
        let use = ItemUse(interaction: Interaction(reason: reason))
        do {
            if let secret = change.secret {
                try OstiaryClient.shared.updateItems(
                    selection, attributes: values, data: SecretBytes(copying: secret.bytes), use: use,
                    replacingFreeAttributes: replaces)
            } else {
                try OstiaryClient.shared.updateItems(
                    selection, attributes: values, use: use, replacingFreeAttributes: replaces)
            }
        } catch { throw SecretsFailure(any: error) }
    }

    /// Protects all items that match in another way, in one step and under their rules; returns how many there were.
    public static func protect(
        _ query: SecretQuery, by protection: SecretProtection, asking reason: String
    ) throws(SecretsFailure) -> Int {
        do {
            return try OstiaryClient.shared.updateItems(
                query.selection, attributes: protection.values, accessControl: protection.accessControl,
                use: ItemUse(interaction: Interaction(reason: reason)))
        } catch { throw SecretsFailure(any: error) }
    }

    /// Says how new items of collections are protected. The rows of the collections get the same rule and programs themselves, so that
    /// nobody changes or deletes them without its proof. Their present rules are asked for, with as few questions as these allow.
    ///
    /// - Parameter rows: their ids, and all free attributes that they have from then on.
    public static func setDefaults(
        _ protection: SecretProtection, ofRows rows: [(id: SecretID, attributes: [String: String])],
        asking reason: String
    ) throws(SecretsFailure) {
        // What was proved for one of them counts for the others.
        let context = AuthorizationContext(keepsFactors: true)
        defer { context.invalidate() }
        do {
            for row in rows {
                let values = protection.values.merging(SecretChange(attributes: row.attributes).values) { $1 }
                try OstiaryClient.shared.updateItems(
                    SecretQuery(.collection, id: row.id).selection, attributes: values,
                    accessControl: protection.accessControl,
                    use: ItemUse(context: context, interaction: Interaction(reason: reason)),
                    replacingFreeAttributes: true)
            }
        } catch { throw SecretsFailure(any: error) }
    }

    private static func accessControl(of new: NewSecret) throws(SecretsFailure) -> AccessControl {
        do throws(StoreRefusal) { return try new.accessControl() } catch {
            throw .invalidRule(error.description)
        }
    }

    private static func attributes(_ values: ItemAttributeValues, _ origin: String?) -> ItemAttributeValues {
        var values = values
        if let origin { values[SecretAttribute.origin] = .text(origin) }
        return values
    }
}

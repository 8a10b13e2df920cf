import Authenticators
import Callers
import Enclave
import ExactNames
package import Owners
import OwnerKeys
import PromptProtocol
import ProtectedObjects
import SecurityKeys
package import Settings
package import Vault

/// The objects of a store that come along into another enclave, and those that stay.
package struct MoveInventory {
    private let rights: [String]
    private let keys: [String]
    private let passkeyCount: Int
    let itemCount: Int
    let registrationCount: Int
    private let lostRegistrationCount: Int
    private let securityKeyCount: Int

    package init(_ account: OwnerAccount, _ vault: Vault) throws {
        func names(_ kind: ObjectKind) throws -> [String] {
            try vault.read { reader in
                try reader.objectIDs(owner: account.id, kind: kind).map { id in
                    do {
                        return try reader.object(id, owner: account.id)?.attributes.identifier.text ?? "\(id)"
                    } catch VaultError.corrupt {
                        return "unreadable"
                    }
                }
            }
        }
        rights = try names(.right)
        keys = try names(.enclaveKey)
        passkeyCount = try vault.read { try $0.objectIDs(owner: account.id, kind: .passkey).count }
        itemCount = try vault.read { try $0.itemCount(owner: account.id) }
        registrationCount = account.applications.stored.count
        lostRegistrationCount = account.applications.lostCount
        securityKeyCount = try account.securityKeys?.record().keys.count ?? 0
    }

    var keyCount: Int { rights.count + keys.count + passkeyCount }

    package var consequence: String {
        "\(keyCount) private keys do not come along: they never leave their enclave. The present store stays as it is."
    }

    package func words(folder: String, newFolder: String, _ kind: EnclaveConfiguration.Kind) -> String {
        return """
            A new store with its keys in \(kind.place) is made in \(newFolder). The present one in \(folder) stays as it is.
            These do not come along, because private keys never leave their enclave, nor do the secrets of rights:
            \(stays)
            Security keys: \(securityKeyCount). They do not come along; enrol them in the new store.
            Items: \(itemCount). They come along, except those that stand for such a key, or whose rule names an application \
            password, a security key or the present fingers.
            Registered programs: \(registrationCount). They come along. The audit log does not.\(lostRegistrations)
            """
    }

    /// For the move into the store of the machine.
    func wordsForMachine(folder: String) -> String {
        """
        Your store in \(folder) is copied into the store of this machine. It stays as it is until you have it removed.
        These do not come along, because private keys never leave their enclave, nor do the secrets of rights:
        \(stays)
        Security keys: \(securityKeyCount). They do not come along; enrol them again afterwards.
        Items: \(itemCount). They come along, except those that stand for such a key, or whose rule names an application \
        password, a security key or the present fingers.
        Registered programs: \(registrationCount). They come along. The audit log does not.\(lostRegistrations)
        """
    }

    private var stays: String {
        let lines =
            rights.map { "  right    \(DisplayText(fact: $0).string)" }
            + keys.map { "  key      \(DisplayText(fact: $0).string)" }
            + (passkeyCount > 0 ? ["  passkeys \(passkeyCount)"] : [])
        return lines.isEmpty ? "  none" : lines.joined(separator: "\n")
    }

    /// Their programs are refused in this store. In the new one, which does not know them, they would be unregistered ones.
    private var lostRegistrations: String {
        guard lostRegistrationCount > 0 else { return "" }
        return """

            Lost registrations, whose rows are missing or do not verify: \(lostRegistrationCount). They do not come along. \
            In the new store these programs are known by their paths alone; register them again.
            """
    }
}

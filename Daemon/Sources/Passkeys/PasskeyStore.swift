import AccessControl
import Foundation
import OstiaryMessages
package import ProtectedObjects
package import Refusals
import SecretMemory
package import Vault

/// The passkeys of one owner: listing, storing, counting, removing. Asks nobody.
package struct PasskeyStore: Sendable {
    package let rights: RightStore

    package init(_ rights: RightStore) { self.rights = rights }

    /// A finger or the passcode. All passkeys have this rule, so one proof serves all accounts of a relying party.
    static var requirement: Requirement {
        do { return try Requirement(anyOf: [FactorSet(.biometry), FactorSet(.passcode)]) } catch {
            preconditionFailure("neither of the two is an application password")
        }
    }

    /// Removing the passcode destroys passkeys: without one, nothing would be verified.
    static let availability = AvailabilityClass.whenPasscodeSet

    /// All passkeys that verify, the newest first.
    package func all() throws -> [Passkey] {
        try rights.vault.read { try $0.objects(owner: rights.owner, kind: .passkey) }
            .compactMap(\.record).map { try Passkey($0) }
            .sorted { ($0.created, $0.record.id) > ($1.created, $1.record.id) }
    }

    /// The identifiers of all passkeys that are listed. Reads no row.
    func identifiers() throws -> Set<[UInt8]> {
        let ids = try rights.vault.read { try $0.objectIDs(owner: rights.owner, kind: .passkey) }
        return Set(ids.map { Array($0.bytes) })
    }

    package var capacity: Int { rights.limits.passkeyCount }

    package func find(_ identifier: [UInt8]) throws -> Passkey {
        guard let id = VaultID(bytes: Data(identifier)),
            let object = try rights.vault.read({ try $0.object(id, owner: rights.owner) }), object.kind == .passkey
        else { throw Self.notFound }
        return try Passkey(object)
    }

    func insert(_ record: ObjectRecord) throws {
        try rights.vault.write("passkey.create") { try rights.insert(record, in: $0) }
    }

    /// Counts one more signature, on disk.
    func countSignature(of id: VaultID) throws -> Passkey {
        try update(id) { $0.signatureCount += 1 }
    }

    /// Changes the attributes of a passkey. A counter at its end counts no more, and nothing is signed.
    func update(_ id: VaultID, _ change: (inout PasskeyAttributes) -> Void) throws -> Passkey {
        try rights.vault.write("passkey.update") { writer in
            guard let object = try writer.object(id, owner: rights.owner), object.kind == .passkey else {
                throw Self.notFound
            }
            let passkey = try Passkey(object)
            guard passkey.attributes.signatureCount < UInt32.max else { throw UnreadablePasskey() }
            let changed = passkey.changed(change)
            try writer.updateObject(changed)
            return try Passkey(changed)
        }
    }

    /// Destroys a passkey for good.
    package func remove(_ id: VaultID) throws {
        do { try rights.remove(id) } catch let refusal as Refusal where refusal == RightStore.notFound {
            throw Self.notFound
        }
    }

    package static let notFound = Refusal(.notFound, "There is no such passkey.", cause: "passkey.not-found")
}

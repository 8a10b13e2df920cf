import AuthenticatorRequests
import CTAP
package import Foundation
package import Vault

/// A passkey of this machine, without its private half.
package struct Passkey: Sendable {
    package let record: ObjectRecord
    package let attributes: PasskeyAttributes

    /// The credential identifier that relying parties know.
    package var identifier: [UInt8] { [UInt8](record.id.bytes) }
    package var created: Date { Date(timeIntervalSince1970: TimeInterval(record.attributes.created)) }

    package init(_ record: ObjectRecord) throws(UnreadablePasskey) {
        self.record = record
        attributes = try PasskeyAttributes(encoded: record.attributes.applicationLabel)
    }

    /// As the commands of CTAP see it.
    var credential: StoredCredential {
        let new = NewCredential(
            relyingParty: attributes.relyingParty, user: attributes.user, isDiscoverable: attributes.isDiscoverable,
            protection: attributes.protection, hasSecret: attributes.hasSecret)
        // The stored point begins with the byte 4 (X9.63).
        return StoredCredential(identifier: identifier, new, publicKey: [UInt8](record.publicKey.dropFirst()))
    }

    /// The same with other attributes, as the next generation of its row.
    func changed(_ change: (inout PasskeyAttributes) -> Void) -> ObjectRecord {
        var attributes = attributes
        change(&attributes)
        let former = record.attributes
        return ObjectRecord(
            id: record.id, owner: record.owner, kind: record.kind, suite: record.suite,
            generation: record.generation + 1,
            attributes: ObjectAttributes(
                group: former.group, identifier: former.identifier, applicationLabel: attributes.encoded,
                created: former.created, flags: former.flags),
            accessControl: record.accessControl, enclaveKind: record.enclaveKind, publicKey: record.publicKey,
            keyBlob: record.keyBlob, payload: record.payload, slots: record.slots)
    }
}

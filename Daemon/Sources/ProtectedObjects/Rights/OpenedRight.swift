package import AccessControl
package import Authenticators
package import Enclave
import ExactNames
import Foundation
package import KeySlots
import OstiaryMessages
import Refusals
package import SecretMemory
package import Vault

/// A right or an enclave key whose slots were opened. It is the authorization in this process. It exists only in the
/// context that was authorized, and its secrets are wiped with it. It keeps no copy of the right's stored secret: many
/// contexts may hold the same right.
package final class OpenedRight: Sendable {
    package let id: VaultID
    package let identifier: String
    /// The operations that the right's access control permits and the authorization covered.
    package let operations: Set<AccessControl.Operation>
    /// The proved factors of the authorization, for the log.
    package let factorNames: [String]
    package let strength: String
    /// Those of the right's access control.
    let limits: GrantLimits?
    /// Whether factors were used for it that the context had kept.
    package let standsOnHeld: Bool
    /// The limits of a right or key for SSH alone; nil for another one.
    package let sshConstraints: SSHKeyConstraints?
    package let key: any OpenEnclaveKey
    let keyType: EnclaveKeyType
    let binding: KeyBinding
    private let accessSecret: SecretBytes
    let header: SlotHeader

    package init(
        _ object: ObjectRecord, operations: Set<AccessControl.Operation>, limits: GrantLimits?, evaluation: Evaluation,
        header: SlotHeader, accessSecret: consuming SecretBytes, enclave: any Enclave
    ) throws {
        id = object.id
        identifier = object.attributes.identifier.text
        self.operations = operations
        self.limits = limits
        standsOnHeld = evaluation.standsOnHeld
        factorNames = evaluation.factorNames
        strength = evaluation.label
        sshConstraints = try object.sshConstraints
        self.header = header
        guard object.enclaveKind == enclave.kind.code else { throw EnclaveError.wrongKind }
        keyType = try object.keyType
        binding = try KeyBinding(of: header, accessSecret: accessSecret)
        key = try enclave.openKey(
            WrappedKey(kind: enclave.kind, type: keyType, publicKey: object.publicKey, blob: object.keyBlob),
            authorization: KeyAuthorization.derived(from: accessSecret), binding: binding,
            session: evaluation.session)
        self.accessSecret = accessSecret
    }

    /// Signs `digest` with the key of a right that confirms each signature.
    ///
    /// - Parameter shown: the digest that the question showed. The key's enclave refuses another one.
    func signature(forDigest digest: Data, shown: Data) throws -> Data {
        try key.signature(
            forDigest: digest, approvedBy: SignatureApproval(of: shown, by: ApprovalKey(derivedFrom: accessSecret)))
    }

    /// The secret that was stored with the right, decrypted for one answer.
    ///
    /// - Parameter object: the right as the store has it now. The secret of another object does not open.
    package func secret(of object: ObjectRecord) throws -> SecretBytes {
        guard let payload = object.payload else {
            throw Refusal(.noSecret, "No secret was stored with this right.", cause: "right.no-secret")
        }
        return try PayloadCipher.open(payload, accessSecret: accessSecret, header: header)
    }
}

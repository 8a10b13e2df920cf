import AccessControl
package import Enclave
import ExactNames
import OstiaryMessages
import PromptProtocol
package import Vault

/// An enclave key's record says its type in the flags and holds, as application label, the access control as the program
/// gave it; its name is its id. A right's key is always P-256.
extension ObjectRecord {
    var keyType: EnclaveKeyType {
        get throws(EnclaveError) {
            guard kind != .right else { return .p256 }
            guard let number = UInt8(exactly: attributes.flags), let type = EnclaveKeyType(rawValue: number) else {
                throw .unreadable
            }
            return type
        }
    }

    /// The limits of a right or key for SSH alone; nil for another one.
    var sshConstraints: SSHKeyConstraints? {
        get throws(CanonicalFormError) {
            guard !attributes.sshConstraints.isEmpty else { return nil }
            return try SSHKeyConstraints(canonicalBytes: Array(attributes.sshConstraints))
        }
    }

    /// The name by which a person knows the object: of a key the beginning of its id.
    package var shownName: String {
        kind == .right ? attributes.identifier.text : "key \(attributes.identifier.text.prefix(8))"
    }

    /// The same in full, for a question that cuts nothing: two keys may have the same beginning.
    package var wholeName: String { kind == .right ? attributes.identifier.text : "key \(attributes.identifier)" }

    /// How programs call a key, as far as a prompt shows that: short, so that its end stays in sight.
    static func shownLabel(_ label: String?) -> DisplayText { DisplayText(label ?? "", maximumScalarCount: 100) }
}

extension WireKey {
    /// A verified record of an enclave key as the wire shows it.
    package init(_ record: ObjectRecord, enclave: EnclaveKind) throws(EnclaveError) {
        self.init()
        keyID = record.id.bytes
        kind = WireKeyKind(rawValue: Int(try record.keyType.rawValue))
        publicKey = record.publicKey
        accessControl = record.accessControl
        shownAccessControl = record.attributes.applicationLabel
        enclaveKind = enclave.rawValue
        sshConstraints = record.attributes.sshConstraints
    }
}

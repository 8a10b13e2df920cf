import Enclave
import OstiaryWire
import Prompting
import Vault

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

    /// What a person knows the object by. Of a key that is first the beginning of its id, which the store vouches for, and
    /// then what programs say of it, marked as theirs and at the end: whatever it pretends, nothing of ours follows.
    ///
    /// - Parameter label: how programs call a key.
    func shownName(label: String?) -> String {
        guard kind != .right else { return attributes.identifier }
        let key = "key \(attributes.identifier.prefix(8))"
        let label = DisplayText(label ?? "", maximumScalarCount: Self.labelScalarCount)
        return label.isEmpty ? key : "\(key), which a program named “\(label)”"
    }

    /// Of a label, so that its end stays in sight.
    private static let labelScalarCount = 100
}

extension WireKey {
    /// A verified record of an enclave key as the wire shows it.
    init(_ record: ObjectRecord, enclave: EnclaveKind) throws(EnclaveError) {
        self.init()
        keyID = record.id.bytes
        kind = WireKeyKind(rawValue: Int(try record.keyType.rawValue)) ?? .unspecified
        publicKey = record.publicKey
        accessControl = record.accessControl
        shownAccessControl = record.attributes.applicationLabel
        enclaveKind = enclave.rawValue
    }
}

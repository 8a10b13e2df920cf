import CanonicalCBOR

/// The outputs of extensions that an authenticator signs with a new credential. Others are left out: a relying party may
/// ignore what it does not know (WebAuthn Level 3, section 9).
struct SignedExtensions {
    let protection: CredentialProtection?
    let minimumPINLength: Int?

    init(_ map: CBORMap?) throws(CeremonyError) {
        switch map?[ExtensionName.credProtect.rawValue] {
        case nil: protection = nil
        case let value?:
            guard let level = value.integer.flatMap(CredentialProtection.init(rawValue:)) else {
                throw .extensionOutput(.credProtect)
            }
            protection = level
        }
        switch map?[ExtensionName.minPinLength.rawValue] {
        case nil: minimumPINLength = nil
        case .unsigned(let length)? where length <= 63: minimumPINLength = Int(length)
        default: throw .extensionOutput(.minPinLength)
        }
    }
}

/// The extensions whose signed outputs are read.
public enum ExtensionName: String, Sendable, CaseIterable {
    case credProtect, minPinLength
}

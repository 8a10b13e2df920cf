public import Foundation

/// A new credential on a security key (Apple's class of the same name).
open class ASAuthorizationSecurityKeyPublicKeyCredentialRegistration: NSObject,
    ASAuthorizationPublicKeyCredentialRegistration, @unchecked Sendable
{
    // SAFETY: (@unchecked) nothing of it changes.
    let fields: RegisteredFields

    init(_ fields: RegisteredFields) { self.fields = fields }

    /// Outputs of the PRF extension are secrets and are in no archive.
    public required init?(coder: NSCoder) {
        guard let fields = coder.decodeFields(RegisteredFields.self) else { return nil }
        self.fields = fields
    }

    open func encode(with coder: NSCoder) { coder.encode(fields: fields) }
    open func copy(with zone: NSZone? = nil) -> Any { self }
    public class var supportsSecureCoding: Bool { true }

    public var rawClientDataJSON: Data { fields.clientDataJSON }
    public var credentialID: Data { fields.credentialID }
    public var rawAttestationObject: Data? { fields.attestationObject }

    /// How the key can be reached.
    public var transports: [ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor.Transport] {
        fields.transports.map { .init(rawValue: $0) }
    }

    /// nil when the request did not ask.
    public var prf: ASAuthorizationPublicKeyCredentialPRFRegistrationOutput? { fields.prf }
}

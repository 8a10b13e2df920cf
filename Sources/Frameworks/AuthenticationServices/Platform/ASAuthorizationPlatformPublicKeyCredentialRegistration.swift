public import CAuthenticationServices
public import Foundation

/// A new passkey of this machine (Apple's class of the same name).
open class ASAuthorizationPlatformPublicKeyCredentialRegistration: NSObject,
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

    /// Where the authenticator is.
    public var attachment: ASAuthorizationPublicKeyCredentialAttachment {
        fields.isPlatform ? .platform : .crossPlatform
    }

    /// nil when the request did not ask.
    public var largeBlob: ASAuthorizationPublicKeyCredentialLargeBlobRegistrationOutput? { fields.largeBlob }

    /// nil when the request did not ask.
    public var prf: ASAuthorizationPublicKeyCredentialPRFRegistrationOutput? { fields.prf }
}

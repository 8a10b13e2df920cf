public import CAuthenticationServices
public import Foundation

/// A signature by a passkey of this machine (Apple's class of the same name).
open class ASAuthorizationPlatformPublicKeyCredentialAssertion: NSObject, ASAuthorizationPublicKeyCredentialAssertion,
    @unchecked Sendable
{
    // SAFETY: (@unchecked) nothing of it changes.
    let fields: AssertedFields

    init(_ fields: AssertedFields) { self.fields = fields }

    /// Outputs of the PRF extension are secrets and are in no archive.
    public required init?(coder: NSCoder) {
        guard let fields = coder.decodeFields(AssertedFields.self) else { return nil }
        self.fields = fields
    }

    open func encode(with coder: NSCoder) { coder.encode(fields: fields) }
    open func copy(with zone: NSZone? = nil) -> Any { self }
    public class var supportsSecureCoding: Bool { true }

    public var rawClientDataJSON: Data { fields.clientDataJSON }
    public var credentialID: Data { fields.credentialID }
    public var rawAuthenticatorData: Data! { fields.authenticatorData }
    public var userID: Data! { fields.userID }
    public var signature: Data! { fields.signature }

    /// Where the authenticator is.
    public var attachment: ASAuthorizationPublicKeyCredentialAttachment {
        fields.isPlatform ? .platform : .crossPlatform
    }

    /// nil when the request did not ask.
    public var largeBlob: ASAuthorizationPublicKeyCredentialLargeBlobAssertionOutput? { fields.largeBlob }

    /// nil when the request did not ask.
    public var prf: ASAuthorizationPublicKeyCredentialPRFAssertionOutput? { fields.prf }
}

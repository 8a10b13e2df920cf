public import Foundation

/// A request for a signature by a security key (Apple's class of the same name).
open class ASAuthorizationSecurityKeyPublicKeyCredentialAssertionRequest: ASAuthorizationRequest,
    ASAuthorizationPublicKeyCredentialAssertionRequest, @unchecked Sendable
{
    // SAFETY: (@unchecked) the lock of its fields guards every change.
    let fields: LockedFields<AssertionFields>

    init(_ fields: AssertionFields, provider: any ASAuthorizationProvider) {
        self.fields = LockedFields(fields)
        super.init(provider: provider)
    }

    public required init?(coder: NSCoder) {
        guard let decoded = coder.decodeFields(AssertionFields.self) else { return nil }
        fields = LockedFields(decoded)
        super.init(
            provider: ASAuthorizationSecurityKeyPublicKeyCredentialProvider(
                relyingPartyIdentifier: decoded.relyingPartyIdentifier))
    }

    open override func encode(with coder: NSCoder) { coder.encode(fields: fields.all) }
    open override func copy(with zone: NSZone? = nil) -> Any {
        ASAuthorizationSecurityKeyPublicKeyCredentialAssertionRequest(fields.all, provider: provider)
    }

    /// From the relying party, at least 16 bytes of randomness.
    public var challenge: Data {
        get { fields[\.challenge] }
        set { fields[\.challenge] = newValue }
    }

    /// The domain of the relying party.
    public var relyingPartyIdentifier: String {
        get { fields[\.relyingPartyIdentifier] }
        set { fields[\.relyingPartyIdentifier] = newValue }
    }

    public var userVerificationPreference: ASAuthorizationPublicKeyCredentialUserVerificationPreference {
        get { fields[\.userVerification] }
        set { fields[\.userVerification] = newValue }
    }

    /// The credentials that count; empty for each that is found without its identifier.
    public var allowedCredentials: [ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor] {
        get { fields[\.allowed].map { ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor($0) } }
        set { fields[\.allowed] = newValue.map(\.stored) }
    }

    /// The identifier that credentials of FIDO U2F were made for: a URL of the relying party.
    public var appID: String? {
        get { fields[\.appID] }
        set { fields[\.appID] = newValue }
    }

    public var prf: ASAuthorizationPublicKeyCredentialPRFAssertionInput? {
        get { fields[\.prf] }
        set { fields[\.prf] = newValue }
    }
}

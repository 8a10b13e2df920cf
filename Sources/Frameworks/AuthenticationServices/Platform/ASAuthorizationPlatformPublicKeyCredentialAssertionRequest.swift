public import Foundation

/// A request for a signature by a passkey of this machine (Apple's class of the same name).
open class ASAuthorizationPlatformPublicKeyCredentialAssertionRequest: ASAuthorizationRequest,
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
            provider: ASAuthorizationPlatformPublicKeyCredentialProvider(
                relyingPartyIdentifier: decoded.relyingPartyIdentifier))
    }

    open override func encode(with coder: NSCoder) { coder.encode(fields: fields.all) }
    open override func copy(with zone: NSZone? = nil) -> Any {
        ASAuthorizationPlatformPublicKeyCredentialAssertionRequest(fields.all, provider: provider)
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

    /// The credentials that count; empty for each passkey of the relying party.
    public var allowedCredentials: [ASAuthorizationPlatformPublicKeyCredentialDescriptor] {
        get { fields[\.allowed].map { ASAuthorizationPlatformPublicKeyCredentialDescriptor($0) } }
        set { fields[\.allowed] = newValue.map(\.stored) }
    }

    /// Kept and without effect: no other device takes part.
    public var shouldShowHybridTransport: Bool {
        get { fields[\.shouldShowHybridTransport] }
        set { fields[\.shouldShowHybridTransport] = newValue }
    }

    public var largeBlob: ASAuthorizationPublicKeyCredentialLargeBlobAssertionInput? {
        get { fields[\.largeBlob] }
        set { fields[\.largeBlob] = newValue }
    }

    public var prf: ASAuthorizationPublicKeyCredentialPRFAssertionInput? {
        get { fields[\.prf] }
        set { fields[\.prf] = newValue }
    }
}

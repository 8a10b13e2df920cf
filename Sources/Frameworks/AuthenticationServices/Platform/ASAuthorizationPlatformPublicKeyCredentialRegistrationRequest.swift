public import CAuthenticationServices
public import Foundation

/// A request for a new passkey of this machine (Apple's class of the same name).
open class ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest: ASAuthorizationRequest,
    ASAuthorizationPublicKeyCredentialRegistrationRequest, @unchecked Sendable
{
    public typealias RequestStyle = ASAuthorizationPlatformPublicKeyCredentialRegistrationRequestStyle

    // SAFETY: (@unchecked) the lock of its fields guards every change.
    let fields: LockedFields<RegistrationFields>

    init(_ fields: RegistrationFields, provider: any ASAuthorizationProvider) {
        self.fields = LockedFields(fields)
        super.init(provider: provider)
    }

    public required init?(coder: NSCoder) {
        guard let decoded = coder.decodeFields(RegistrationFields.self) else { return nil }
        fields = LockedFields(decoded)
        super.init(
            provider: ASAuthorizationPlatformPublicKeyCredentialProvider(
                relyingPartyIdentifier: decoded.relyingPartyIdentifier))
    }

    open override func encode(with coder: NSCoder) { coder.encode(fields: fields.all) }
    open override func copy(with zone: NSZone? = nil) -> Any {
        ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest(fields.all, provider: provider)
    }

    /// The domain of the relying party.
    public var relyingPartyIdentifier: String { fields[\.relyingPartyIdentifier] }

    /// The user handle, 1 to 64 bytes.
    public var userID: Data {
        get { fields[\.userID] }
        set { fields[\.userID] = newValue }
    }

    /// The account, for example an address.
    public var name: String {
        get { fields[\.name] }
        set { fields[\.name] = newValue }
    }

    /// The name of the account's owner.
    public var displayName: String? {
        get { fields[\.displayName] }
        set { fields[\.displayName] = newValue }
    }

    /// From the relying party, at least 16 bytes of randomness.
    public var challenge: Data {
        get { fields[\.challenge] }
        set { fields[\.challenge] = newValue }
    }

    public var userVerificationPreference: ASAuthorizationPublicKeyCredentialUserVerificationPreference {
        get { fields[\.userVerification] }
        set { fields[\.userVerification] = newValue }
    }

    public var attestationPreference: ASAuthorizationPublicKeyCredentialAttestationKind {
        get { fields[\.attestation] }
        set { fields[\.attestation] = newValue }
    }

    /// Credentials of the account. No other is made while this machine holds one of them.
    public var excludedCredentials: [ASAuthorizationPlatformPublicKeyCredentialDescriptor]? {
        get { fields[\.excluded].map { $0.map { ASAuthorizationPlatformPublicKeyCredentialDescriptor($0) } } }
        set { fields[\.excluded] = newValue.map { $0.map(\.stored) } }
    }

    /// How the passkey is registered.
    public var requestStyle: RequestStyle {
        get { fields[\.isConditional] ? .conditional : .standard }
        set { fields[\.isConditional] = newValue == .conditional }
    }

    /// Kept and without effect: no other device takes part.
    public var shouldShowHybridTransport: Bool {
        get { fields[\.shouldShowHybridTransport] }
        set { fields[\.shouldShowHybridTransport] = newValue }
    }

    public var largeBlob: ASAuthorizationPublicKeyCredentialLargeBlobRegistrationInput? {
        get { fields[\.largeBlob] }
        set { fields[\.largeBlob] = newValue }
    }

    public var prf: ASAuthorizationPublicKeyCredentialPRFRegistrationInput? {
        get { fields[\.prf] }
        set { fields[\.prf] = newValue }
    }
}

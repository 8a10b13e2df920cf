public import Foundation

/// A request for a new credential on a security key (Apple's class of the same name).
open class ASAuthorizationSecurityKeyPublicKeyCredentialRegistrationRequest: ASAuthorizationRequest,
    ASAuthorizationPublicKeyCredentialRegistrationRequest, @unchecked Sendable
{
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
            provider: ASAuthorizationSecurityKeyPublicKeyCredentialProvider(
                relyingPartyIdentifier: decoded.relyingPartyIdentifier))
    }

    open override func encode(with coder: NSCoder) { coder.encode(fields: fields.all) }
    open override func copy(with zone: NSZone? = nil) -> Any {
        ASAuthorizationSecurityKeyPublicKeyCredentialRegistrationRequest(fields.all, provider: provider)
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

    /// The algorithms that the relying party supports, the best first; ES256 when there is none.
    public var credentialParameters: [ASAuthorizationPublicKeyCredentialParameters] {
        get { fields[\.algorithms].map { ASAuthorizationPublicKeyCredentialParameters(algorithm: $0) } }
        set { fields[\.algorithms] = newValue.map(\.algorithm) }
    }

    /// Credentials of the account. A security key that holds one of them makes no other.
    public var excludedCredentials: [ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor] {
        get { (fields[\.excluded] ?? []).map { ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor($0) } }
        set { fields[\.excluded] = newValue.map(\.stored) }
    }

    /// Whether the credential shall be found without its identifier.
    public var residentKeyPreference: ASAuthorizationPublicKeyCredentialResidentKeyPreference {
        get { fields[\.residentKey] }
        set { fields[\.residentKey] = newValue }
    }

    public var prf: ASAuthorizationPublicKeyCredentialPRFRegistrationInput? {
        get { fields[\.prf] }
        set { fields[\.prf] = newValue }
    }
}

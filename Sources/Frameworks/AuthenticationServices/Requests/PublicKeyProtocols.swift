public import Foundation

/// A credential with a key pair (Apple's `ASPublicKeyCredential`).
public protocol ASPublicKeyCredential: ASAuthorizationCredential {
    /// The client data, as JSON (WebAuthn 5.8.1). The relying party hashes exactly these bytes.
    var rawClientDataJSON: Data { get }
    var credentialID: Data { get }
}

/// A new credential (Apple's `ASAuthorizationPublicKeyCredentialRegistration`).
public protocol ASAuthorizationPublicKeyCredentialRegistration: ASPublicKeyCredential {
    /// CBOR with the public key in it (WebAuthn 6.5).
    var rawAttestationObject: Data? { get }
}

/// A signature (Apple's `ASAuthorizationPublicKeyCredentialAssertion`). As on Apple's systems its members are implicitly
/// unwrapped; they are never nil.
public protocol ASAuthorizationPublicKeyCredentialAssertion: ASPublicKeyCredential {
    /// The first part of the signed message, before the hash of the client data (WebAuthn 6.1).
    var rawAuthenticatorData: Data! { get }
    /// The user handle; empty when the authenticator names none.
    var userID: Data! { get }
    var signature: Data! { get }
}

/// A request for a new credential (Apple's `ASAuthorizationPublicKeyCredentialRegistrationRequest`).
public protocol ASAuthorizationPublicKeyCredentialRegistrationRequest: NSObjectProtocol, NSSecureCoding, NSCopying {
    /// The domain of the relying party.
    var relyingPartyIdentifier: String { get }
    /// The user handle, 1 to 64 bytes.
    var userID: Data { get set }
    /// The account, for example an address.
    var name: String { get set }
    var displayName: String? { get set }
    /// From the relying party, at least 16 bytes of randomness.
    var challenge: Data { get set }
    var userVerificationPreference: ASAuthorizationPublicKeyCredentialUserVerificationPreference { get set }
    var attestationPreference: ASAuthorizationPublicKeyCredentialAttestationKind { get set }
}

/// A request for a signature (Apple's `ASAuthorizationPublicKeyCredentialAssertionRequest`). Its `allowedCredentials` are in
/// the classes, each with its own kind of descriptor.
public protocol ASAuthorizationPublicKeyCredentialAssertionRequest: NSObjectProtocol, NSSecureCoding, NSCopying {
    /// From the relying party, at least 16 bytes of randomness.
    var challenge: Data { get set }
    /// The domain of the relying party.
    var relyingPartyIdentifier: String { get set }
    var userVerificationPreference: ASAuthorizationPublicKeyCredentialUserVerificationPreference { get set }
}

/// Names a credential (Apple's `ASAuthorizationPublicKeyCredentialDescriptor`).
public protocol ASAuthorizationPublicKeyCredentialDescriptor: NSObjectProtocol, NSSecureCoding, NSCopying {
    var credentialID: Data { get set }
}

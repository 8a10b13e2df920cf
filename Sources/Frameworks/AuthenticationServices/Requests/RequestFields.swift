import Foundation

/// The fields of all requests for a new credential.
struct RegistrationFields: Codable, Sendable {
    var relyingPartyIdentifier: String
    var challenge: Data
    var userID: Data
    var name: String
    var displayName: String?
    var userVerification = ASAuthorizationPublicKeyCredentialUserVerificationPreference.preferred
    var attestation = ASAuthorizationPublicKeyCredentialAttestationKind.none
    var residentKey = ASAuthorizationPublicKeyCredentialResidentKeyPreference.discouraged
    var algorithms: [ASCOSEAlgorithmIdentifier] = []
    var excluded: [DescriptorFields]?
    var shouldShowHybridTransport = true
    var isConditional = false
    var prf: ASAuthorizationPublicKeyCredentialPRFRegistrationInput?
    var largeBlob: ASAuthorizationPublicKeyCredentialLargeBlobRegistrationInput?
}

/// The fields of all requests for a signature.
struct AssertionFields: Codable, Sendable {
    var relyingPartyIdentifier: String
    var challenge: Data
    var userVerification = ASAuthorizationPublicKeyCredentialUserVerificationPreference.preferred
    var allowed: [DescriptorFields] = []
    var appID: String?
    var shouldShowHybridTransport = true
    var prf: ASAuthorizationPublicKeyCredentialPRFAssertionInput?
    var largeBlob: ASAuthorizationPublicKeyCredentialLargeBlobAssertionInput?
}

struct DescriptorFields: Codable, Sendable {
    var credentialID: Data
    var transports: [String] = []
}

import Foundation

/// The fields of all new credentials. The outputs of extensions are in no archive.
struct RegisteredFields: Codable, Sendable {
    var credentialID: Data
    var clientDataJSON: Data
    var attestationObject: Data
    var transports: [String]
    var isPlatform: Bool
    var largeBlob: ASAuthorizationPublicKeyCredentialLargeBlobRegistrationOutput?
    var prf: ASAuthorizationPublicKeyCredentialPRFRegistrationOutput?

    private enum CodingKeys: CodingKey {
        case credentialID, clientDataJSON, attestationObject, transports, isPlatform, largeBlob
    }
}

/// The fields of all signatures. The outputs of the PRF extension are in no archive.
struct AssertedFields: Codable, Sendable {
    var credentialID: Data
    var clientDataJSON: Data
    var authenticatorData: Data
    var signature: Data
    var userID: Data
    var usedAppID: Bool
    var isPlatform: Bool
    var largeBlob: ASAuthorizationPublicKeyCredentialLargeBlobAssertionOutput?
    var prf: ASAuthorizationPublicKeyCredentialPRFAssertionOutput?

    private enum CodingKeys: CodingKey {
        case credentialID, clientDataJSON, authenticatorData, signature, userID, usedAppID, isPlatform, largeBlob
    }
}

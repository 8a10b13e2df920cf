public import CAuthenticationServices
public import Foundation

/// Makes requests that this machine answers (Apple's class of the same name).
open class ASAuthorizationPlatformPublicKeyCredentialProvider: NSObject, ASAuthorizationProvider, @unchecked Sendable {
    // SAFETY: (@unchecked) nothing of it changes.

    /// The domain of the relying party.
    public let relyingPartyIdentifier: String

    /// - Parameter relyingPartyIdentifier: a domain that the program is registered for, for example `example.com`.
    public init(relyingPartyIdentifier: String) { self.relyingPartyIdentifier = relyingPartyIdentifier }

    /// A request for a new passkey.
    ///
    /// - Parameters:
    ///   - challenge: from the relying party.
    ///   - name: the account, for example an address.
    ///   - userID: the user handle, 1 to 64 bytes.
    open func createCredentialRegistrationRequest(
        challenge: Data, name: String, userID: Data
    ) -> ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest {
        ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest(
            RegistrationFields(
                relyingPartyIdentifier: relyingPartyIdentifier, challenge: challenge, userID: userID, name: name),
            provider: self)
    }

    /// The same with a style. Without a question nothing is registered here, so a conditional request fails.
    open func createCredentialRegistrationRequest(
        challenge: Data, name: String, userID: Data,
        requestStyle: ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest.RequestStyle
    ) -> ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest {
        let request = createCredentialRegistrationRequest(challenge: challenge, name: name, userID: userID)
        request.requestStyle = requestStyle
        return request
    }

    /// A request for a signature over the challenge.
    open func createCredentialAssertionRequest(
        challenge: Data
    ) -> ASAuthorizationPlatformPublicKeyCredentialAssertionRequest {
        ASAuthorizationPlatformPublicKeyCredentialAssertionRequest(
            AssertionFields(relyingPartyIdentifier: relyingPartyIdentifier, challenge: challenge), provider: self)
    }
}

public import Foundation

/// Makes requests that a security key answers (Apple's class of the same name). Such a request always asks the person.
open class ASAuthorizationSecurityKeyPublicKeyCredentialProvider: NSObject, ASAuthorizationProvider, @unchecked Sendable
{
    // SAFETY: (@unchecked) nothing of it changes.

    /// The domain of the relying party.
    public let relyingPartyIdentifier: String

    /// - Parameter relyingPartyIdentifier: a domain that the program is registered for, for example `example.com`.
    public init(relyingPartyIdentifier: String) { self.relyingPartyIdentifier = relyingPartyIdentifier }

    /// A request for a new credential.
    ///
    /// - Parameters:
    ///   - challenge: from the relying party.
    ///   - displayName: the name of the account's owner.
    ///   - name: the account, for example an address.
    ///   - userID: the user handle, 1 to 64 bytes.
    open func createCredentialRegistrationRequest(
        challenge: Data, displayName: String, name: String, userID: Data
    ) -> ASAuthorizationSecurityKeyPublicKeyCredentialRegistrationRequest {
        ASAuthorizationSecurityKeyPublicKeyCredentialRegistrationRequest(
            RegistrationFields(
                relyingPartyIdentifier: relyingPartyIdentifier, challenge: challenge, userID: userID, name: name,
                displayName: displayName), provider: self)
    }

    /// A request for a signature over the challenge.
    open func createCredentialAssertionRequest(
        challenge: Data
    ) -> ASAuthorizationSecurityKeyPublicKeyCredentialAssertionRequest {
        ASAuthorizationSecurityKeyPublicKeyCredentialAssertionRequest(
            AssertionFields(relyingPartyIdentifier: relyingPartyIdentifier, challenge: challenge), provider: self)
    }
}

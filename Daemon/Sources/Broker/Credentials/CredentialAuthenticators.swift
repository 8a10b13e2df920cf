package import AuthenticatorRequests

/// What makes and uses credentials of relying parties.
package struct CredentialAuthenticators: Sendable {
    /// The security keys that are plugged in; nil where the daemon cannot speak to them.
    package let securityKeys: (any CredentialAuthenticator)?
    /// This machine; nil where it is no authenticator.
    package let platform: (any CredentialAuthenticator)?

    package init(
        securityKeys: (any CredentialAuthenticator)? = nil, platform: (any CredentialAuthenticator)? = nil
    ) {
        (self.securityKeys, self.platform) = (securityKeys, platform)
    }

    package static let none = CredentialAuthenticators()

    subscript(attachment: AuthenticatorAttachment) -> (any CredentialAuthenticator)? {
        switch attachment {
        case .platform: platform
        case .crossPlatform: securityKeys
        }
    }
}

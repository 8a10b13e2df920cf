package import AuthenticatorRequests
package import SecurityKeys

/// The authenticators that make and use credentials of relying parties.
package struct CredentialAuthenticators: Sendable {
    /// The security keys that are plugged in; nil where the daemon cannot speak to them.
    package let securityKeys: (any CredentialAuthenticator)?
    /// The security keys that can be factors of rights; nil where no key is looked for.
    package let factorKeys: SecurityKeys?
    /// This machine; nil where it is no authenticator.
    package let platform: (any CredentialAuthenticator)?

    package init(
        securityKeys: (any CredentialAuthenticator)? = nil, factorKeys: SecurityKeys? = nil,
        platform: (any CredentialAuthenticator)? = nil
    ) {
        (self.securityKeys, self.factorKeys, self.platform) = (securityKeys, factorKeys, platform)
    }

    package static let none = CredentialAuthenticators()

    subscript(attachment: AuthenticatorAttachment) -> (any CredentialAuthenticator)? {
        switch attachment {
        case .platform: platform
        case .crossPlatform: securityKeys
        }
    }
}

package import Authenticators
package import Owners

extension OwnerAccount {
    package var passkeys: PasskeyStore { PasskeyStore(rights) }

    /// This machine as an authenticator, for a request of the program that `asking` names.
    package func platformAuthenticator(_ asking: Asking) -> PlatformAuthenticator {
        PlatformAuthenticator(OwnerPasskeys(of: self, asking: asking, through: .program))
    }
}

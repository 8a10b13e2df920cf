package import Auditing
package import Authenticators
package import Passkeys

extension OwnerAccount {
    package var passkeys: PasskeyStore { PasskeyStore(rights) }

    /// This machine as an authenticator, for a request of the program that `asking` names.
    package func platformAuthenticator(_ asking: Asking, _ trail: AuditTrail) -> PlatformAuthenticator {
        let passkeys = OwnerPasskeys(
            passkeys, evaluator: evaluator, keeper: keeper, stretching: stretching, trail: trail, asking: asking
        ) { [changing] body in try changing.withLock(body) }
        return PlatformAuthenticator(passkeys)
    }
}

package import Auditing
package import Authenticators
package import Owners
import Passcodes
package import Passkeys

extension OwnerAccount {
    package var passkeys: PasskeyStore { PasskeyStore(rights) }

    /// This machine as an authenticator, for a request of the program that `asking` names.
    package func platformAuthenticator(_ asking: Asking, _ trail: AuditTrail) -> PlatformAuthenticator {
        PlatformAuthenticator(ownerPasskeys(asking, trail, through: .program))
    }

    /// The passkeys for one request of the program that `asking` names.
    func ownerPasskeys(_ asking: Asking, _ trail: AuditTrail, through door: OwnerPasskeys.Door) -> OwnerPasskeys {
        OwnerPasskeys(
            passkeys, evaluator: evaluator, keeper: keeper, stretching: stretching, trail: trail, asking: asking,
            through: door, clock: { [clock] in clock.now().time },
            whileChanging: { [changing] body in try changing.withLock(body) },
            make: { [self] draft, store in try make(draft, storing: store) })
    }
}

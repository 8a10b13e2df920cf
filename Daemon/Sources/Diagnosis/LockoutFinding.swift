import Authenticators
import OstiaryMessages
import OwnerKeys
import Owners
import Refusals

/// The doctor's finding on the delay after wrong passcodes.
extension Examination {
    func lockoutFinding() -> WireFinding {
        let check = "lockout"
        guard account.ring.isPasscodeSet else { return .ok(check, "There is no passcode that could be wrong.") }
        guard let attempts = account.knownAttempts() else {
            return .notice(
                check, "It is not known how many wrong passcodes were entered, so none is accepted.",
                advice: "See the line `wrong tries`.")
        }
        guard attempts.remaining > .zero else {
            guard let outlook = attempts.outlook else {
                return .ok(check, "No wrong passcode was entered since the last right one.")
            }
            return .notice(
                check,
                "Wrong passcodes since the last right one: \(attempts.failedCount). \(outlook.consequence)",
                advice:
                    "If it was not you, a program or somebody at this machine guesses: `ostiary log` tells which. The "
                    + "right passcode sets the count to zero.")
        }
        guard attempts.remaining < AttemptStatus.forGood else {
            return .problem(
                check, "The chip looks at no passcode any more, for good.",
                advice: "See the line `wrong tries in the TPM`.")
        }
        return .problem(
            check,
            "After \(attempts.failedCount) wrong passcodes none is accepted for \(Refusal.readable(attempts.remaining)).",
            advice: "Wait. If it was not you, a program or somebody at this machine guesses: `ostiary log` tells which."
        )
    }
}

package import Auditing
import Authenticators
package import KeySlots
import Logging
package import OwnerKeys
package import Owners
import Refusals

extension SessionServices {
    /// Changes an owner's passcode under their lock, recorded before and after, and begins the log's next epoch. What ended the request
    /// while it waited for the lock is heeded.
    ///
    /// - Parameters:
    ///   - requester: whose request it is.
    ///   - change: makes the change, and returns the new passcode key; nil where there is no passcode any more.
    package func changePasscode(
        _ event: AuditTrail.Event, of account: OwnerAccount, as requester: StretchRequester,
        _ change: (borrowing StretchTurn) throws -> PrivateHalf?
    ) throws {
        try account.keeper.exclusively.withStretchTurn(as: requester) { turn in
            try account.changing.withLock {
                try requester.check()
                try account.trail.change(event)
                let passcode: PrivateHalf?
                var failure: (any Error)?
                do { passcode = try change(turn) } catch let unfinished as UnfinishedPasscodeChange {
                    // The keys are other ones already, whichever passcode opens them.
                    passcode = unfinished.passcode
                    failure = unfinished.reason
                }
                registry.endKeptFactors(of: account)
                if passcode != nil { account.biometry?.passcodeWasEntered() }
                account.recentBiometry.forget()
                environment.mayHaveChanged(of: account, askingSensor: true)
                beginEpoch(of: account, under: passcode)
                if let failure { throw failure }
            }
        }
        account.trail.note(event)
    }

    /// The change is made already. When the log cannot take a new epoch, the present one goes on, whose seed lies under the
    /// new passcode too; whatever releases something then fails until the log can be written.
    private func beginEpoch(of account: OwnerAccount, under passcode: PrivateHalf?) {
        do { try account.trail.beginEpoch(under: passcode) } catch {
            log.error("the audit log began no epoch", metadata: ["cause": "\(error)"])
        }
    }
}

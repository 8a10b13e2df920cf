import AccessControl
import Authenticators
import Callers
import DeviceEvents
import Foundation
import Logging
package import OstiaryMessages
import OwnerKeys
package import Owners
import Passcodes
import Refusals
import Synchronization
import Threading

/// The ways to authenticate users, and the programs that watch for their changes.
package final class EnvironmentFollower: Sendable {
    let watches: EnvironmentWatches
    /// Nil where readers are not followed.
    let plugs = Mutex<PlugWatcher?>(nil)
    let owners: OwnerRegistry
    let log: Logger
    private let clock: any BootClock

    init(of owners: OwnerRegistry, _ limits: ShareLimits, clock: any BootClock, log: Logger) {
        watches = EnvironmentWatches(limits)
        self.owners = owners
        self.clock = clock
        self.log = log
    }

    /// The state that the program of `session` is told. Asks the sensor, and may block.
    package func message(for session: Session) -> WireEnvironment {
        let account = session.account
        let environment = environment(of: account, with: account.sensor?.sensorState())
        // A state that a program read is told to the watches too, though it may end before the next look. An answer that is older than
        // the last look is corrected when the watch is left again.
        if !watches.all(of: account).isEmpty {
            // The names of the watching programs may take for ever to find out, and this request must not wait for them.
            account.looks.run { [weak self, weak account] in
                guard let self, let account else { return }
                answerWatches(of: account, with: environment)
            }
        }
        return message(environment, for: session)
    }

    private func message(_ environment: OwnerEnvironment, for session: Session) -> WireEnvironment {
        environment.message(for: session.caller.application, session.account.domainDigests)
    }

    private func environment(of account: OwnerAccount, with sensor: SensorState?) -> OwnerEnvironment {
        OwnerEnvironment(
            sensor: sensor, isPasscodeSet: account.ring.isPasscodeSet,
            isPasscodeUsable: isPossible { try preflightPasscode(account) },
            companions: companionState(of: account))
    }

    private func companionState(of account: OwnerAccount) -> CompanionState? {
        let isUsable: Bool
        switch try? account.evaluator.authenticators[.securityKey].availability(of: .securityKey, for: nil) {
        case .available: isUsable = true
        case .unavailable(.securityKeyNotPresent): isUsable = false
        // Not enrolled, or not to be found out: nothing is said that a program could rely on.
        case .unavailable, nil: return nil
        }
        // Nil where another authenticator has the keys, or their list cannot be read.
        return CompanionState(isUsable: isUsable, enrolledSet: (try? account.securityKeys?.record())?.enrolledSet)
    }

    private func preflightPasscode(_ account: OwnerAccount) throws {
        let passcode = try Requirement(anyOf: [.passcode])
        try account.evaluator.preflight(
            Demand(requirements: [passcode], availability: nil, object: "", operation: ""))
    }

    private func isPossible(_ preflight: () throws -> Void) -> Bool {
        do {
            try preflight()
            return true
        } catch { return false }
    }

    // MARK: watching

    /// Leaves a watch of an environment that was looked at after the account's counts of changes were `changes`.
    func leave(_ watch: EnvironmentWatch, after changes: EnvironmentChanges) throws(Refusal) {
        let account = watch.session.account
        try watches.add(watch)
        // The passcode may not have been entered yet, which would begin it too.
        account.biometry?.follow()
        // A change between look and watch was seen by neither.
        let present = account.environmentChanges.withLock { $0 }
        if present != changes {
            mayHaveChanged(of: account, askingSensor: present.ofSensor != changes.ofSensor)
        }
        let passcode = watch.known.passcode
        expectEndOfDelay(of: account, wasDelayed: passcode.isSet && !passcode.isUsable)
    }

    /// To be called after whatever may have changed how `account` is authenticated. Costs next to nothing while nobody watches.
    ///
    /// - Parameter askingSensor: whether the sensor may have changed; otherwise what it said last stands.
    package func mayHaveChanged(of account: OwnerAccount, askingSensor: Bool = false) {
        account.environmentChanges.withLock { $0.count(ofSensor: askingSensor) }
        guard !watches.all(of: account).isEmpty else { return }
        // One look at a time: a look that began before a change must not answer after one that saw the change.
        account.looks.run { [weak self, weak account] in
            guard let self, let account else { return }
            look(at: account, with: askingSensor ? account.sensor?.sensorState() : account.sensor?.lastSensorState)
        }
    }

    private func look(at account: OwnerAccount, with sensor: SensorState?) {
        let wasDelayed = isDelayed(account)
        answerWatches(of: account, with: environment(of: account, with: sensor))
        expectEndOfDelay(of: account, wasDelayed: wasDelayed)
    }

    /// Answers the watches of programs that know another state.
    private func answerWatches(of account: OwnerAccount, with environment: OwnerEnvironment) {
        for watch in watches.all(of: account) {
            let message = message(environment, for: watch.session)
            guard message != watch.known, watches.take(of: watch.session, requestID: watch.requestID) != nil else {
                continue
            }
            // Its program may be slow to take the answer, which must not hold up the other ones.
            Threads.startEventually("ostiary-watch") {
                watch.session.answer(watch.requestID, with: .environment(message))
            }
        }
    }

    private func isDelayed(_ account: OwnerAccount) -> Bool {
        (account.knownAttempts()?.remaining ?? .zero) > .zero
    }

    /// A delay after wrong passcodes ends by itself, and nobody sends a request then.
    ///
    /// - Parameter wasDelayed: whether the last look may have seen a delay. One that has ended since is looked at again.
    private func expectEndOfDelay(of account: OwnerAccount, wasDelayed: Bool) {
        guard let delay = account.knownAttempts()?.remaining, delay > .zero else {
            if wasDelayed { mayHaveChanged(of: account) }
            return
        }
        let end = clock.now().time + delay
        let isFirst = account.nextLook.withLock { next in
            // One that comes at about that time, or sooner, serves as well: it expects the rest again.
            if let next, next < end + .seconds(1) { return false }
            next = end
            return true
        }
        guard isFirst else { return }
        let looks = account.looks
        clock.run(after: delay, on: { looks.run(after: $0, $1) }) { [weak self, weak account] in
            guard let self, let account else { return }
            account.nextLook.withLock { if $0 == end { $0 = nil } }
            mayHaveChanged(of: account)
        }
    }
}

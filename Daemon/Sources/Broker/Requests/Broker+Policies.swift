import AccessControl
import Authenticators
import Callers
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import Prompting
import ProtectedObjects
import Refusals
import Sessions
import UnixSocket

/// The policies of an `LAContext`.
extension Broker {
    func evaluatePolicy(_ body: WireEvaluatePolicyRequest, _ exchange: Exchange) throws -> Reply {
        let policy = try OwnerPolicy(number: body.policy)
        if body.preflight {
            try preflight(
                policy, held: held(inContext: body.contextID, exchange), exchange.account,
                for: exchange.caller.credentials)
            return .done
        }
        let context = try exchange.contexts.context(body.contextID)
        let event = exchange.event("evaluate-policy", operation: "policy \(body.policy)")
        if let grant = context.policyGrant(body.policy) {
            return try grantAgain(
                grant.factorNames, grant.strength, as: event, exchange, biometry: knownBiometry(for: exchange),
                whileStanding: { try Self.require(context.policyGrant(body.policy) != nil) })
        }
        let asking = try exchange.asking(body.question)
        let held = exchange.account.held(in: context)
        try preflight(policy, held: held, exchange.account)
        if policy.acceptsBiometry, let recent = reusableProof(for: body, exchange) {
            let reused = exchange.event("evaluate-policy", operation: "policy \(body.policy), reused")
            return try grantAgain(
                [recent.factorName], recent.strength, as: reused, exchange, biometry: knownBiometry(for: exchange),
                whileStanding: { try Self.require(recentProof(for: body, exchange.account) != nil) })
        }
        let evaluation = try context.evaluating(asking.cancellation) { era in
            let evaluation = try exchange.account.evaluator.evaluate(
                policy.demand(), held: held, keepingFor: context.keepingTime, asking: asking)
            try grant(evaluation, asking, exchange, as: event) {
                let grant = EvaluationContext.PolicyGrant(
                    factorNames: evaluation.factorNames, strength: evaluation.label)
                try context.keep(evaluation, since: era)
                try context.grant(policy: body.policy, grant, since: era)
            }
            return evaluation
        }
        return Reply(
            .granted(granted(evaluation.factorNames, evaluation.label, biometry: knownBiometry(for: exchange))))
    }

    /// Biometry as it was found last, for the program of `session`: the person waits for the answer, and nobody asks the sensor
    /// again for it.
    private func knownBiometry(for exchange: Exchange) -> WireBiometry? {
        let account = exchange.account
        return account.sensor?.lastSensorState?.message(
            isPasscodeSet: account.ring.isPasscodeSet, for: exchange.caller.application, account.domainDigests)
    }

    /// A biometric proof that is recent enough for the program and of the set that is enrolled now; nil when there is none, or
    /// biometry could not be proved now, or not for this program. Asks the sensor, and where the program is.
    private func reusableProof(for body: WireEvaluatePolicyRequest, _ exchange: Exchange) -> RecentBiometry.Proved? {
        guard body.reuseSeconds > 0 else { return nil }
        let account = exchange.account
        if account.sensor?.sensorState()?.unavailability == .biometryLockout { account.recentBiometry.forget() }
        guard let recent = recentProof(for: body, account) else { return nil }
        // Where the program's own question would arm no sensor, a finger at another question does not answer for it either.
        let refusal = account.evaluator.prompter.sensorRefusal(
            ofProcess: exchange.caller.credentials.processID, of: exchange.caller.credentials.userID)
        return refusal == nil ? recent : nil
    }

    /// The same by what the sensor said last.
    private func recentProof(for body: WireEvaluatePolicyRequest, _ account: OwnerAccount) -> RecentBiometry.Proved? {
        guard let state = account.sensor?.lastSensorState, state.unavailability == nil else { return nil }
        return account.recentBiometry.proof(
            within: body.reuseSeconds, at: clock.now().time, enrolledSet: state.enrolledSet)
    }

    /// Throws why a policy could not be evaluated now; never prompts.
    ///
    /// - Parameter process: the process for which it would be; nil where its question will tell.
    func preflight(
        _ policy: OwnerPolicy, held: HeldFactors, _ account: OwnerAccount, for process: PeerCredentials? = nil
    ) throws {
        try account.evaluator.preflight(policy.demand(), held: held, for: process)
        // Biometry stands on the passcode, and without one there is nothing to fall back to.
        guard policy.acceptsBiometry, !account.ring.isPasscodeSet else { return }
        guard policy.acceptsCompanion else { throw Refusal.passcodeNotSet }
        do { try account.evaluator.preflight(OwnerPolicy.companion.demand(), held: held) } catch {
            throw Refusal.passcodeNotSet
        }
    }
}

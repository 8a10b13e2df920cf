import AccessControl
import Authenticators
import Callers
import OstiaryWire
import OwnerKeys
import Passcodes
import ProtectedObjects
import Refusals

/// The policies of an `LAContext`.
extension Broker {
    func evaluatePolicy(
        _ body: WireEvaluatePolicyRequest, _ request: IncomingRequest, _ session: Session,
        _ cancellation: RequestCancellation?
    ) throws -> Reply {
        let policy = try OwnerPolicy(number: body.policy)
        if body.preflight {
            try preflight(
                policy, held: held(inContext: body.contextID, session), session.account,
                forProcess: session.caller.program.processID)
            return .done
        }
        let context = try session.contexts.context(body.contextID)
        let event = event("evaluate-policy", session, operation: "policy \(body.policy)")
        if let grant = context.policyGrant(body.policy) {
            return try grantAgain(
                grant.factorNames, grant.strength, as: event, session,
                whileStanding: { try Self.require(context.policyGrant(body.policy) != nil) })
        }
        let asking = try asking(body.question, request, session, cancellation)
        let held = session.account.held(in: context)
        try preflight(policy, held: held, session.account)
        if policy.acceptsBiometry, let recent = reusableProof(for: body, session.account) {
            let reused = self.event("evaluate-policy", session, operation: "policy \(body.policy), reused")
            return try grantAgain(
                [recent.factorName], recent.strength, as: reused, session,
                whileStanding: { try Self.require(recentProof(for: body, session.account) != nil) })
        }
        let evaluation = try context.evaluating(asking.cancellation) { era in
            let evaluation = try session.account.evaluator.evaluate(
                policy.demand(), held: held, keepingFor: context.keepingTime, asking: asking)
            try grant(evaluation, asking, session, as: event) {
                let grant = EvaluationContext.PolicyGrant(
                    factorNames: evaluation.factorNames, strength: evaluation.label)
                try context.keep(evaluation, since: era)
                try context.grant(policy: body.policy, grant, since: era)
            }
            return evaluation
        }
        return Reply(.granted(granted(evaluation.factorNames, evaluation.label)))
    }

    /// A biometric proof that is recent enough for the program and of the set that is enrolled now; nil when there is none, or
    /// biometry could not be proved now. Asks the sensor.
    private func reusableProof(
        for body: WireEvaluatePolicyRequest, _ account: OwnerAccount
    ) -> RecentBiometry.Proved? {
        guard body.reuseSeconds > 0 else { return nil }
        if account.sensor?.sensorState()?.unavailability == .biometryLockout { account.recentBiometry.forget() }
        return recentProof(for: body, account)
    }

    /// The same by what the sensor said last.
    private func recentProof(
        for body: WireEvaluatePolicyRequest, _ account: OwnerAccount
    ) -> RecentBiometry.Proved? {
        guard let state = account.sensor?.lastSensorState, state.unavailability == nil else { return nil }
        return account.recentBiometry.proof(
            within: body.reuseSeconds, at: clock.now().time, enrolledSet: state.enrolledSet)
    }

    /// Throws why a policy could not be evaluated now; never prompts.
    ///
    /// - Parameter processID: the process for which it would be; nil where its question will tell.
    func preflight(
        _ policy: OwnerPolicy, held: HeldFactors, _ account: OwnerAccount, forProcess processID: Int32? = nil
    ) throws {
        try account.evaluator.preflight(policy.demand(), held: held, forProcess: processID)
        // Biometry stands on the passcode, and without one there is nothing to fall back to.
        guard policy.acceptsBiometry, !account.ring.isPasscodeSet else { return }
        guard policy.acceptsCompanion else { throw Refusal.passcodeNotSet }
        do { try account.evaluator.preflight(OwnerPolicy.companion.demand(), held: held) } catch {
            throw Refusal.passcodeNotSet
        }
    }
}

import AccessControl
package import Authenticators
package import KeySlots
import Passcodes
package import Refusals
import Synchronization

/// What a context keeps of factors, and the application password.
extension EvaluationContext {
    /// What need not be asked for here.
    ///
    /// - Parameters:
    ///   - publicHalves: the present keys; a factor whose key was changed since it was proved is worth nothing.
    ///   - subject: what it is to open; nil for what has no limits. What is kept is worth nothing for an object whose limits it
    ///     has reached.
    package func held(under publicHalves: [PublicHalf], for subject: LimitedSubject? = nil) -> HeldFactors {
        let now = clock.now().time
        return contents.withLock { contents in
            guard let kept = contents.kept, now < kept.end,
                kept.held.proofs.compactMap(\.half).allSatisfy({ publicHalves.contains($0.publicHalf) })
            else {
                contents.endKept()
                return .none
            }
            return contents.meter(of: subject)?.end(at: now) == nil ? kept.held : .none
        }
    }

    /// Keeps the proofs of an evaluation. To be called once the evaluation is recorded. A proof from before another set of
    /// fingers or another passcode is not kept: the evaluation is over, and the next one asks.
    ///
    /// - Parameter password: the application password that the person entered, which no object has checked yet.
    package func keep(
        _ evaluation: Evaluation, enteredPassword password: Credential? = nil, since era: Era
    ) throws(Refusal) {
        guard keepsFactors else { return }
        let now = clock.now().time
        try add(since: era) { contents in
            guard contents.keptEra == era.kept else { return nil }
            let newer = KeptFactors(evaluation, password: password, KeptTime(since: now, lifetime: lifetime))
            if let kept = contents.kept, now < kept.end {
                contents.kept?.add(newer)
            } else {
                contents.endKept()
                contents.kept = newer
            }
            return nil
        }
        wipeLater()
    }

    /// Ends the kept factors, the policies that they satisfied, and the objects that stay open only for as long. The
    /// grants of an authorized right stand, as they stand on no kept factor.
    package func endKeptFactors() {
        endGrants { contents in
            contents.rights = contents.rights.filter { $0.value.time == nil }
            contents.endKept()
            contents.policies = [:]
            // Nor may the object under evaluation keep it.
            contents.keptEra += 1
        }
    }

    /// Ends the grants of the current set of fingers, which is another one now.
    package func endGrantsOfCurrentSet() {
        endGrants { contents in
            let rights = contents.rights.filter { Self.isOfCurrentSet($0.value.right.factorNames) }
            let requirements = contents.requirements.filter { Self.isOfCurrentSet($0.value.factorNames) }
            for id in rights.keys { (contents.rights[id], contents.meters[.object(id)]) = (nil, nil) }
            for rule in requirements.keys {
                (contents.requirements[rule], contents.meters[.requirement(rule)]) = (nil, nil)
            }
        }
    }

    static func isOfCurrentSet(_ factorNames: [String]) -> Bool {
        factorNames.contains { $0.hasPrefix(Factor.biometryCurrentSet.name) }
    }

    private func endGrants(_ change: (inout Contents) -> Void) {
        let hasEnded = contents.withLock { contents in
            let count = contents.rights.count + contents.requirements.count
            change(&contents)
            return contents.rights.count + contents.requirements.count < count
        }
        if hasEnded { ended([]) }
    }

    /// Whether anything is kept, expired or not.
    var isKeepingFactors: Bool { contents.withLock { $0.kept != nil } }

    // MARK: credentials

    package func setApplicationPassword(_ password: Credential?) {
        contents.withLock { $0.applicationPassword = $0.isInvalid ? nil : password }
    }

    /// Whether the program gave the context a password.
    package var isApplicationPasswordSet: Bool { contents.withLock { $0.applicationPassword != nil } }

    /// The password that the program gave, else the one that the person entered here, for as long as that is kept.
    package var applicationPassword: Credential? { applicationPassword(for: nil) }

    /// The same for an object; what the person entered is worth nothing for one whose limits it has reached.
    package func applicationPassword(for subject: LimitedSubject?) -> Credential? {
        let now = clock.now().time
        return contents.withLock { contents in
            if let given = contents.applicationPassword { return given }
            guard let kept = contents.kept, now < kept.end, contents.meter(of: subject)?.end(at: now) == nil else {
                return nil
            }
            return kept.password
        }
    }
}

package import AccessControl
package import Authenticators
import Dispatch
import Enclave
package import Foundation
package import KeySlots
import OstiaryMessages
package import Passcodes
package import Refusals
import SecretMemory
import Synchronization
package import Vault

/// What an `LAContext` or an authorized `LARight` is on this side: the only place where grants are kept.
///
/// It holds as little as it can: of a right the opened key and the access secret, never the factor's key that opened it. Only
/// a context that was opened for it keeps factors besides. There, factors and opened keys end by themselves, within the limits
/// of ``KeptTime``; the grants of an authorized right stand until something ends them.
package final class EvaluationContext: Sendable {
    /// How long an evaluated policy stays evaluated in its context. Apple's is measured between five and ten minutes.
    package static let policyLifetime = Duration.seconds(300)

    private struct Contents {
        var rights: [VaultID: RightGrant] = [:]
        var policies: [Int32: PolicyGrant] = [:]
        var requirements: [Data: RequirementGrant] = [:]
        /// The program's own. What the person enters is among ``kept``.
        var applicationPassword: Credential?
        var kept: KeptFactors?
        var isWipeDue = false
        var evaluations: [ObjectIdentifier: RequestCancellation] = [:]
        /// Counts the times that all grants were ended: what was begun before must not be granted after.
        var era: UInt64 = 0
        var isInvalid = false

        /// When the first of what ends by itself does; nil when there is none of that.
        var nextEnd: Duration? { ([kept?.end] + rights.values.map { $0.time?.end }).compactMap(\.self).min() }
    }

    private struct RightGrant {
        let right: OpenedRight
        /// Nil where it does not end by itself.
        var time: KeptTime?

        func isOver(at now: Duration) -> Bool { time.map { now >= $0.end } ?? false }
    }

    package struct PolicyGrant: Sendable {
        package let factorNames: [String]
        package let strength: String
        /// On CLOCK_BOOTTIME.
        let expires: Duration

        package init(factorNames: [String], strength: String, expires: Duration) {
            self.factorNames = factorNames
            self.strength = strength
            self.expires = expires
        }
    }

    /// What satisfied a requirement that no right is behind.
    package struct RequirementGrant: Sendable {
        package let factorNames: [String]
        package let strength: String

        package init(factorNames: [String], strength: String) {
            self.factorNames = factorNames
            self.strength = strength
        }
    }

    /// Whether what is proved here is kept.
    package let keepsFactors: Bool
    private let clock: any BootClock
    private let contents = Mutex(Contents())

    package init(keepsFactors: Bool, clock: any BootClock) {
        self.keepsFactors = keepsFactors
        self.clock = clock
    }

    // MARK: grants

    /// Keeps an opened right, unless grants were ended since `era`: a lock in between must not be survived.
    package func grant(_ right: OpenedRight, since era: UInt64) throws(Refusal) {
        let now = clock.now().time
        try add(since: era) { contents in
            var time: KeptTime?
            if keepsFactors {
                // It may stand on what is kept, and then must not outlive that.
                let older = contents.kept.flatMap { now < $0.end ? $0.time.since : nil }
                time = KeptTime(since: older ?? now, now: now)
            }
            contents.rights[right.id] = RightGrant(right: right, time: time)
        }
        wipeLater()
    }

    /// The opened right, when it was authorized in this context and nothing has ended that since.
    package func heldRight(_ id: VaultID) -> OpenedRight? {
        let now = clock.now().time
        return contents.withLock { contents in
            guard let grant = contents.rights[id], !grant.isOver(at: now) else {
                contents.rights[id] = nil
                return nil
            }
            return grant.right
        }
    }

    /// The opened right, when it was authorized in this context for `operation`, which is a use of it.
    package func right(_ id: VaultID, for operation: AccessControl.Operation) throws(Refusal) -> OpenedRight {
        guard let right = heldRight(id) else { throw Self.notAuthorized }
        let now = clock.now().time
        contents.withLock { $0.rights[id]?.time?.use(at: now) }
        guard right.operations.contains(operation) else {
            throw Refusal(
                .operationNotPermitted, "The right's access control does not permit this operation.",
                cause: "right.operation-not-permitted")
        }
        return right
    }

    /// Throws unless `right` is what this context holds still: neither ended nor authorized anew since it was taken.
    package func requireHeld(_ right: OpenedRight) throws(Refusal) {
        guard heldRight(right.id) === right else { throw Self.notAuthorized }
    }

    private static let notAuthorized = Refusal(
        .notAuthorized, "The right is not authorized in this context; authorize it first.",
        cause: "right.not-authorized")

    /// Keeps that the requirement with these canonical bytes was satisfied, for as long as a right would be authorized.
    package func grant(requirement: Data, _ grant: RequirementGrant, since era: UInt64) throws(Refusal) {
        let isFull = contents.withLock { contents in
            contents.requirements.count >= ContextLimits.requirementCount && contents.requirements[requirement] == nil
        }
        guard !isFull else { throw Refusal(.tooMany, "The context holds too many requirements; use a new one.") }
        try add(since: era) { $0.requirements[requirement] = grant }
    }

    /// What satisfied the requirement in this context, when nothing has ended that since.
    package func heldRequirement(_ requirement: Data) -> RequirementGrant? {
        contents.withLock { $0.requirements[requirement] }
    }

    package func grant(policy: Int32, _ grant: PolicyGrant, since era: UInt64) throws(Refusal) {
        try add(since: era) { $0.policies[policy] = grant }
    }

    /// To be read before something is proved, for ``requireEra(_:)``.
    package var era: UInt64 { contents.withLock { $0.era } }

    /// Throws when grants were ended since `era`, or the context was invalidated.
    package func requireEra(_ era: UInt64) throws(Refusal) {
        guard contents.withLock({ $0.era == era && !$0.isInvalid }) else { throw RequestCancellation.refusal(.caller) }
    }

    private func add(since era: UInt64, _ change: (inout Contents) -> Void) throws(Refusal) {
        let isCurrent = contents.withLock { contents in
            guard contents.era == era, !contents.isInvalid else { return false }
            change(&contents)
            return true
        }
        if !isCurrent { throw RequestCancellation.refusal(.locked) }
    }

    /// What satisfied `policy` in this context, unless it has expired.
    package func policyGrant(_ policy: Int32, now: Duration) -> PolicyGrant? {
        contents.withLock { contents in
            guard let grant = contents.policies[policy], now < grant.expires else {
                contents.policies[policy] = nil
                return nil
            }
            return grant
        }
    }

    func endGrant(on object: VaultID) { contents.withLock { _ = $0.rights.removeValue(forKey: object) } }

    /// Ends every grant and what is being evaluated; the context stays usable.
    package func endAllGrants(because reason: RequestCancellation.Reason = .locked) {
        let evaluations = contents.withLock { contents in
            contents.rights = [:]
            contents.policies = [:]
            contents.requirements = [:]
            contents.kept = nil
            contents.era += 1
            return Array(contents.evaluations.values)
        }
        for evaluation in evaluations { evaluation.cancel(reason) }
    }

    func invalidate() {
        contents.withLock { contents in
            contents.isInvalid = true
            contents.applicationPassword = nil
        }
        endAllGrants(because: .caller)
    }

    // MARK: kept factors

    /// What need not be asked for here.
    ///
    /// - Parameter publicHalves: the present keys; a factor whose key was changed since it was proved is worth nothing.
    package func held(under publicHalves: [PublicHalf]) -> HeldFactors {
        let now = clock.now().time
        return contents.withLock { contents in
            guard let kept = contents.kept, now < kept.end,
                kept.held.proofs.compactMap(\.half).allSatisfy({ publicHalves.contains($0.publicHalf) })
            else {
                contents.kept = nil
                return .none
            }
            return kept.held
        }
    }

    /// Keeps what an evaluation proved, or notes that what is kept was used. To be called once the evaluation is recorded.
    ///
    /// - Parameter password: the application password that the person entered, which no object has checked yet.
    package func keep(
        _ evaluation: Evaluation, enteredPassword password: Credential? = nil, since era: UInt64
    ) throws(Refusal) {
        guard keepsFactors else { return }
        let now = clock.now().time
        try add(since: era) { contents in
            let newer = KeptFactors(evaluation, password: password, at: now)
            if let kept = contents.kept, now < kept.end {
                contents.kept?.use(at: now, adding: newer)
            } else {
                contents.kept = newer
            }
        }
        wipeLater()
    }

    package func endKeptFactors() { contents.withLock { $0.kept = nil } }

    /// Wipes what is kept when its time has come, whether or not anybody looks at it.
    private func wipeLater() {
        let now = clock.now().time
        let delay: Duration? = contents.withLock { contents in
            guard !contents.isWipeDue, let end = contents.nextEnd else { return nil }
            contents.isWipeDue = true
            return end - now
        }
        guard let delay else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + max(delay / .seconds(1), 0)) { [weak self] in
            self?.wipeExpired()
        }
    }

    /// Wipes what is kept if its time has come.
    func wipeExpired() {
        let now = clock.now().time
        contents.withLock { contents in
            contents.isWipeDue = false
            if let kept = contents.kept, now >= kept.end { contents.kept = nil }
            contents.rights = contents.rights.filter { !$0.value.isOver(at: now) }
        }
        wipeLater()
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
    package var applicationPassword: Credential? {
        let now = clock.now().time
        return contents.withLock { contents in
            if let given = contents.applicationPassword { return given }
            guard let kept = contents.kept, now < kept.end else { return nil }
            return kept.password
        }
    }

    // MARK: what is being evaluated

    /// Runs `body` so that ending the context's grants cancels it, and gives it the era that it may grant in.
    package func evaluating<Result: ~Copyable>(
        _ cancellation: RequestCancellation, _ body: (_ era: UInt64) throws -> Result
    ) throws -> Result {
        let (era, isInvalid) = contents.withLock { contents in
            contents.evaluations[ObjectIdentifier(cancellation)] = cancellation
            return (contents.era, contents.isInvalid)
        }
        defer { contents.withLock { _ = $0.evaluations.removeValue(forKey: ObjectIdentifier(cancellation)) } }
        guard !isInvalid else { throw Refusal(.unknownContext, "The context was invalidated.") }
        return try body(era)
    }
}

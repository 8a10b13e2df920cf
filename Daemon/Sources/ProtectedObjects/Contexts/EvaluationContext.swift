package import AccessControl
package import Authenticators
import Enclave
package import ExactNames
package import Foundation
import KeySlots
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
/// of ``KeptTime``; the grants of an authorized right stand until something ends them. The limits of an object (``GrantMeter``)
/// end a grant sooner, in either kind of context.
package final class EvaluationContext: Sendable {
    struct Contents {
        var rights: [VaultID: RightGrant] = [:]
        /// Objects that were authorized under a lease. The context has nothing else of them: each use asks the lease.
        var leased: [VaultID: ProgramQuota.Place] = [:]
        var policies: [Int32: (grant: PolicyGrant, time: KeptTime)] = [:]
        var requirements: [Data: RequirementGrant] = [:]
        /// Of what has limits: those of grants that stand or have ended, and of objects that were used with what is kept.
        var meters: [GrantSubject: (meter: GrantMeter, place: ProgramQuota.Place)] = [:]
        /// Of grants that the owner revoked, until they are granted again.
        var revoked: [GrantSubject: ProgramQuota.Place] = [:]
        /// The program's own. What the person enters is among ``kept``.
        var applicationPassword: Credential?
        var kept: KeptFactors?
        var wipeTimer: WipeTimer?
        var evaluations: [ObjectIdentifier: RequestCancellation] = [:]
        /// Counts the times that all grants were ended: what was begun before must not be granted after.
        var era: UInt64 = 0
        /// Counts how often another set of fingers or another passcode ended the kept proofs.
        var keptEra: UInt64 = 0
        var isInvalid = false
    }

    /// The moment at which something began to be proved.
    package struct Era: Equatable, Sendable {
        let grants: UInt64
        let kept: UInt64
    }

    struct RightGrant {
        let number = GrantNumber.next()
        let right: OpenedRight
        let place: ProgramQuota.Place
        let since: Duration
        /// Nil where the context keeps nothing, so that it does not end with what is kept.
        let time: KeptTime?
        let purpose: GrantPurpose

        /// Whether it was given for this use. One without a purpose serves SSH too, unless the key is for SSH alone: its questions name host
        /// or namespace.
        func serves(_ use: GrantPurpose) -> Bool {
            purpose == use || purpose == .anything && right.sshConstraints == nil
        }

        func isOver(at now: Duration) -> Bool { time.map { now >= $0.end } ?? false }
    }

    package struct PolicyGrant: Sendable {
        package let factorNames: [String]
        package let strength: String
        let number = GrantNumber.next()

        package init(factorNames: [String], strength: String) {
            self.factorNames = factorNames
            self.strength = strength
        }
    }

    /// What satisfied a requirement that no right is behind.
    package struct RequirementGrant: Sendable {
        package let factorNames: [String]
        package let strength: String
        /// Those that the program asked for.
        let limits: GrantLimits?
        /// Whether it was proved at the trusted place.
        package var isAtTrustedPlace: Bool { limits?.isAtTrustedPlace ?? false }
        /// On CLOCK_BOOTTIME.
        let since: Duration
        let number = GrantNumber.next()
        /// Nil before a context keeps it.
        var place: ProgramQuota.Place?

        package init(factorNames: [String], strength: String, limits: GrantLimits?, since: Duration) {
            self.factorNames = factorNames
            self.strength = strength
            self.limits = limits
            self.since = since
        }
    }

    /// Whether what is proved here is kept.
    package let keepsFactors: Bool
    let clock: any BootClock
    let lifetime: Duration
    let quota: ProgramQuota
    /// Whose share of ``quota`` the context takes.
    let program: ProgramOfOwner
    let contents = Mutex(Contents())
    /// Told when grants have ended, whatever ended them, and which of them ended by a limit or by the owner's order.
    let ended: GrantEndHandler

    /// - Parameters:
    ///   - lifetime: how long what is kept counts after it was proved.
    ///   - quota: bounds the grants of all contexts together.
    ///   - program: the program whose context it is.
    package init(
        keepsFactors: Bool, clock: any BootClock, lifetime: Duration, quota: ProgramQuota, program: ProgramOfOwner,
        ended: @escaping GrantEndHandler
    ) {
        self.keepsFactors = keepsFactors
        self.clock = clock
        self.lifetime = lifetime
        self.quota = quota
        self.program = program
        self.ended = ended
    }

    /// How long what is proved here is kept; nil where it is not.
    package var keepingTime: Duration? { keepsFactors ? lifetime : nil }

    // MARK: grants

    /// Keeps an opened right, unless grants were ended since `era`: a lock in between must not be survived.
    ///
    /// - Parameters:
    ///   - purpose: what it is granted for. It takes the place of a grant for another purpose.
    ///   - standsOnKept: whether something was used for it that the context kept. Its limits count from then.
    package func grant(
        _ right: OpenedRight, for purpose: GrantPurpose = .anything, standsOnKept: Bool, since era: Era
    ) throws(Refusal) {
        let now = clock.now().time
        let subject = LimitedSubject(.object(right.id), right.limits)
        let place = try place(for: subject)
        try add(since: era, onSet: standsOnKept || Self.isOfCurrentSet(right.factorNames)) { contents in
            if let end = contents.beginMeter(of: subject, in: place, standsOnKept: standsOnKept, at: now) { return end }
            contents.rights[right.id] = RightGrant(
                right: right, place: place, since: now, time: keepsFactors ? time(in: contents, at: now) : nil,
                purpose: purpose)
            return nil
        }
        wipeLater()
    }

    /// What is granted may stand on what is kept, and then must not outlive that.
    private func time(in contents: Contents, at now: Duration) -> KeptTime {
        let older = contents.kept.flatMap { now < $0.end ? $0.time.since : nil }
        return KeptTime(since: older ?? now, lifetime: lifetime)
    }

    /// The opened right, when it was authorized in this context for any purpose, and nothing has ended that since.
    package func heldRight(_ id: VaultID) -> OpenedRight? { heldGrant(id)?.right }

    /// The same, if it was authorized for this use.
    package func heldRight(_ id: VaultID, for use: GrantPurpose) -> OpenedRight? {
        guard let grant = heldGrant(id), grant.serves(use) else { return nil }
        return grant.right
    }

    private func heldGrant(_ id: VaultID) -> RightGrant? {
        let now = clock.now().time
        return contents.withLock { contents in
            guard let grant = contents.rights[id], contents.end(of: .object(id), at: now) == nil else { return nil }
            guard !grant.isOver(at: now) else {
                contents.rights[id] = nil
                return nil
            }
            return grant
        }
    }

    /// The opened right, when it was authorized in this context for `operation`, which is a use of it.
    ///
    /// - Parameter use: what it must be authorized for.
    package func right(
        _ id: VaultID, for operation: AccessControl.Operation, as use: GrantPurpose = .anything
    ) throws(Refusal) -> OpenedRight {
        guard let grant = heldGrant(id) else { throw refusal(of: .object(id)) }
        guard grant.serves(use) else { throw Self.otherPurpose }
        let right = grant.right
        guard right.operations.contains(operation) else {
            throw Refusal(
                .operationNotPermitted, "The right's access control does not permit this operation.",
                cause: "right.operation-not-permitted")
        }
        return right
    }

    /// Counts a use of `right` just before its result is released. Throws unless this context still holds `right`:
    /// neither ended nor authorized again since it was taken, and with a use left.
    package func use(_ right: OpenedRight) throws(Refusal) {
        try countUse(of: LimitedSubject(.object(right.id), right.limits)) { $0.rights[right.id]?.right === right }
    }

    private static let notAuthorized = Refusal(
        .notAuthorized, "The right is not authorized in this context; authorize it first.",
        cause: "right.not-authorized")

    private static let otherPurpose = Refusal(
        .notAuthorized,
        "The right is authorized for another use in this context, which its question named; authorize it for this one.",
        cause: "right.other-purpose")

    /// Why the context does not hold a grant.
    func refusal(of subject: GrantSubject) -> Refusal { end(of: subject)?.refusal ?? Self.notAuthorized }

    /// Keeps that the requirement with these canonical bytes was satisfied, for as long as a right would be authorized.
    ///
    /// - Parameter standsOnKept: as for a right.
    package func grant(
        requirement: Data, _ grant: RequirementGrant, standsOnKept: Bool, since era: Era
    ) throws(Refusal) {
        let isFull = contents.withLock { contents in
            contents.requirements.count >= ContextLimits.requirementCount && contents.requirements[requirement] == nil
        }
        guard !isFull else { throw Refusal(.tooMany, "The context holds too many requirements; use a new one.") }
        let now = clock.now().time
        let subject = LimitedSubject(.requirement(requirement), grant.limits)
        let place = try place(for: subject)
        var grant = grant
        grant.place = place
        try add(since: era, onSet: standsOnKept || Self.isOfCurrentSet(grant.factorNames)) { contents in
            if let end = contents.beginMeter(of: subject, in: place, standsOnKept: standsOnKept, at: now) { return end }
            contents.requirements[requirement] = grant
            return nil
        }
        wipeLater()
    }

    /// What satisfied the requirement in this context, when nothing has ended that since.
    package func heldRequirement(_ requirement: Data) -> RequirementGrant? {
        let now = clock.now().time
        return contents.withLock { contents in
            contents.end(of: .requirement(requirement), at: now) == nil ? contents.requirements[requirement] : nil
        }
    }

    /// Counts that the program was told once more that the requirement is satisfied, which is the only use of such a grant.
    package func use(_ grant: RequirementGrant, of requirement: Data) throws(Refusal) {
        try countUse(of: LimitedSubject(.requirement(requirement), grant.limits)) {
            $0.requirements[requirement] != nil
        }
    }

    /// Keeps that the policy was satisfied. Refused when the enrolled fingers or the passcode changed since `era`.
    package func grant(policy: Int32, _ grant: PolicyGrant, since era: Era) throws(Refusal) {
        let now = clock.now().time
        var isCurrent = false
        try add(since: era) { contents in
            isCurrent = contents.keptEra == era.kept
            if isCurrent { contents.policies[policy] = (grant, time(in: contents, at: now)) }
            return nil
        }
        guard isCurrent else { throw Self.changedMeanwhile }
    }

    /// As ``add(since:_:)``. Refused when the enrolled fingers or the passcode changed since `era`, if the grant stands on them.
    ///
    /// - Parameter isOnSet: whether it is of the current set, or used something that was kept.
    private func add(
        since era: Era, onSet isOnSet: Bool, _ change: (inout Contents) -> GrantEnd?
    ) throws(Refusal) {
        var isCurrent = true
        try add(since: era) { contents in
            isCurrent = !isOnSet || contents.keptEra == era.kept
            return isCurrent ? change(&contents) : nil
        }
        guard isCurrent else { throw Self.changedMeanwhile }
    }

    private static let changedMeanwhile = Refusal(
        .systemCancel, "The enrolled fingers or the passcode changed meanwhile; try again.",
        cause: "context.factors-changed")

    /// To be read before something is proved, for ``requireEra(_:)``.
    package var era: Era { contents.withLock { Era(grants: $0.era, kept: $0.keptEra) } }

    /// Throws when grants were ended since `era`, or the context was invalidated.
    package func requireEra(_ era: Era) throws(Refusal) {
        let isCurrent = contents.withLock { $0.era == era.grants && !$0.isInvalid }
        if !isCurrent { throw RequestCancellation.refusal(.caller) }
    }

    /// - Parameter change: returns what has ended the grant already, which is then refused.
    func add(since era: Era, _ change: (inout Contents) -> GrantEnd?) throws(Refusal) {
        var end: GrantEnd?
        let isCurrent = contents.withLock { contents in
            guard contents.era == era.grants, !contents.isInvalid else { return false }
            end = change(&contents)
            return true
        }
        if !isCurrent { throw RequestCancellation.refusal(.locked) }
        if let end { throw end.refusal }
    }

    /// What satisfied `policy` in this context, unless it has expired.
    package func policyGrant(_ policy: Int32) -> PolicyGrant? {
        let now = clock.now().time
        return contents.withLock { contents in
            guard let (grant, time) = contents.policies[policy], now < time.end else {
                contents.policies[policy] = nil
                return nil
            }
            return grant
        }
    }

    func endGrant(on object: VaultID) {
        let wasHeld = contents.withLock { contents in
            contents.meters[.object(object)] = nil
            let wasLeased = contents.leased.removeValue(forKey: object) != nil
            return contents.rights.removeValue(forKey: object) != nil || wasLeased
        }
        if wasHeld { ended([]) }
    }

    /// Ends every grant and what is being evaluated; the context stays usable.
    package func endAllGrants(because reason: RequestCancellation.Reason = .locked) {
        let (evaluations, hadGrants) = contents.withLock { contents in
            let hadGrants = contents.hasGrants
            contents.endAllGrants()
            return (Array(contents.evaluations.values), hadGrants)
        }
        for evaluation in evaluations { evaluation.cancel(reason) }
        if hadGrants { ended([]) }
    }

    /// As ``endAllGrants(because:)``, by the owner's order.
    package func revokeAllGrants() {
        let (evaluations, revoked) = contents.withLock { contents in
            let revoked = contents.heldGrants
            var places = contents.revoked
            for grant in revoked { places[grant.subject] = contents.place(of: grant.subject) }
            contents.endAllGrants()
            contents.revoked = places
            return (Array(contents.evaluations.values), revoked)
        }
        for evaluation in evaluations { evaluation.cancel(.locked) }
        ended(revoked.map { EndedGrant(object: $0.object, end: .revoked) })
    }

    func invalidate() {
        contents.withLock { contents in
            contents.isInvalid = true
            contents.applicationPassword = nil
        }
        endAllGrants(because: .caller)
    }

    // MARK: what is being evaluated

    /// Runs `body` so that ending the context's grants cancels it, and gives it the era that it may grant in.
    package func evaluating<Result: ~Copyable>(
        _ cancellation: RequestCancellation, _ body: (_ era: Era) throws -> Result
    ) throws -> Result {
        let (era, isInvalid) = contents.withLock { contents in
            contents.evaluations[ObjectIdentifier(cancellation)] = cancellation
            return (Era(grants: contents.era, kept: contents.keptEra), contents.isInvalid)
        }
        defer { contents.withLock { _ = $0.evaluations.removeValue(forKey: ObjectIdentifier(cancellation)) } }
        guard !isInvalid else { throw Refusal(.unknownContext, "The context was invalidated.") }
        return try body(era)
    }
}

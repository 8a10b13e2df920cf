import Authenticators
import Foundation
import OstiaryMessages
import Passcodes
package import Refusals
import Synchronization
import Threading

/// Told on whichever thread ended grants, maybe while it holds locks: it must not wait, and must not call the context.
package typealias GrantEndHandler = @Sendable ([EndedGrant]) -> Void

/// The limits of what a context grants, and the wiping of what has ended.
extension EvaluationContext {
    /// Begins to count for an object that was opened by a proof and keeps no grant, such as an item; see
    /// ``grant(_:standsOnKept:since:)``.
    package func count(_ subject: LimitedSubject, standsOnKept: Bool, since era: Era) throws(Refusal) {
        guard subject.limits != nil else { return }
        let place = try place(for: subject)
        let now = clock.now().time
        try add(since: era) { $0.beginMeter(of: subject, in: place, standsOnKept: standsOnKept, at: now) }
    }

    /// Counts a use of an object with limits, just before its result is released. Throws when the limits are reached,
    /// also if another use at the same time took the last one.
    package func use(_ subject: LimitedSubject) throws(Refusal) {
        try countUse(of: subject) { _ in true }
    }

    /// What has ended the grant of a subject; nil when it stands, or never was.
    package func end(of subject: GrantSubject) -> GrantEnd? {
        let now = clock.now().time
        return contents.withLock { $0.end(of: subject, at: now) }
    }

    /// Counts a use if the grant is held and has one left; a grant whose last use this was ends with it.
    func countUse(of limited: LimitedSubject, isHeld: (Contents) -> Bool) throws(Refusal) {
        let now = clock.now().time
        var usedUp: EndedGrant?
        let isCounted = contents.withLock { contents in
            guard isHeld(contents), contents.countUse(of: limited, at: now) else { return false }
            usedUp = contents.wipe(limited.subject, at: now)
            return true
        }
        guard isCounted else { throw refusal(of: limited.subject) }
        if let usedUp { ended([usedUp]) }
    }

    /// Refuses what the context could not keep. Call it before a person is asked for it.
    package func requireRoom(for subject: LimitedSubject) throws(Refusal) { _ = try place(for: subject) }

    /// The place that the context has for the subject already, or another one of its program's share.
    func place(for subject: LimitedSubject) throws(Refusal) -> ProgramQuota.Place {
        let (held, hasRoom) = contents.withLock { contents in
            let hasRoom =
                subject.limits == nil || contents.meters.count < ContextLimits.meterCount
                || contents.meters[subject.subject] != nil
            return (contents.place(of: subject.subject), hasRoom)
        }
        guard hasRoom else {
            throw Refusal(.tooMany, "The context holds too many objects with limits; use a new one.")
        }
        if let held { return held }
        return try quota.take(for: program)
    }

    // MARK: wiping

    /// Wipes what is kept or granted when its time has come, whether or not anybody looks at it.
    func wipeLater() {
        let now = clock.now().time
        let next: WipeTimer? = contents.withLock { contents in
            guard let end = contents.nextEnd, contents.wipeTimer.map({ end < $0.due }) ?? true else { return nil }
            let timer = WipeTimer(due: end)
            contents.wipeTimer = timer
            return timer
        }
        guard let next else { return }
        clock.run(after: next.due - now, on: { Self.ends.run(after: $0, $1) }) { [weak self] in
            guard let self, contents.withLock({ $0.wipeTimer === next }) else { return }
            wipeExpired()
        }
    }

    /// Of all contexts and leases: each piece of its work is short.
    static let ends = WorkThread(name: "ostiary-ends")

    /// The timer that counts; one that was set before it does nothing.
    final class WipeTimer: Sendable {
        let due: Duration
        init(due: Duration) { self.due = due }
    }

    /// Wipes what is kept or granted if its time has come.
    func wipeExpired() {
        let now = clock.now().time
        let (expired, hasEnded) = contents.withLock { contents in
            contents.wipeTimer = nil
            if let kept = contents.kept, now >= kept.end { contents.endKept() }
            let count = contents.rights.count
            contents.rights = contents.rights.filter { !$0.value.isOver(at: now) }
            let hasEnded = contents.rights.count < count
            return (contents.heldGrants.compactMap { contents.wipe($0.subject, at: now) }, hasEnded)
        }
        if hasEnded || !expired.isEmpty { ended(expired) }
        wipeLater()
    }
}

extension EvaluationContext.Contents {
    /// When the first of what ends by itself does; nil when there is none of that.
    var nextEnd: Duration? {
        let limits = heldGrants.map { meters[$0.subject]?.meter.end }
        return ([kept?.end] + rights.values.map { $0.time?.end } + limits).compactMap(\.self).min()
    }

    /// What counts for a subject: from its proof, or from when what is kept was proved.
    func meter(of subject: LimitedSubject?) -> GrantMeter? {
        guard let subject, let limits = subject.limits else { return nil }
        return meters[subject.subject]?.meter ?? kept.map { GrantMeter(limits, since: $0.time.since) }
    }

    /// The place of a subject that the context remembers something of; nil for another one.
    func place(of subject: GrantSubject) -> ProgramQuota.Place? {
        let granted: ProgramQuota.Place? =
            switch subject {
            case .object(let id): rights[id]?.place ?? leased[id]
            case .requirement(let bytes): requirements[bytes]?.place
            }
        return granted ?? meters[subject]?.place ?? revoked[subject]
    }

    /// Begins to count, or counts on where something was used for it that was kept. Returns what has ended the grant meanwhile.
    mutating func beginMeter(
        of subject: LimitedSubject, in place: ProgramQuota.Place, standsOnKept: Bool, at now: Duration
    ) -> GrantEnd? {
        revoked[subject.subject] = nil
        guard let limits = subject.limits else { return nil }
        let meter = (standsOnKept ? meter(of: subject) : nil) ?? GrantMeter(limits, since: now)
        meters[subject.subject] = (meter, place)
        return meter.end(at: now)
    }

    func end(of subject: GrantSubject, at now: Duration) -> GrantEnd? {
        revoked[subject] != nil ? .revoked : meters[subject]?.meter.end(at: now)
    }

    /// False when the limits of the subject are reached, or nothing counts for it any more.
    mutating func countUse(of limited: LimitedSubject, at now: Duration) -> Bool {
        guard limited.limits != nil else { return true }
        guard var meter = meters[limited.subject]?.meter else { return false }
        do { try meter.use(at: now) } catch { return false }
        meters[limited.subject]?.meter = meter
        return true
    }

    /// Wipes the grant of a subject whose limits are reached; nil when they are not, or there is none.
    mutating func wipe(_ subject: GrantSubject, at now: Duration) -> EndedGrant? {
        guard let end = end(of: subject, at: now) else { return nil }
        switch subject {
        case .object(let id):
            return rights.removeValue(forKey: id).map { EndedGrant(object: $0.right.identifier, end: end) }
        case .requirement(let bytes):
            return requirements.removeValue(forKey: bytes).map { _ in EndedGrant(object: "", end: end) }
        }
    }

    /// Wipes what is kept. What was counted for objects that keep no grant stood on it.
    mutating func endKept() {
        kept = nil
        let held = Set(heldGrants.map(\.subject))
        meters = meters.filter { held.contains($0.key) }
    }

    mutating func endAllGrants() {
        rights = [:]
        leased = [:]
        policies = [:]
        requirements = [:]
        kept = nil
        meters = [:]
        revoked = [:]
        era += 1
    }

    var hasGrants: Bool {
        !rights.isEmpty || !leased.isEmpty || !requirements.isEmpty || !policies.isEmpty || kept != nil
    }

    /// The grants that objects and requirements have, with the name for the log.
    var heldGrants: [(subject: GrantSubject, object: String)] {
        rights.map { (.object($0.key), $0.value.right.identifier) }
            + requirements.keys.map { (.requirement($0), "") }
    }
}

import AccessControl
package import ExactNames
import OstiaryMessages
package import Passcodes
import ProcessFacts
package import Refusals
import Synchronization
import Threading
package import Vault

/// The leases of one owner: the only place, beside contexts, where opened objects are kept.
///
/// Leases live in memory alone and end with the account. A lease's keys are wiped at its end, for any reason; the lease itself is
/// remembered for a while without secrets, so that a program is told why it may do no more what it could do before.
package final class LeaseTable: Sendable {
    fileprivate struct Entry {
        let draft: LeaseDraft
        var state: LeaseState
        /// Without the objects that are lost; empty when the lease has ended.
        var opened: [VaultID: LeasedObject.Opened]
        /// Whether it has ended, and was wiped and reported.
        var isOver = false
    }

    fileprivate struct Contents {
        /// In the order of their grants.
        var entries: [Entry] = []
        /// Counts what ended leases together: what was begun to be proved before must not be granted after.
        var era: UInt64 = 0
        var timer: EvaluationContext.WipeTimer?
    }

    fileprivate enum Limit {
        /// Of one owner, standing: each may hold several keys in locked memory.
        static let standing = 32
        /// Ended ones that are remembered.
        static let ended = 64
    }

    private let clock: any BootClock
    private let contents = Mutex(Contents())
    private let listener = Mutex<(@Sendable ([EndedLease]) -> Void)?>(nil)

    package init(clock: any BootClock) { self.clock = clock }

    /// Calls `tell` when leases have ended, on the thread that ended them, which may hold locks: it must not wait.
    package func whenEnded(_ tell: @escaping @Sendable ([EndedLease]) -> Void) { listener.withLock { $0 = tell } }

    // MARK: granting

    /// To be read before something is proved, for ``add(_:since:)``.
    package var era: UInt64 { contents.withLock { $0.era } }

    /// Keeps a lease, unless leases were ended since `era`. Call it in one step with the record of the grant.
    package func add(_ draft: LeaseDraft, since era: UInt64) throws(Refusal) {
        let now = clock.now().time
        let limits = Dictionary(draft.objects.compactMap { object in object.limits.map { (object.id, $0) } }) { $1 }
        var remembered = draft
        let opened = remembered.takeOpened()
        let entry = Entry(
            draft: remembered,
            state: LeaseState(
                draft.scope, file: draft.file, limits: draft.limits, objectLimits: limits, since: now), opened: opened)
        let refusal: Refusal? = contents.withLock { contents in
            guard contents.era == era else { return RequestCancellation.refusal(.locked) }
            guard contents.entries.count(where: { !$0.isOver }) < Limit.standing else { return Self.tooMany }
            contents.entries.append(entry)
            return nil
        }
        if let refusal { throw refusal }
        wipeLater()
    }

    package static let tooMany = Refusal(
        .tooMany, "There are \(Limit.standing) leases already; `ostiary lease revoke` ends some.",
        cause: "lease.too-many")

    // MARK: using

    /// A permitted use that has not been counted yet, with the opened object.
    package struct Held: Sendable {
        package let id: UInt64
        package let opened: LeasedObject.Opened
        package let factorNames: [String]
        package let strength: String
        fileprivate let query: LeaseQuery
    }

    /// The leases' decision about a use.
    package enum Answer: Sendable {
        case permitted(Held)
        /// The lease that came furthest, and why it does not permit the use.
        case refused(LeaseRefusal, by: UInt64)
        /// There is none, and was none a short time ago.
        case absent
    }

    /// Whether a lease on the object is for one session, so that a query needs the one of its program.
    package func needSession(for object: VaultID) -> Bool {
        contents.withLock { contents in
            contents.entries.contains {
                $0.draft.scope.session != nil && $0.draft.scope.objects.contains(object)
            }
        }
    }

    /// Looks for a lease that permits a use. Counts nothing.
    package func find(_ query: LeaseQuery) -> Answer {
        let now = clock.now().time
        return contents.withLock { contents in
            var nearest: (refusal: LeaseRefusal, id: UInt64)?
            for entry in contents.entries.reversed() {
                switch decide(query, under: entry.state, at: now) {
                case .permitted:
                    guard let opened = entry.opened[query.object] else { continue }
                    return .permitted(
                        Held(
                            id: entry.draft.id, opened: opened, factorNames: entry.draft.factorNames,
                            strength: entry.draft.strength, query: query))
                case .refused(let refusal):
                    if nearest.map({ refusal.place > $0.refusal.place }) ?? true {
                        nearest = (refusal, entry.draft.id)
                    }
                }
            }
            return nearest.map { .refused($0.refusal, by: $0.id) } ?? .absent
        }
    }

    /// Decides once more, and counts the use. Call it just before the result is released, in one step with the record.
    package func count(_ held: Held) throws(Refusal) {
        let now = clock.now().time
        var ended: [EndedLease] = []
        let refusal: LeaseRefusal? = contents.withLock { contents in
            guard let index = contents.entries.firstIndex(where: { $0.draft.id == held.id }) else { return .revoked }
            let decision = decide(held.query, under: contents.entries[index].state, at: now)
            if case .refused(let refusal) = decision { return refusal }
            contents.entries[index].state.use(held.query.object, at: now, by: held.query.file)
            ended = contents.wipe(at: now)
            return nil
        }
        tell(ended)
        if let refusal { throw refusal.refusal(of: held.id) }
        wipeLater()
    }

    /// An object's opened form, while its lease stands; for a program that was told that it is authorized.
    package func isHeld(_ id: UInt64, _ object: VaultID) -> Bool {
        let now = clock.now().time
        return contents.withLock { contents in
            contents.entries.contains {
                $0.draft.id == id && $0.opened[object] != nil && $0.state.end(at: now) == nil
                    && $0.state.objectMeters[object]?.end(at: now) == nil
            }
        }
    }

    // MARK: ending

    /// Ends the leases that a lock ends.
    package func lock() { end(because: .locked) { $0.endsOnLock } }

    /// Ends all leases, and those that are being asked for.
    package func endAll(because end: LeaseRefusal) { self.end(because: end) { _ in true } }

    /// Ends the leases for these programs, and those through these doors: they are registered in another way from now on.
    package func end(ofPrograms names: [ExactName]) {
        end(because: .programChanged) { draft in
            if case .named(let door) = draft.scope.door, names.contains(door) { return true }
            return names.contains(draft.scope.program)
        }
    }

    /// Ends a lease by the owner's order.
    ///
    /// - Returns: false when it does not stand.
    package func revoke(_ id: UInt64) -> Bool {
        let ended = contents.withLock { contents in
            contents.end(because: .revoked, at: clock.now().time) { $0.id == id }
        }
        tell(ended)
        return !ended.isEmpty
    }

    private func end(because end: LeaseRefusal, _ isMeant: (LeaseDraft) -> Bool) {
        let ended = contents.withLock { contents in
            contents.era += 1
            return contents.end(because: end, at: clock.now().time, isMeant)
        }
        tell(ended)
    }

    /// Wipes what leases hold of an object. One that has no other object ends.
    package func lose(_ object: VaultID, because end: LeaseRefusal) {
        let now = clock.now().time
        let ended = contents.withLock { contents in
            for index in contents.entries.indices where contents.entries[index].opened[object] != nil {
                contents.entries[index].opened[object] = nil
                contents.entries[index].state.lostObjects[object] = end
            }
            return contents.wipe(at: now)
        }
        tell(ended)
    }

    private func tell(_ ended: [EndedLease]) {
        if !ended.isEmpty { listener.withLock { $0 }?(ended) }
    }

    // MARK: wiping by time

    private func wipeLater() {
        let now = clock.now().time
        let next: EvaluationContext.WipeTimer? = contents.withLock { contents in
            guard let end = contents.nextEnd, contents.timer.map({ end < $0.due }) ?? true else { return nil }
            let timer = EvaluationContext.WipeTimer(due: end)
            contents.timer = timer
            return timer
        }
        guard let next else { return }
        clock.run(after: next.due - now, on: { EvaluationContext.ends.run(after: $0, $1) }) { [weak self] in
            guard let self, contents.withLock({ $0.timer === next }) else { return }
            wipeExpired()
        }
    }

    /// Wipes what leases hold whose time has come.
    func wipeExpired() {
        let now = clock.now().time
        let ended = contents.withLock { contents in
            contents.timer = nil
            return contents.wipe(at: now)
        }
        tell(ended)
        wipeLater()
    }

    // MARK: the list

    /// The leases that stand, the oldest first.
    package var listed: [ListedLease] {
        let now = clock.now().time
        return contents.withLock { contents in
            contents.entries.filter { !$0.isOver && $0.state.end(at: now) == nil }.map(\.listed)
        }
    }

    /// Whether there is no lease, and was none a short time ago.
    package var isEmpty: Bool { contents.withLock { $0.entries.isEmpty } }

    /// Whether another lease can be granted.
    package var hasRoom: Bool {
        contents.withLock { $0.entries.count(where: { !$0.isOver }) < Limit.standing }
    }

    /// The rights and keys that leases hold open.
    package var openObjects: [VaultID] { contents.withLock { $0.entries.flatMap(\.opened.keys) } }
}

extension LeaseTable.Contents {
    /// The time of the next end by a limit.
    fileprivate var nextEnd: Duration? {
        entries.filter { !$0.isOver }.flatMap { entry in
            [entry.state.meter.end] + entry.opened.keys.map { entry.state.objectMeters[$0]?.end }
        }.compactMap(\.self).min()
    }

    /// Ends leases that stand.
    fileprivate mutating func end(
        because end: LeaseRefusal, at now: Duration, _ isMeant: (LeaseDraft) -> Bool
    ) -> [EndedLease] {
        for index in entries.indices
        where !entries[index].isOver && entries[index].state.end(at: now) == nil && isMeant(entries[index].draft) {
            entries[index].state.end = end
        }
        return wipe(at: now)
    }

    /// Wipes what ended leases hold, and returns those that held something. Forgets the oldest of many ended ones.
    fileprivate mutating func wipe(at now: Duration) -> [EndedLease] {
        var ended: [EndedLease] = []
        for index in entries.indices where !entries[index].isOver {
            guard let end = entries[index].wipe(at: now) else { continue }
            let draft = entries[index].draft
            ended.append(
                EndedLease(
                    id: draft.id, grantedTo: draft.grantedTo, objectIDs: draft.scope.objects, objects: draft.logName,
                    end: end))
        }
        let surplus = entries.count(where: \.isOver) - LeaseTable.Limit.ended
        if surplus > 0 {
            let oldest = entries.indices.filter { entries[$0].isOver }.prefix(surplus)
            for index in oldest.reversed() { entries.remove(at: index) }
        }
        return ended
    }
}

extension LeaseTable.Entry {
    /// Wipes the objects whose own limits are reached, and all of them if the lease has ended; then returns by what.
    fileprivate mutating func wipe(at now: Duration) -> LeaseRefusal? {
        opened = opened.filter { state.objectMeters[$0.key]?.end(at: now) == nil }
        let lost = opened.isEmpty ? state.lostObjects.values.first ?? .objectLimit : nil
        guard let end = state.end(at: now) ?? lost else { return nil }
        // A time that has come stays so, and uses do not come back; but an idle lease must not stand again.
        state.end = end
        (opened, isOver) = ([:], true)
        return end
    }

    fileprivate var listed: ListedLease {
        let meters = [state.meter] + opened.keys.compactMap { state.objectMeters[$0] }
        // With one object its own limits are those of the lease, where they come first.
        let relevant = draft.objects.count == 1 ? meters : [state.meter]
        return ListedLease(
            id: draft.id, scope: draft.scope, grantedTo: draft.grantedTo, purpose: draft.purpose,
            endsOnLock: draft.endsOnLock, objects: draft.objects.map { ($0.id, $0.kind, $0.name) },
            factorNames: draft.factorNames,
            strength: draft.strength, since: state.meter.since,
            end: relevant.compactMap(\.hardEnd).min() ?? state.meter.since,
            idleEnd: relevant.compactMap(\.idleEnd).min(), useCount: state.meter.useCount,
            usesLeft: relevant.compactMap(\.usesLeft).min())
    }
}

import Authenticators
import Callers
package import ExactNames
package import OstiaryMessages
import OwnerKeys
import Owners
import ProtectedObjects
package import Refusals
import Synchronization
import Threading
package import Vault

/// The items that a program watches.
package struct WatchedItems: Equatable, Sendable {
    /// As the program asked for them.
    let request: WireWatchItemsRequest
    /// The program's access groups at that time.
    let groups: [ExactName]
    /// The queries that find the items; made from the request and the groups.
    let queries: [ItemQuery]

    package init(_ request: WireWatchItemsRequest, groups: [ExactName], queries: [ItemQuery]) {
        (self.request, self.groups, self.queries) = (request, groups, queries)
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.request == right.request && left.groups == right.groups
    }
}

/// The programs that watch their items and the store's lock, at most one watch for each connection. A watch is an entry here and no
/// thread. It begins with the connection's first request and ends with the connection. Between two requests it remembers
/// changes, so that the program misses none.
///
/// A program hears of items of its own access groups and of its owner's lock, and of nothing else: not even when something else
/// has changed.
package final class ItemWatches: ItemListener {
    /// The time between two answers of one watch. Changes meanwhile come in one answer.
    static let rest = Duration.milliseconds(100)

    private struct Watch {
        let session: Session
        var items: WatchedItems
        var news = ItemNews(looksAgain: true)
        /// The state of the lock that the program was told of.
        var told: KeyRing.LockState
        /// The request that waits for news.
        var requestID: UInt64?
        /// Whether an answer is being sent.
        var isAnswering = false
        /// Changes that wait until a thread has found out which groups the program is in now; nil without such a thread.
        var kept: [ChangedItems]?
        /// When the next answer may be sent.
        var restsUntil = ContinuousClock.now

        init(_ session: Session, _ items: WatchedItems) {
            (self.session, self.items, told) = (session, items, session.account.ring.lockState)
        }

        var program: ProgramOfOwner { session.caller.program.ofOwner }

        var isReady: Bool {
            requestID != nil && !isAnswering && (!news.isEmpty || told != session.account.ring.lockState)
        }

        /// Watches other items from now on, of which the program knows nothing yet.
        mutating func turn(to items: WatchedItems) {
            guard items != self.items else { return }
            (self.items, news) = (items, ItemNews(looksAgain: true))
        }

        /// The queries without the groups that the program has left since it asked: a change there is not even a reason to answer.
        ///
        /// - Parameter groups: the groups that the program is in.
        func queries(in groups: [ExactName]) -> [ItemQuery] {
            let left = Set(items.groups).subtracting(groups)
            guard !left.isEmpty else { return items.queries }
            let terms = Set(left.map(session.account.items.digests.term(ofGroup:)))
            return items.queries.compactMap { query in
                var query = query
                query.anyOf.removeAll(where: terms.contains)
                // Without a group it would find the items of all.
                return query.anyOf.isEmpty ? nil : query
            }
        }

        /// Keeps changes for later.
        ///
        /// - Returns: whether they are the first ones.
        mutating func keep(_ changes: ChangedItems) -> Bool {
            guard var others = kept else {
                kept = [changes]
                return true
            }
            if others.count < ItemWatches.keptCount { others.append(changes) } else { news.lookAgain() }
            kept = others
            return false
        }

        mutating func takeAnswer(at time: ContinuousClock.Instant) -> Answer? {
            guard let id = requestID.take() else { return nil }
            let lock = session.account.ring.lockState
            defer { (news, told, isAnswering, restsUntil) = (ItemNews(), lock, true, time + ItemWatches.rest) }
            return Answer(session: session, requestID: id, groups: items.groups, news: news.message(lock, after: told))
        }
    }

    private struct Answer: Sendable {
        let session: Session
        let requestID: UInt64
        let groups: [ExactName]
        var news: WireItemNews
    }

    private struct State {
        var watches: [ObjectIdentifier: Watch] = [:]
        var shares: ProgramShares
        /// Whether the thread is going to look for watches whose rest is over.
        var isLookExpected = false
    }

    /// The changes that one watch keeps, each of one transaction.
    private static let keptCount = 16

    private let state: Mutex<State>
    /// The number of watches, for threads that must not wait for ``state``.
    private let count = Atomic(0)
    /// Compares changes with watches, one after the other.
    private let thread = WorkThread(name: "ostiary-item-news")

    init(_ limits: ShareLimits) { state = Mutex(State(shares: ProgramShares(limits))) }

    // MARK: watching

    /// Leaves a request that waits for news, and answers it when there are some: at once for the first one of a connection, and for
    /// one that asks for other items than the one before.
    ///
    /// - Throws: `tooMany` when a request of the connection waits already, or when the program, its owner's programs or all programs have
    ///   as many watches as they may.
    package func wait(_ requestID: UInt64, of session: Session, for items: WatchedItems) throws(Refusal) {
        try state.withLock { (state) throws(Refusal) in
            let key = ObjectIdentifier(session)
            if state.watches[key] == nil {
                let watch = Watch(session, items)
                try state.shares.take(for: watch.program, refusing: Self.refusals)
                state.watches[key] = watch
                count.add(1, ordering: .sequentiallyConsistent)
            }
            guard state.watches[key]?.requestID == nil else { throw Self.repeated }
            state.watches[key]?.turn(to: items)
            state.watches[key]?.requestID = requestID
        }
        answerReady()
    }

    func isWaiting(_ requestID: UInt64, in session: Session) -> Bool {
        state.withLock { $0.watches[ObjectIdentifier(session)]?.requestID == requestID }
    }

    /// Takes a waiting request away; false if it does not wait. The caller must answer it. The connection goes on watching.
    func cancel(_ requestID: UInt64, of session: Session) -> Bool {
        state.withLock { state in
            guard state.watches[ObjectIdentifier(session)]?.requestID == requestID else { return false }
            state.watches[ObjectIdentifier(session)]?.requestID = nil
            return true
        }
    }

    /// The connection has ended.
    func remove(_ session: Session) {
        state.withLock { state in
            guard let watch = state.watches.removeValue(forKey: ObjectIdentifier(session)) else { return }
            state.shares.giveBack(watch.program)
            count.subtract(1, ordering: .sequentiallyConsistent)
        }
    }

    private static let repeated = Refusal(
        .tooMany, "The connection watches its items already; a second watch needs a connection of its own.",
        cause: "item.watched")

    private static let refusals = ShareRefusals(
        program: { limit in
            Refusal(
                .tooMany, "\(limit) connections of this program watch items already; end one.",
                cause: "item.too-many-watches")
        },
        owner: { limit in
            Refusal(
                .tooMany, "\(limit) connections of this user's programs watch items already; end one.",
                cause: "item.too-many-watches-of-owner")
        },
        total: Refusal(
            .tooMany, "Too many programs watch items already; try again later.", cause: "item.too-many-watches-in-all"))

    // MARK: changes

    package var isListening: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

    package func itemsHaveChanged(_ changes: ChangedItems) {
        thread.run { [weak self] in self?.note(changes) }
    }

    /// The store of an owner may have been locked or unlocked. Waits for nothing.
    package func lockHasChanged() {
        guard isListening else { return }
        thread.run { [weak self] in self?.answerReady() }
    }

    private func note(_ changes: ChangedItems) {
        let changesOfOwners = changes.byOwner
        for (key, watch) in state.withLock({ $0.watches }) where !watch.items.queries.isEmpty {
            // Not even the number of another owner's transactions reaches the watch.
            guard let changes = changesOfOwners[watch.session.account.id] else { continue }
            if let groups = watch.session.caller.determinedAccessGroups {
                note(changes, on: key, watch, in: groups)
            } else {
                determineGroups(of: watch, key, for: changes)
            }
        }
        answerReady()
    }

    private func note(_ changes: ChangedItems, on key: ObjectIdentifier, _ watch: Watch, in groups: [ExactName]) {
        // Without the lock: a transaction may have changed very many items.
        let effects = Self.effects(of: changes, on: watch.queries(in: groups))
        state.withLock { state in
            // Another watch by now: it knows of nothing yet, or tells of other groups.
            guard state.watches[key]?.items == watch.items else { return }
            guard let effects else {
                state.watches[key]?.news.lookAgain()
                return
            }
            for (item, effect) in effects { state.watches[key]?.news.note(item.id, item.itemClass, effect) }
        }
    }

    /// Compares the changes once it is known which groups the program is in. That may need the program's file, which can lie where
    /// nobody answers: so a thread of the watch's own finds it out.
    private func determineGroups(of watch: Watch, _ key: ObjectIdentifier, for changes: ChangedItems) {
        let isFirst = state.withLock { $0.watches[key]?.keep(changes) ?? false }
        guard isFirst else { return }
        Threads.startEventually("ostiary-watch") { [weak self] in
            let groups = watch.session.caller.accessGroups
            self?.thread.run { [weak self] in
                guard let self else { return }
                let kept = state.withLock { state in
                    // Another watch may have the connection's place by now.
                    state.watches[key]?.session === watch.session ? state.watches[key]?.kept.take() : nil
                }
                for changes in kept ?? [] { note(changes, on: key, watch, in: groups) }
                answerReady()
            }
        }
    }

    /// The effects of its owner's changes on a watch's queries; nil if its program must look at its items again.
    private static func effects(
        of changes: ChangedItems, on queries: [ItemQuery]
    ) -> [(ChangedItem, ChangedItem.Effect)]? {
        guard changes.relistedOwners.isEmpty else { return nil }
        var effects: [(ChangedItem, ChangedItem.Effect)] = []
        for item in changes.items {
            guard let effect = item.effect(on: queries) else { continue }
            guard effects.count < ItemNews.itemCount else { return nil }
            effects.append((item, effect))
        }
        return effects
    }

    // MARK: answers

    /// Answers the watches that wait and have news, if their rests are over, and comes again for the others.
    private func answerReady() {
        let now = ContinuousClock.now
        let (answers, rest) = state.withLock { state -> ([Answer], Duration?) in
            var (answers, rest): ([Answer], Duration?) = ([], nil)
            for (key, watch) in state.watches where watch.isReady {
                if watch.restsUntil > now {
                    rest = min(rest ?? Self.rest, watch.restsUntil - now)
                } else if let answer = state.watches[key]?.takeAnswer(at: now) {
                    answers.append(answer)
                }
            }
            guard rest != nil, !state.isLookExpected else { return (answers, nil) }
            state.isLookExpected = true
            return (answers, rest)
        }
        // Its program may be slow to take an answer, which must not hold up the other ones.
        for answer in answers { Threads.startEventually("ostiary-watch") { [self] in send(answer) } }
        guard let rest else { return }
        thread.run(after: rest) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isLookExpected = false }
            answerReady()
        }
    }

    private func send(_ answer: Answer) {
        var news = answer.news
        if answer.session.caller.accessGroups != answer.groups {
            // The program is in other groups by now, and hears nothing of the groups that it left.
            (news.looksAgain, news.changes) = (true, [])
        }
        answer.session.answer(answer.requestID, with: .itemNews(news))
        state.withLock { $0.watches[ObjectIdentifier(answer.session)]?.isAnswering = false }
        answerReady()
    }
}

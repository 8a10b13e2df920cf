import Dispatch
import Synchronization

/// Which owners' accounts are open, are being opened or closed, or could not be opened: the state of an ``OwnerRegistry``.
struct OwnerEntries {
    private enum Entry {
        case opening([EntryWaiter])
        /// - Parameter ends: how often the last stay ended.
        case open(OwnerAccount, stays: Int, ends: UInt64)
        case failed(any Error, of: SystemUser, until: Duration)
        case closing([EntryWaiter])
    }

    /// How an entering goes on.
    enum Step {
        case entered(OwnerAccount)
        case refused(any Error)
        /// Somebody opens or closes the account just now.
        case wait(EntryWaiter)
        /// The caller opens it.
        case open
    }

    /// By the users' numbers.
    private var entries: [UInt32: Entry] = [:]
    /// Why nobody enters the account of a user for now, by the users' numbers.
    private var barred: [UInt32: OwnerOpeningError] = [:]
    private(set) var isClosed = false
    /// Told of each account before anybody enters it.
    var hooks: [@Sendable (OwnerAccount) -> Void] = []

    /// The accounts that are open, by the numbers of their users.
    var open: [OwnerAccount] {
        entries.sorted { $0.key < $1.key }.compactMap { _, entry -> OwnerAccount? in
            guard case .open(let account, _, _) = entry else { return nil }
            return account
        }
    }

    // MARK: entering

    mutating func step(for user: SystemUser, at now: Duration) -> Step {
        guard !isClosed else { return .refused(OwnerOpeningError.ended) }
        if let reason = barred[user.id] { return .refused(reason) }
        switch entries[user.id] {
        case .open(let account, let stays, let ends):
            // A number with another name may be another person's by now.
            guard account.user == user else {
                return .refused(OwnerOpeningError.knownOtherwise(stored: account.user, present: user))
            }
            entries[user.id] = .open(account, stays: stays + 1, ends: ends)
            return .entered(account)
        case .opening(let waiters):
            let waiter = EntryWaiter(for: user)
            entries[user.id] = .opening(waiters + [waiter])
            return .wait(waiter)
        case .closing(let waiters):
            let waiter = EntryWaiter(for: user)
            entries[user.id] = .closing(waiters + [waiter])
            return .wait(waiter)
        case .failed(let error, of: user, until: let end) where now < end: return .refused(error)
        case .failed, nil:
            entries[user.id] = .opening([])
            return .open
        }
    }

    /// The account is open: its user's waiters have entered it, and so has its opener.
    mutating func admit(to account: OwnerAccount) {
        let waiters = takeWaiters(ofUser: account.user.id)
        let count = waiters.count { $0.user == account.user }
        entries[account.user.id] = .open(account, stays: 1 + count, ends: 0)
        // Another name under the number is compared with the account's.
        for waiter in waiters { waiter.end(waiter.user == account.user ? .entered(account) : .again) }
    }

    /// The account was not opened: its user's waiters get the error, and so do callers that enter before `end`.
    mutating func refuse(_ user: SystemUser, because error: any Error, until end: Duration) {
        let waiters = takeWaiters(ofUser: user.id)
        if !isClosed { entries[user.id] = .failed(error, of: user, until: end) }
        for waiter in waiters { waiter.end(waiter.user == user ? .failed(error) : .again) }
    }

    /// One more stay in each open account; they are returned.
    mutating func enterAll() -> [OwnerAccount] {
        let accounts = open
        for account in accounts { change(account) { $0 += 1 } }
        return accounts
    }

    // MARK: closing

    /// A stay ended.
    ///
    /// - Returns: how often the last one has ended, if it was the last one.
    mutating func leave(_ account: OwnerAccount) -> UInt64? {
        change(account) { $0 -= 1 }
        guard case .open(let open, stays: 0, ends: let ends) = entries[account.user.id], open === account, !isClosed
        else { return nil }
        entries[account.user.id] = .open(account, stays: 0, ends: ends + 1)
        return ends + 1
    }

    /// The account is no longer its user's.
    mutating func remove(_ account: OwnerAccount) {
        guard case .open(let open, _, _) = entries[account.user.id], open === account else { return }
        entries[account.user.id] = nil
    }

    private mutating func change(_ account: OwnerAccount, _ count: (inout Int) -> Void) {
        guard case .open(let open, var stays, let ends) = entries[account.user.id], open === account else { return }
        count(&stays)
        entries[account.user.id] = .open(account, stays: stays, ends: ends)
    }

    /// Whether nobody has entered the account since its last stay ended for the `end`th time.
    func isLeft(_ account: OwnerAccount, since end: UInt64) -> Bool {
        guard !isClosed, case .open(let open, stays: 0, ends: end) = entries[account.user.id] else { return false }
        return open === account
    }

    /// Begins to close the account; false if somebody has entered it.
    mutating func beginClosing(_ account: OwnerAccount, since end: UInt64) -> Bool {
        guard isLeft(account, since: end) else { return false }
        entries[account.user.id] = .closing([])
        return true
    }

    /// What keeps the account of a barred user from being closed.
    enum BarredStep {
        case closed
        /// The caller ends this account, which nobody has entered.
        case end(OwnerAccount)
        case inUse(OwnerAccount)
        /// Somebody opens or closes it just now.
        case busy
    }

    /// Nobody enters the user's account any more; a caller that tries is told the reason. Throws the reason of somebody else who has barred it.
    mutating func bar(_ userID: UInt32, because reason: OwnerOpeningError) throws(OwnerOpeningError) {
        guard !isClosed else { throw .ended }
        if let other = barred[userID] { throw other }
        barred[userID] = reason
    }

    mutating func unbar(_ userID: UInt32) { barred[userID] = nil }

    mutating func barredStep(_ userID: UInt32) -> BarredStep {
        switch entries[userID] {
        case .open(let account, stays: 0, _):
            entries[userID] = .closing([])
            return .end(account)
        case .open(let account, _, _): return .inUse(account)
        case .opening, .closing: return .busy
        case .failed, nil: return .closed
        }
    }

    /// The account is closed. Its waiters open it again.
    mutating func finishClosing(_ account: OwnerAccount) {
        for waiter in takeWaiters(ofUser: account.user.id) { waiter.end(.again) }
    }

    /// Nobody enters any more.
    ///
    /// - Returns: waiters for the accounts that are being closed. Nil if it was called before.
    mutating func closeAll() -> [EntryWaiter]? {
        guard !isClosed else { return nil }
        isClosed = true
        var added: [EntryWaiter] = []
        for (userID, entry) in entries {
            guard case .closing(let waiters) = entry else { continue }
            let waiter = EntryWaiter(for: SystemUser(id: userID, name: ""))
            entries[userID] = .closing(waiters + [waiter])
            added.append(waiter)
        }
        return added
    }

    func waiterCount(ofUser userID: UInt32) -> Int {
        switch entries[userID] {
        case .opening(let waiters), .closing(let waiters): waiters.count
        case .open, .failed, nil: 0
        }
    }

    private mutating func takeWaiters(ofUser userID: UInt32) -> [EntryWaiter] {
        switch entries.removeValue(forKey: userID) {
        case .opening(let waiters), .closing(let waiters): waiters
        case .open, .failed, nil: []
        }
    }
}

/// A thread that waits until another one has opened or closed an account.
final class EntryWaiter: Sendable {
    enum Outcome: Sendable {
        case entered(OwnerAccount)
        case failed(any Error)
        /// It must look again.
        case again
    }

    let user: SystemUser
    private let outcome = Mutex(Outcome.again)
    private let semaphore = DispatchSemaphore(value: 0)

    init(for user: SystemUser) { self.user = user }

    func wait() -> Outcome {
        semaphore.wait()
        return outcome.withLock { $0 }
    }

    func end(_ outcome: Outcome) {
        self.outcome.withLock { $0 = outcome }
        semaphore.signal()
    }
}

import Auditing
import Foundation
import Logging
import Passcodes
import Prompting
import Synchronization
import Threading
import Vault

/// The owners whose accounts are open. An account is opened when its user enters, and closed by the store's ``ClosingPolicy``
/// after the last stay.
///
/// Opening takes as long as the enclave needs for the class keys. It happens once: callers that enter meanwhile wait, and get the
/// account or the error. An error is kept for a second, so a program in a loop costs the enclave nothing.
package final class OwnerRegistry: Sendable {
    let store: SharedStore
    let services: OwnerServices
    private let serves: ServedUsers
    let entries = Mutex(OwnerEntries())
    private let closing = WorkThread(name: "ostiary-owners")

    private static let errorLifetime = Duration.seconds(1)

    package init(_ store: SharedStore, _ services: OwnerServices, serves: ServedUsers) {
        self.store = store
        self.services = services
        self.serves = serves
    }

    /// The accounts that are open, by the numbers of their users.
    package var open: [OwnerAccount] { entries.withLock { $0.open } }

    /// Has `body` called for each account: at once for those that are open, and for a later one before anybody enters it.
    package func whenOpened(_ body: @escaping @Sendable (OwnerAccount) -> Void) {
        let accounts = entries.withLock { entries in
            entries.hooks.append(body)
            return entries.enterAll()
        }
        // None of them is closed meanwhile.
        let stays = accounts.map { OwnerStay(of: $0, in: self) }
        for account in accounts { body(account) }
        withExtendedLifetime(stays) {}
    }

    /// How many threads wait until somebody else has opened or closed the account of `user`.
    func waiterCount(of user: SystemUser) -> Int { entries.withLock { $0.waiterCount(ofUser: user.id) } }

    // MARK: entering

    /// Enters the account of `user`, and opens it if it is closed. Blocks while it or somebody else opens or closes the account.
    ///
    /// - Throws: ``OwnerOpeningError``, and errors of store and enclave.
    package func enter(_ user: SystemUser) throws -> OwnerStay {
        try enter(user) { [store, serves] in
            try OpenedOwner(user, in: store.vault, enclave: store.enclave, serves: serves)
        }
    }

    /// As ``enter(_:)``, for a user whom the store has. Another user is not made an owner by it: the result is nil.
    package func enterKnown(_ user: SystemUser) throws -> OwnerStay? {
        guard try isKnown(user) else { return nil }
        return try enter(user)
    }

    private func isKnown(_ user: SystemUser) throws -> Bool {
        let users = try store.vault.read { try $0.users() }
        return users.contains { stored in stored.record.map { SystemUser($0) == user } ?? false }
    }

    /// As the other form, for an owner whose keys are open already.
    package func enter(_ owner: OpenedOwner) throws -> OwnerStay { try enter(owner.user) { owner } }

    private func enter(_ user: SystemUser, _ opened: () throws -> OpenedOwner) throws -> OwnerStay {
        while true {
            let now = services.clock.now().time
            switch entries.withLock({ $0.step(for: user, at: now) }) {
            case .entered(let account): return OwnerStay(of: account, in: self)
            case .refused(let error): throw error
            case .open: return OwnerStay(of: try openAccount(of: user, opened), in: self)
            case .wait(let waiter):
                switch waiter.wait() {
                case .entered(let account): return OwnerStay(of: account, in: self)
                case .failed(let error): throw error
                case .again: continue
                }
            }
        }
    }

    private func openAccount(of user: SystemUser, _ opened: () throws -> OpenedOwner) throws -> OwnerAccount {
        do {
            // Nothing runs and nobody knows of the account before it is complete: a failure undoes nothing.
            let account = OwnerAccount(try opened(), in: store, with: services)
            try publish(account)
            return account
        } catch {
            if (error as? OwnerOpeningError) != .ended {
                store.log.callerLines.write(
                    .error, "the store was not opened for a user", of: user.id,
                    ["user": "\(user.id)", "cause": "\(error)"])
            }
            let end = services.clock.now().time + Self.errorLifetime
            entries.withLock { $0.refuse(user, because: error, until: end) }
            throw error
        }
    }

    /// Tells of the account, and lets its user enter.
    private func publish(_ account: OwnerAccount) throws(OwnerOpeningError) {
        var toldCount = 0
        while true {
            let (untold, isClosed) = entries.withLock { entries in
                let untold = Array(entries.hooks.dropFirst(toldCount))
                if untold.isEmpty, !entries.isClosed { entries.admit(to: account) }
                return (untold, entries.isClosed)
            }
            guard !isClosed else {
                account.end()
                throw .ended
            }
            guard !untold.isEmpty else { return }
            for hook in untold { hook(account) }
            toldCount += untold.count
        }
    }

    // MARK: closing

    fileprivate func leave(_ account: OwnerAccount) {
        if let end = entries.withLock({ $0.leave(account) }) { closeLater(account, since: end) }
    }

    /// Closes the account after the wait, unless somebody has entered it since its last stay ended for the `end`th time.
    private func closeLater(_ account: OwnerAccount, since end: UInt64) {
        guard case .anybody(closing: .after(let wait, let isNeeded)) = serves else { return }
        services.clock.run(after: wait, on: { [closing] in closing.run(after: $0, $1) }) { [weak self, weak account] in
            guard let self, let account, entries.withLock({ $0.isLeft(account, since: end) }) else { return }
            // It may ask a service, so it holds no lock.
            guard !isNeeded(account.user) else { return closeLater(account, since: end) }
            close(account, since: end)
        }
    }

    private func close(_ account: OwnerAccount, since end: UInt64) {
        guard entries.withLock({ $0.beginClosing(account, since: end) }) else { return }
        self.end(account)
        entries.withLock { $0.finishClosing(account) }
    }

    /// Ends an account. To be called before anybody can enter again: otherwise a question to the next account would be forgotten.
    func end(_ account: OwnerAccount) {
        account.end()
        services.prompter.forget(account.user.id)
    }

    /// Runs `body` while the account of a user is closed and nobody can enter it.
    ///
    /// - Parameter end: ends the connections of an account that is in use, as often as it is called; nil ends none.
    /// - Throws: ``AccountInUse``, ``OwnerOpeningError`` if somebody else bars the user, and errors of `body`.
    package func whileBarred<Result>(
        _ userID: UInt32, ending end: ((OwnerAccount) -> Void)?, _ body: () throws -> Result
    ) throws -> Result {
        try entries.withLock { try $0.bar(userID, because: .beingForgotten) }
        defer { entries.withLock { $0.unbar(userID) } }
        let deadline = ContinuousClock.now.advanced(by: Self.barringTime)
        while true {
            switch entries.withLock({ $0.barredStep(userID) }) {
            case .closed: return try body()
            case .end(let account):
                self.end(account)
                entries.withLock { $0.finishClosing(account) }
                continue
            case .inUse(let account):
                guard let end else { throw AccountInUse() }
                end(account)
            case .busy: break
            }
            guard ContinuousClock.now < deadline else { throw AccountInUse() }
            Thread.sleep(forTimeInterval: 0.01)
        }
    }

    /// A session has three seconds to end when the daemon does; a chip may keep an opening longer, and then it is refused.
    private static let barringTime = Duration.seconds(5)

    /// Ends all accounts: watchers, biometry, keys. Nobody enters any more. The accounts stay in ``open``, so that later records
    /// of theirs can be written.
    package func closeAll() {
        guard let waiters = entries.withLock({ $0.closeAll() }) else { return }
        let accounts = open
        // All keys go before anything is waited for.
        for account in accounts { account.forgetProofs() }
        for waiter in waiters { _ = waiter.wait() }
        for account in accounts { account.stopFollowing() }
    }
}

/// An account is in use, or could not be closed in time.
package struct AccountInUse: Error {
    package init() {}
}

/// Keeps an owner's account open.
package final class OwnerStay: Sendable {
    package let account: OwnerAccount
    private let registry: OwnerRegistry

    fileprivate init(of account: OwnerAccount, in registry: OwnerRegistry) {
        (self.account, self.registry) = (account, registry)
    }

    deinit { registry.leave(account) }
}

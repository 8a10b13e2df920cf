import Dispatch
package import Foundation
import OstiaryMessages
import Synchronization

/// The changes since the program was told last.
package struct ItemNews: Sendable, Equatable {
    package struct Change: Sendable, Equatable {
        package enum Kind: Sendable {
            case added, changed, removed
        }

        /// The 16 bytes that name the item.
        package let id: Data
        package let itemClass: String
        package let kind: Kind
    }

    /// Whether items of the class *when unlocked* can be opened now.
    package var isUnlocked: Bool
    /// Whether items of the class *after first unlock* can be opened now.
    package var wasUnlockedSinceStart: Bool
    /// Whether there was a lock, even if the store is open again.
    package var wasLocked: Bool
    /// Whether the program must look at its items again: the changes do not say everything. So it is in the first news, in those
    /// after the daemon was restarted, and after very many changes.
    package var looksAgain: Bool
    package var changes: [Change]
}

/// Waits for locks, and for changes of the items that match one of some selections, on a connection of its own: other calls would
/// have to wait for the thread that reads for it.
package final class ItemWatch: Sendable {
    private struct State {
        var connection: DaemonConnection?
        var isEnded = false
    }

    private let client: OstiaryClient
    private let request: WireWatchItemsRequest
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    fileprivate init(client: OstiaryClient, _ selections: [ItemSelection]) {
        self.client = client
        request = .with { $0.queries = selections.map(\.message) }
    }

    deinit { end() }

    /// The next news. Blocks until there are some, for ever if need be; the first ones come at once. Changes that come in quick
    /// succession are told together.
    ///
    /// A daemon that does not run is not started: it is waited for, and looked for ever more rarely, at least once a minute. For one
    /// thread at a time.
    ///
    /// - Returns: nil when the watch was ended.
    /// - Throws: the daemon's refusal of the watch, and `versionMismatch` from a daemon that tells of no items.
    package func next() throws -> ItemNews? {
        var delay = Self.firstDelay
        while true {
            do {
                guard let connection = try connection() else { return nil }
                return try ItemNews(connection.call(.watchItems(request)))
            } catch let error as OstiaryError where Self.isFinal(error) { throw error } catch {
                // The daemon ended, is not there, or has too many watches: later it may be.
                state.withLock { $0.connection = nil }
            }
            guard ended.wait(timeout: .now() + delay) == .timedOut else { return nil }
            delay = min(delay * 2, Self.longestDelay)
        }
    }

    /// A daemon that was restarted is back within this.
    private static let firstDelay = 0.05
    private static let longestDelay = 60.0

    private static func isFinal(_ error: OstiaryError) -> Bool {
        error.code.rawValue > 0 && ![OstiaryError.Code(.tooMany), .init(.callerChanged)].contains(error.code)
    }

    private func connection() throws -> DaemonConnection? {
        let (present, isEnded) = state.withLock { ($0.connection, $0.isEnded) }
        guard !isEnded else { return nil }
        if let present { return present }
        let fresh = try client.ownConnection()
        return state.withLock { state in
            guard !state.isEnded else { return nil }
            state.connection = fresh
            return fresh
        }
    }

    /// Ends the watch, from any thread: ``next()`` returns nil. Waits for nothing.
    package func end() {
        let connection = state.withLock { state in
            state.isEnded = true
            return state.connection.take()
        }
        connection?.end()
        ended.signal()
    }
}

extension OstiaryClient {
    /// Begins to watch the store's lock, and the items that match one of the selections.
    ///
    /// - Parameter selections: at most 16, without a host. None for the lock alone.
    package func watchItems(_ selections: [ItemSelection]) -> ItemWatch { ItemWatch(client: self, selections) }
}

extension ItemNews {
    fileprivate init(_ answer: consuming DaemonAnswer) throws {
        guard case .itemNews(let news) = answer.body else { throw OstiaryClient.unexpected() }
        self.init(
            isUnlocked: news.unlocked, wasUnlockedSinceStart: news.unlockedSinceStart, wasLocked: news.wasLocked,
            looksAgain: news.looksAgain, changes: [])
        for change in news.changes {
            guard let kind = Change.Kind(change.kind) else {
                // A later daemon knows kinds of changes that this program cannot tell apart.
                looksAgain = true
                continue
            }
            changes.append(Change(id: change.itemID, itemClass: change.itemClass, kind: kind))
        }
    }
}

extension ItemNews.Change.Kind {
    fileprivate init?(_ kind: WireItemChange.Kind) {
        switch kind {
        case .added: self = .added
        case .changed: self = .changed
        case .removed: self = .removed
        case .unspecified, .UNRECOGNIZED: return nil
        }
    }
}

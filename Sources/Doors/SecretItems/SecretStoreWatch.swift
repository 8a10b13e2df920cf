import Foundation
import OstiaryClient
import OstiaryMessages

/// The store, as the door itself sees it.
public enum SecretStore {
    /// Whether items can be opened now. Starts a user's daemon that does not run.
    public static func isUnlocked() throws(StoreRefusal) -> Bool {
        do { return try OstiaryClient.shared.status().unlocked } catch { throw StoreRefusal(any: error) }
    }

    /// The item or collection with this id, as far as it can be seen; nil if there is none. Asks nobody.
    public static func item(_ id: SecretID) throws(StoreRefusal) -> ListedSecret? {
        try list(SecretQuery.named(id), limit: 1, returningAttributes: true).first
    }

    /// The items or collections that match, oldest first. Items have no contents then. Asks nobody.
    ///
    /// - Parameter limit: the largest number of them; nil for all.
    public static func list(_ query: SecretQuery, atMost limit: Int? = nil) throws(StoreRefusal) -> [ListedSecret] {
        try list(query.selection, limit: limit, returningAttributes: query.kind == .collection)
    }

    private static func list(
        _ selection: ItemSelection, limit: Int?, returningAttributes: Bool
    ) throws(StoreRefusal) -> [ListedSecret] {
        do {
            return try OstiaryClient.shared.listItems(
                selection, limit: limit, returningAttributes: returningAttributes
            ).compactMap { ListedSecret($0) }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] } catch {
            throw StoreRefusal(any: error)
        }
    }
}

/// What happened in the store since it was told last.
public struct SecretNews: Sendable, Equatable {
    public enum Change: Sendable {
        case added, changed, removed
    }

    /// Whether items can be opened now.
    public var isUnlocked: Bool
    /// Whether there was a lock, even if the store is open again.
    public var wasLocked: Bool
    /// Whether the changes do not say everything.
    public var looksAgain: Bool
    public var changes: [SecretID: Change]

    public init(isUnlocked: Bool, wasLocked: Bool = false, looksAgain: Bool = false, changes: [SecretID: Change] = [:])
    {
        (self.isUnlocked, self.wasLocked) = (isUnlocked, wasLocked)
        (self.looksAgain, self.changes) = (looksAgain, changes)
    }
}

/// Waits for locks, and for changes that others than this door make.
public final class SecretWatch: Sendable {
    private let watch: ItemWatch

    public init() { watch = OstiaryClient.shared.watchItems([SecretQuery.everything]) }

    /// The next news. Blocks until there are some; the first ones come at once. For one thread at a time.
    ///
    /// - Returns: nil when the watch was ended.
    public func next() throws(StoreRefusal) -> SecretNews? {
        let news: ItemNews?
        do { news = try watch.next() } catch { throw StoreRefusal(any: error) }
        return news.map { SecretNews($0) }
    }

    /// Ends the watch, from any thread.
    public func end() { watch.end() }
}

extension SecretNews {
    init(_ news: ItemNews) {
        self.init(isUnlocked: news.isUnlocked, wasLocked: news.wasLocked, looksAgain: news.looksAgain)
        for change in news.changes {
            guard let id = SecretID(change.id) else { continue }
            changes[id] =
                switch change.kind {
                case .added: .added
                case .changed: .changed
                case .removed: .removed
                }
        }
    }
}

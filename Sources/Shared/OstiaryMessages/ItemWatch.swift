public import Foundation

// News for a program of its keychain items and of the store's lock.

/// Answered by ``WireItemNews`` when there is something that the program was not told of on this connection. The first answer of a
/// connection comes at once.
public struct WireWatchItemsRequest: WireMessage, FieldList {
    /// The items that match one of these. Empty for no items: the answers tell of the lock alone.
    public var queries: [WireItemQuery] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&queries)
    }
}

/// The changes since the last answer on the connection. It names items by their ids, and says nothing of their contents.
public struct WireItemNews: WireMessage, FieldList {
    /// Whether items of the class *when unlocked* can be opened now.
    public var unlocked = false
    /// Whether items of the class *after first unlock* can be opened now.
    public var unlockedSinceStart = false
    /// Whether there was a lock, even if the store is open again.
    public var wasLocked = false
    /// Whether the program must look at its items again, because the changes do not say everything: in the first answer,
    /// after too many changes, and after a change of the program's access groups.
    public var looksAgain = false
    /// Each item once, in the order of their first changes.
    public var changes: [WireItemChange] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&unlocked)
        coder.field(&unlockedSinceStart)
        coder.field(&wasLocked)
        coder.field(&looksAgain)
        coder.field(&changes)
    }
}

/// An item that has changed, as the watch's queries see it: one that begins to match counts as added.
public struct WireItemChange: WireMessage, FieldList {
    public enum Kind: WireNumber, WireValue {
        case unspecified
        case added, changed, removed
        case UNRECOGNIZED(Int)

        public init(rawValue: Int) {
            switch rawValue {
            case 0: self = .unspecified
            case 1: self = .added
            case 2: self = .changed
            case 3: self = .removed
            default: self = .UNRECOGNIZED(rawValue)
            }
        }

        public var rawValue: Int {
            switch self {
            case .unspecified: 0
            case .added: 1
            case .changed: 2
            case .removed: 3
            case .UNRECOGNIZED(let number): number
            }
        }
    }

    public var itemID = Data()
    public var itemClass = ""
    public var kind = Kind.unspecified

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&itemID)
        coder.field(&itemClass)
        coder.field(&kind)
    }
}

public import Foundation
public import SecretMemory

/// Where the log was at some moment, kept outside it: records that were there then cannot be cut off unnoticed.
public struct Anchor: Equatable, Sendable {
    /// Number of records.
    public let count: UInt64
    /// Head of the hash chain after them, 32 bytes.
    public let head: Data
    /// Epoch of the record with index ``count``.
    public let epoch: UInt32
    /// Key of the record with index ``count``, sealed.
    public let sealedKey: Data
    /// What an anchor of version 1 does not say; such a log is read from its beginning.
    public let place: Place?

    /// Where in the file the anchored records end, and the state of the store at the time.
    public struct Place: Equatable, Sendable {
        /// Offset of the record with index ``Anchor/count``, in bytes.
        public let position: UInt64
        /// The number that the store had then.
        public let storeGeneration: UInt64

        public init(position: UInt64, storeGeneration: UInt64) {
            self.position = position
            self.storeGeneration = storeGeneration
        }
    }

    public init(count: UInt64, head: Data, epoch: UInt32, sealedKey: Data, place: Place?) {
        self.count = count
        self.head = head
        self.epoch = epoch
        self.sealedKey = sealedKey
        self.place = place
    }
}

/// Keeps the newest anchor where it is authenticated and durable, and knows how old that store is. Calls block.
public protocol AnchorStore: Sendable {
    /// The newest anchor; nil only if there never was one.
    func load() throws -> Anchor?
    /// Returns once the anchor is on disk.
    func save(_ anchor: Anchor) throws
    /// How many changes the store has seen: of those that are on disk, and never of one that a crash could still undo. It never
    /// falls. Each record carries it, so that an older store is told from the log's own. Does not wait.
    var storeGeneration: UInt64 { get }
}

/// Seals the log's current key for the anchor. Calls block.
public protocol LogKeySealer: Sendable {
    func seal(_ key: borrowing SecretBytes) throws -> Data
    func unseal(_ sealed: Data) throws -> SecretBytes
}

public import Foundation
public import SecretMemory

/// The state of the log at one moment, kept outside the log. Nobody can cut off the records before it unnoticed.
public struct Anchor: Equatable, Sendable {
    /// Number of records.
    public let count: UInt64
    /// Head of the hash chain after them, 32 bytes.
    public let head: Data
    /// Epoch of the record with index ``count``.
    public let epoch: UInt32
    /// Key of the record with index ``count``, sealed.
    public let sealedKey: Data
    public let place: Place

    /// The end of the anchored records in the file, and the state of the store at that time.
    public struct Place: Equatable, Sendable {
        /// Offset of the record with index ``Anchor/count``, in bytes.
        public let position: UInt64
        /// The store's generation at that time.
        public let storeGeneration: UInt64

        public init(position: UInt64, storeGeneration: UInt64) {
            self.position = position
            self.storeGeneration = storeGeneration
        }
    }

    public init(count: UInt64, head: Data, epoch: UInt32, sealedKey: Data, place: Place) {
        self.count = count
        self.head = head
        self.epoch = epoch
        self.sealedKey = sealedKey
        self.place = place
    }
}

/// Keeps the newest anchor, authenticated and durable, and knows the age of its own store. Calls block.
public protocol AnchorStore: Sendable {
    /// The newest anchor; nil only if there never was one.
    func load() throws -> Anchor?
    /// Returns once the anchor is on disk.
    func save(_ anchor: Anchor) throws
    /// How many changes of the store are on disk. A change that a crash could still undo does not count, and the number
    /// never falls. Each record carries it, which shows when the store is older than the log. Does not wait.
    var storeGeneration: UInt64 { get }
}

/// Seals the log's current key for the anchor. Calls block.
public protocol LogKeySealer: Sendable {
    func seal(_ key: borrowing SecretBytes) throws -> Data
    func unseal(_ sealed: Data) throws -> SecretBytes
}

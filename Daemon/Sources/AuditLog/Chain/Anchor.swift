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

    public init(count: UInt64, head: Data, epoch: UInt32, sealedKey: Data) {
        self.count = count
        self.head = head
        self.epoch = epoch
        self.sealedKey = sealedKey
    }
}

/// Keeps the newest anchor where it is authenticated and durable. Calls block.
public protocol AnchorStore: Sendable {
    /// The newest anchor; nil only if there never was one.
    func load() throws -> Anchor?
    /// Returns once the anchor is on disk.
    func save(_ anchor: Anchor) throws
}

/// Seals the log's current key for the anchor. Calls block.
public protocol LogKeySealer: Sendable {
    func seal(_ key: borrowing SecretBytes) throws -> Data
    func unseal(_ sealed: Data) throws -> SecretBytes
}

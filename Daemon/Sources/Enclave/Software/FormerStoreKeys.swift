import Crypto
public import SecretMemory

/// The keys of a store of an older format, derived from the device secret. The codes of its rows were made with them,
/// so they become the store's own keys when it is opened.
public struct FormerStoreKeys: Sendable {
    /// One key of 32 bytes for each use: codes of rows, records, digests; in this order.
    private static let uses = ["authentication", "record", "lookup"]

    private let file: DeviceSecretFile

    /// - Parameters:
    ///   - directory: the folder of the store.
    ///   - owner: the user who must own file and folder.
    public init(directory: String, ownedBy owner: UInt32) {
        file = DeviceSecretFile(directory: directory, ownedBy: owner)
    }

    /// The three keys in a row, 96 bytes; nil when the store has keys of its own.
    public func read() throws(EnclaveError) -> SecretBytes? {
        let secret = try file.read()
        guard secret.version == .withStoreKeys else { return nil }
        var keys = SecretBytes(zeroed: 0)
        for use in Self.uses { keys = SecretBytes(joining: keys, DeviceKeys.key(for: use, from: secret.bytes)) }
        return keys
    }

    /// Records permanently that the store has keys of its own: ``read()`` then returns nil. Call it when those keys are
    /// on disk.
    public func retire() throws(EnclaveError) { try file.bringUpToDate() }
}

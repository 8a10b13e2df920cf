package import AuditLog
import CanonicalEncoding
package import Foundation
package import SecretMemory
package import StoreKeys
package import Vault

/// Keeps the audit log's anchor in the store.
package struct VaultAnchorStore: AnchorStore {
    package let vault: Vault

    package init(vault: Vault) {
        self.vault = vault
    }

    package var storeGeneration: UInt64 { vault.storeGeneration }

    package func load() throws -> Anchor? {
        guard let record = try vault.read({ try $0.logAnchor() }) else { return nil }
        let end = try AnchoredEnd(bytes: record.head)
        return Anchor(
            count: record.count, head: end.head, epoch: record.epoch, sealedKey: record.sealedKey, place: end.place)
    }

    package func save(_ anchor: Anchor) throws {
        let record = LogAnchorRecord(
            count: anchor.count, head: AnchoredEnd(head: anchor.head, place: anchor.place).bytes, epoch: anchor.epoch,
            sealedKey: anchor.sealedKey)
        try vault.write("log.anchor") { try $0.setLogAnchor(record) }
    }
}

/// The end of the anchored records, as the anchor's row holds it. Layout: `Documentation/formats/audit-log.md`.
struct AnchoredEnd: Equatable {
    let head: Data
    let place: Anchor.Place

    /// Version 1 is that of builds from before the first release.
    private static let version: UInt8 = 2
    private static let headByteCount = 32

    init(head: Data, place: Anchor.Place) {
        self.head = head
        self.place = place
    }

    /// Accepts exactly what ``bytes`` gives.
    init(bytes: Data) throws(AuditLogError) {
        do {
            var reader = CanonicalReader(Array(bytes))
            guard try reader.read(UInt8.self) == Self.version else { throw AuditLogError.anchorUnreadable }
            let head = Data(try reader.read(fixed: Self.headByteCount))
            let place = Anchor.Place(
                position: try reader.read(UInt64.self), storeGeneration: try reader.read(UInt64.self))
            try reader.finish()
            self.init(head: head, place: place)
        } catch { throw .anchorUnreadable }
    }

    var bytes: Data {
        var writer = CanonicalWriter(capacity: 1 + Self.headByteCount + 16)
        writer.write(Self.version)
        writer.write(fixed: head)
        writer.write(place.position)
        writer.write(place.storeGeneration)
        return Data(writer.bytes)
    }
}

/// Encrypts the log's current key under the store's keys, so that the chain can go on after a restart, and only where the
/// enclave opened the store. The enclave itself would have to seal with each authorization, which takes a chip too long.
package struct StoreLogKeySealer: LogKeySealer {
    package let keys: StoreKeys

    package init(keys: StoreKeys) {
        self.keys = keys
    }

    private static let label = "ostiary.log-key.v1"

    package func seal(_ key: borrowing SecretBytes) throws -> Data { try keys.protect(key, label: Self.label) }

    package func unseal(_ sealed: Data) throws -> SecretBytes {
        try keys.unprotectSecret(sealed, label: Self.label)
    }
}

import AuditLog
import Enclave
import Foundation
import SecretMemory
import Vault

/// Keeps the audit log's anchor in the store.
struct VaultAnchorStore: AnchorStore {
    let vault: Vault

    func load() throws -> Anchor? {
        try vault.read { try $0.logAnchor() }.map {
            Anchor(count: $0.count, head: $0.head, epoch: $0.epoch, sealedKey: $0.sealedKey)
        }
    }

    func save(_ anchor: Anchor) throws {
        let record = LogAnchorRecord(
            count: anchor.count, head: anchor.head, epoch: anchor.epoch, sealedKey: anchor.sealedKey)
        try vault.write("log.anchor") { try $0.setLogAnchor(record) }
    }
}

/// Seals the log's current key to the enclave, so that the chain can go on after a restart.
struct EnclaveLogKeySealer: LogKeySealer {
    let enclave: any Enclave
    private static let context = Data("ostiary.log-key.v1".utf8)

    func seal(_ key: borrowing SecretBytes) throws -> Data {
        try enclave.seal(key, authorization: SecretBytes(zeroed: 0), context: Self.context)
    }

    func unseal(_ sealed: Data) throws -> SecretBytes {
        try enclave.unseal(sealed, authorization: SecretBytes(zeroed: 0), context: Self.context)
    }
}

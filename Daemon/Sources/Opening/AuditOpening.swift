import AuditLog
import Auditing
import Enclave
import OwnerKeys
import SecretMemory
import StoreKeys
import Vault

/// Opens the audit log, makes the first one, or replaces a damaged one when told to.
struct AuditOpening {
    let vault: Vault
    let enclave: any Enclave
    let keys: StoreKeys
    let folder: String
    let userID: UInt32

    func open(replacingDamaged: Bool) throws -> AuditLog {
        let anchors = VaultAnchorStore(vault: vault)
        let sealer = StoreLogKeySealer(keys: keys)
        let audit: AuditLog
        do {
            audit = try AuditLog(
                folder: folder, ownedBy: userID, anchors: anchors, sealer: sealer, readingAll: replacingDamaged)
        } catch AuditLogError.missing {
            let seed = SecretBytes(random: 32)
            return try AuditLog.create(
                folder: folder, ownedBy: userID, anchors: anchors, sealer: sealer, epoch: try newEpoch(seed),
                seed: seed,
                time: AuditTrail.milliseconds())
        } catch let error as AuditLogError {
            throw BrokerOpeningError.log(
                "The audit log in \(folder) cannot be used: \(error.words). Nothing was changed.")
        }
        switch audit.state {
        case .intact, .recovered: return audit
        // The daemon serves with a damaged log: requests that need no record go on. With an older store it would take back changes
        // that the log records, so it refuses to open.
        case .olderStore(let store) where !replacingDamaged: throw BrokerOpeningError.log(store.refusal(in: folder))
        case .damaged where !replacingDamaged: return audit
        case .olderStore, .damaged:
            let seed = SecretBytes(random: 32)
            try audit.beginAnew(epoch: try newEpoch(seed), seed: seed, time: AuditTrail.milliseconds())
            return audit
        }
    }

    /// Stores the seed of a new epoch and returns its number.
    private func newEpoch(_ seed: borrowing SecretBytes) throws -> UInt32 {
        let seeds = LogSeeds(vault: vault, enclave: enclave, owner: nil)
        let number = (try seeds.records().last?.number ?? 0) + 1
        let record = try seeds.record(number: number, firstIndex: 0, seed: seed, passcode: nil)
        try vault.write("log.epoch") { try $0.setLogEpoch(record) }
        return number
    }
}

extension OlderStore {
    /// Why the daemon does not open the store: the event, its reason, and the remedy.
    func refusal(in folder: String) -> String {
        "The store in \(folder) is older than its audit log: record \(recordIndex) was written at change "
            + "\(recordGeneration) of the store, which is at change \(storeGeneration). Somebody put an older vault.sqlite "
            + "back without the log that belongs to it. Restore the whole folder from one backup; if the older store is the "
            + "one you want, start ostiaryd once with --replace-damaged-log, which keeps the log as audit.log.damaged.N. Nothing "
            + "was changed."
    }
}

import AuditLog
import Enclave
import Foundation
import SecretMemory
import Settings
public import StoreKeys
public import Vault

/// Opens what lies in a state folder, each part with the one before: the enclave, the store's keys, the store.
///
/// Device secret and store keys are made together with the store and never beside an existing one: others there would make
/// everything unreadable for good.
struct StoreOpening {
    let path: String
    /// The user whom everything in the folder must belong to.
    let userID: UInt32
    let observer: (any WriteObserver)?
    /// Where the keys of a new store are made, and where a TPM is.
    var enclave = EnclaveConfiguration()

    private var file: StoreKeysFile { StoreKeysFile(directory: path, ownedBy: userID) }

    /// May be called again after ``EnclaveError/ownerPassword`` and ``EnclaveError/wrongOwnerPassword``: the chip has nothing new
    /// then, and keys that were stored belong to the next try.
    ///
    /// - Parameter chipOwner: the password of the TPM's owner, for the try after those.
    func open(as chipOwner: OwnerPassword? = nil) throws -> (enclave: any Enclave, keys: StoreKeys, vault: Vault) {
        let isNew = try !isStoreThere()
        let enclave = try openEnclave(isNew: isNew, as: chipOwner)
        do {
            let (keys, vault) = try open(with: enclave, isNew: isNew, as: chipOwner)
            return (enclave, keys, vault)
        } catch let error as StoreKeysFileError {
            throw complaint(error)
        } catch let error as EnclaveError where !error.isOfOwner {
            // Only a chip does anything for the store here besides its keys.
            throw BrokerOpeningError.enclave(
                "The TPM did not open or make the store in \(path) (\(error)). Start again. If it stays so, end the programs that use the "
                    + "TPM, or restart the machine. Nothing was changed.")
        }
    }

    /// A store stays with the enclave that it was made in, even if the configuration names another.
    private func openEnclave(isNew: Bool, as chipOwner: OwnerPassword?) throws -> any Enclave {
        let opening = EnclaveOpening(path: path, userID: userID, configuration: enclave)
        do {
            return try opening.open(file.head(), createIfMissing: isNew, as: chipOwner)
        } catch StoreKeysFileError.missing where isNew {
            return try opening.openNew(as: chipOwner)
        } catch StoreKeysFileError.missing {
            // Stores of the first builds had no such file. They are refused for their version.
            do { try Vault.requirePresentVersion(inFolder: path, ownedBy: userID) } catch let error as VaultError {
                throw complaint(error)
            }
            throw complaint(StoreKeysFileError.missing)
        } catch let error as StoreKeysFileError {
            throw complaint(error)
        }
    }

    private func open(
        with enclave: any Enclave, isNew: Bool, as chipOwner: OwnerPassword?
    ) throws -> (keys: StoreKeys, vault: Vault) {
        let (keys, id) = try isNew ? makeKeys(sealedBy: enclave) : file.read(openedBy: enclave)
        let mark = try isNew ? newMark(enclave, keys, storeID: id, as: chipOwner) : nil
        let vault: Vault
        do { vault = try openVault(keys, newID: isNew ? id : nil, newMark: mark) } catch {
            if let mark { removeOrphan(mark.counter, in: enclave, as: chipOwner) }
            throw error
        }
        guard vault.storeID.bytes == id else { throw StoreKeysFileError.enclave(.unreadable) }
        return (keys, vault)
    }

    private func newMark(
        _ enclave: any Enclave, _ keys: StoreKeys, storeID: Data, as chipOwner: OwnerPassword?
    ) throws -> RollbackMark? {
        guard let enclave = enclave as? any CountingEnclave else { return nil }
        do {
            return try StoreRollback.newMark(in: enclave, keys: keys, storeID: storeID, as: chipOwner)
        } catch let error as EnclaveError where error.isOfOwner {
            throw error
        } catch {
            throw BrokerOpeningError.enclave(
                "The TPM did not make the counter of a new store in \(path) (\(error)). If its memory is full: "
                    + EnclaveError.memoryAdvice)
        }
    }

    /// Removes the counter of a store that was not made after all: nobody would find it again. It stays if the chip refuses.
    private func removeOrphan(_ counter: Data, in enclave: any Enclave, as chipOwner: OwnerPassword?) {
        guard let enclave = enclave as? any CountingEnclave, (try? Vault.exists(inFolder: path)) == false else {
            return
        }
        try? enclave.removeCounter(counter, as: chipOwner)
    }

    private func isStoreThere() throws -> Bool {
        do { return try Vault.exists(inFolder: path) } catch { throw complaint(error) }
    }

    /// The keys of a store that is about to be made. Those that are there already belong to a store of which no more was made,
    /// or whose database somebody took away and may put back.
    private func makeKeys(sealedBy enclave: any Enclave) throws -> (keys: StoreKeys, storeID: Data) {
        let found: (keys: StoreKeys, storeID: Data)
        do { found = try file.read(openedBy: enclave) } catch StoreKeysFileError.missing {
            try file.create(RootSecret(), storeID: VaultID().bytes, sealedBy: enclave)
            return try file.read(openedBy: enclave)
        }
        try requireNoCounter(found.keys, storeID: found.storeID, in: enclave)
        return found
    }

    /// Refuses if only the database of a store is away. A new store would replace the counter, and then the database could not come
    /// back: as an older copy it is accepted with its passcode alone, and it may have none.
    private func requireNoCounter(_ keys: StoreKeys, storeID: Data, in enclave: any Enclave) throws {
        // A first start that was interrupted between the counter and the database has no log yet.
        guard let enclave = enclave as? any CountingEnclave, AuditLog.exists(inFolder: path) else { return }
        let missing = "The database of the store in \(path) is missing"
        let hasCounter: Bool
        do { hasCounter = try StoreRollback.hasCounter(in: enclave, keys: keys, storeID: storeID) } catch {
            throw BrokerOpeningError.enclave(
                "\(missing), and the TPM did not say whether it has the store's counter (\(error)). Put the database back and "
                    + "start again. Nothing was changed.")
        }
        guard !hasCounter else {
            throw BrokerOpeningError.store(
                "\(missing), and the TPM has the store's counter still. Put the database back and start again. If it is lost, "
                    + "move the folder away to start with an empty store. Nothing was changed.")
        }
    }

    /// - Parameters:
    ///   - newID: the identity of the store, if it is to be made.
    ///   - newMark: its counter, if it is to be made and has one.
    private func openVault(_ keys: StoreKeys, newID: Data?, newMark: RollbackMark?) throws -> Vault {
        do {
            return try Vault(
                folder: path, ownedBy: userID, create: newID != nil, protector: keys, observer: observer,
                newID: newID.flatMap(VaultID.init(bytes:)), newMark: newMark)
        } catch let error as VaultError {
            throw complaint(error)
        }
    }

    // MARK: complaints

    private func complaint(_ error: StoreKeysFileError) -> BrokerOpeningError {
        switch error {
        case .missing:
            .enclave(
                "The file \(StoreKeysFile.name) in \(path) is missing, and the store there cannot be read without it. "
                    + "Restore the file from a backup. To start with an empty store, move the folder away.")
        case .unusable(let defect):
            .enclave(
                "The file \(StoreKeysFile.name) in \(path) cannot be used: \(defect.words). Restore it from a backup; nothing was "
                    + "changed.")
        case .enclave(.unreadable), .enclave(.wrongKind), .enclave(.refused):
            .enclave(
                "The file \(StoreKeysFile.name) in \(path) was changed, or does not belong to this store and this device. "
                    + "Restore the whole folder from one backup; nothing was changed.")
        case .enclave(let error):
            .enclave("The enclave did not open the store in \(path) (\(error)). Start again; nothing was changed.")
        case .notWritten(let code):
            .enclave(
                "The file \(StoreKeysFile.name) could not be made in \(path) (errno \(code)). Free space on its disk and "
                    + "start again.")
        }
    }

    private func complaint(_ error: VaultError) -> BrokerOpeningError {
        switch error {
        case .tooNew(let found, let supported):
            .store(
                "The store in \(path) has version \(found), but this daemon reads only up to \(supported). Upgrade "
                    + "Ostiary; nothing was changed.")
        case .tooOld(let found, let supported):
            .store(
                "The store in \(path) has version \(found): a build from before version 0.1.0 made it, and this daemon reads "
                    + "only stores from version \(supported) on. Take out of it what you need with that build. To start with an "
                    + "empty store, move the folder away. Nothing was changed.")
        case .diskFull:
            .store("The disk that holds \(path) is full, so the store cannot be opened; free space and start again.")
        default:
            .store(
                "The store in \(path) cannot be used: \(error.words). Restore it from a backup, or move the folder "
                    + "away to start with an empty store. Nothing was changed.")
        }
    }
}

/// The vault stands on the store's keys.
extension StoreKeys: RecordProtector {}

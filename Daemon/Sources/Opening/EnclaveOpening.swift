import Enclave
import Glibc
import Settings
import StoreKeys
import TPMEnclave

/// Opens the enclave of a store, or the one that the configuration names for a new store.
struct EnclaveOpening {
    /// The folder of the store.
    let path: String
    let userID: UInt32
    let configuration: EnclaveConfiguration

    /// The enclave of a store that is about to be made.
    func openNew(as chipOwner: OwnerPassword?) throws -> any Enclave {
        switch configuration.kind {
        case .software: try openSoftware(createIfMissing: true)
        case .tpm: try openTPM(storageKey: nil, as: chipOwner)
        }
    }

    /// The enclave that made the store's keys.
    ///
    /// - Parameter createIfMissing: whether the store has no database yet.
    func open(
        _ head: StoreKeysFile.Head, createIfMissing: Bool, as chipOwner: OwnerPassword?
    ) throws -> any Enclave {
        switch head.enclave {
        case .software: try openSoftware(createIfMissing: createIfMissing)
        case .tpm: try openTPM(storageKey: StorageKeyName(head.device), as: chipOwner)
        }
    }

    func openSoftware(createIfMissing: Bool) throws -> any Enclave {
        do {
            return try SoftwareEnclave(directory: path, ownedBy: userID, createIfMissing: createIfMissing)
        } catch .deviceSecretMissing {
            throw BrokerOpeningError.enclave(
                "The device secret in \(path) is missing, and the store there cannot be read without it. Restore the file "
                    + "from a backup. To start with an empty store, move the folder away.")
        } catch .deviceSecretUnreadable(let defect) {
            throw BrokerOpeningError.enclave(
                "The device secret in \(path) cannot be used: \(defect.words). Restore it from a backup; nothing was "
                    + "changed.")
        } catch .unavailable(code: UInt32(ENOSPC)) {
            throw BrokerOpeningError.enclave(
                "The disk that holds \(path) is full, so no store can be made; free space and start again.")
        } catch {
            throw BrokerOpeningError.enclave(
                "No device secret could be made in \(path) (\(error)). Free space on its disk and start again.")
        }
    }

    /// - Parameter storageKey: nil for a new store.
    /// - Throws: the errors about the owner's password as they are, because the person can be asked for it.
    private func openTPM(storageKey: StorageKeyName?, as chipOwner: OwnerPassword?) throws -> any Enclave {
        do {
            return try TPMEnclave(at: TPMLocation(configuration.tpm), storageKey: storageKey, as: chipOwner)
        } catch {
            guard !error.isOfOwner else { throw error }
            throw complaint(error)
        }
    }

    private func complaint(_ error: EnclaveError) -> BrokerOpeningError {
        let tpm = configuration.tpm
        let needed = "The keys of the store in \(path) are in a TPM"
        return switch error {
        case .deviceLost:
            .enclave(
                "\(needed), but the TPM at \(tpm) is another one, or was cleared since. Nothing of the store opens "
                    + "without that TPM. Set tpm.tcti in ostiaryd.conf to the right one. To start with an empty store, "
                    + "move the folder away. Nothing was changed.")
        case .noAnswer(let time):
            .enclave(
                "\(needed), but the TPM at \(tpm) did not answer within \(time.components.seconds) seconds. End the "
                    + "programs that use it, or restart the machine. Nothing was changed.")
        case .lockedOut(let remaining):
            .enclave(
                "\(needed), but the TPM at \(tpm) takes no authorization for now, because of too many wrong ones. Try "
                    + "again in \(remaining.components.seconds) seconds. Nothing was changed.")
        case .slotsTaken(let slots): .enclave("\(needed). \(slots.words(at: "TPM at \(tpm)")) Nothing was changed.")
        case .unavailable where error.isMemoryFull:
            .enclave("\(needed), but \(error). \(EnclaveError.memoryAdvice) Nothing was changed.")
        case .unavailable(let code):
            switch TPMLocation(tpm).obstacle {
            case .absent(let device):
                .enclave(
                    "\(needed), but there is no TPM: \(device) does not exist. Switch the TPM on in the firmware, or set "
                        + "tpm.tcti in ostiaryd.conf. Nothing was changed.")
            case .notPermitted(let device):
                .enclave(
                    "\(needed), but you may not use \(device). Become a member of its group (`ls -l \(device)`, on most "
                        + "systems `tss`) and log in again. Nothing was changed.")
            case .inUse(let device):
                .enclave(
                    "\(needed), but another program holds \(device). Use \(EnclaveConfiguration.kernelTPM), which "
                        + "programs can share. Nothing was changed.")
            case nil:
                .enclave(
                    "\(needed), but no TPM works at \(tpm) (code 0x\(String(code, radix: 16))). Check tpm.tcti in "
                        + "ostiaryd.conf. Nothing was changed.")
            }
        default:
            .enclave("\(needed), but the TPM at \(tpm) did not work (\(error)). Nothing was changed.")
        }
    }
}

extension EnclaveError {
    /// Whether the chip's owner was not proved.
    var isOfOwner: Bool { self == .ownerPassword || self == .wrongOwnerPassword }
}

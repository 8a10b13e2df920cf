import Enclave
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import Refusals
import Settings
import TPMEnclave
import Vault

/// The doctor's finding on the place of the keys.
extension MachineExamination {
    func enclaveFinding() -> WireFinding {
        let configured = configuration.prompts.enclave
        guard let tpm = enclave as? TPMEnclave else {
            guard configured.kind == .tpm else {
                return .ok("enclave", "The keys are in software, in the state folder.")
            }
            return .notice(
                "enclave",
                "The keys are in software. `enclave = tpm` counts for new stores, and this one was made before.",
                advice: configuration.serves.sole == nil
                    ? "The machine's store stays in the enclave in which it was made. Remove `enclave = tpm` from "
                        + "/etc/ostiary/ostiaryd.conf: there it counts before the first start alone."
                    : "To keep them in the TPM, make a new store with `ostiary enclave move tpm`, which says what comes along."
            )
        }
        do {
            return finding(try tpm.lockout(for: nil), configured.tpm)
        } catch .ownerPassword {
            return .problem(
                "enclave",
                "The keys are in the TPM at \(configured.tpm). It keeps no storage key for this store, and its owner hierarchy has a "
                    + "password now.", advice: Self.ownerAdvice)
        } catch {
            return .problem(
                "enclave", "The keys are in the TPM at \(configured.tpm), which does not work now (\(error)).",
                advice: "End the programs that use the TPM, or restart the machine.")
        }
    }

    private func finding(_ lockout: TPMLockout, _ place: String) -> WireFinding {
        let counted =
            "The keys are in the TPM at \(place). It remembers \(lockout.failureCount) of at most \(lockout.limit) wrong "
            + "authorizations by any program, and forgets one after \(Refusal.readable(lockout.interval))."
        guard lockout.isLockedOut else { return .ok("enclave", counted) }
        return .notice(
            "enclave",
            counted + " It is locked out: it refuses keys that count wrong authorizations. Ostiary's do not count "
                + "them, but the machine's storage key above them may.",
            advice:
                "Find the program that tries wrong values. The owner of the TPM can end the lockout: `tpm2_dictionarylockout -c`."
        )
    }
}

extension MachineExamination {
    /// The chip itself, and the users who may open it.
    func tpmFinding() -> WireFinding {
        let check = "tpm"
        guard let tpm = enclave as? TPMEnclave else { return Self.unusedTPMFinding(check) }
        do {
            let firmware = try tpm.firmware()
            let who = access(to: TPMLocation(configuration.prompts.enclave.tpm))
            guard let leak = firmware.leak else {
                return .ok(check, "Its firmware is \(firmware.words), without a known leak of signing keys. \(who)")
            }
            return .problem(
                check,
                "Its firmware \(firmware.words) tells private keys to somebody who measures how long signatures take (\(leak)). "
                    + who,
                advice:
                    "Update the firmware of the TPM with the machine's manufacturer, and make new keys. An update may clear the "
                    + "TPM: run `ostiary doctor --rehearse` before."
            )
        } catch {
            return .problem(
                check, "The TPM does not name its manufacturer (\(error)).", advice: "See the line `enclave`.")
        }
    }

    private func access(to location: TPMLocation) -> String {
        guard let path = location.devicePath else { return "It is no device of this kernel." }
        guard let group = location.deviceGroup else { return "No group but its owner may open \(path)." }
        return "Members of the group \(group) may open \(path), and can destroy its keys."
    }

    /// Whether the owner hierarchy asks for a password.
    func ownerFinding() -> WireFinding {
        let check = "tpm owner"
        guard let tpm = enclave as? TPMEnclave else { return .ok(check, "No chip holds keys of this store.") }
        do {
            guard try tpm.ownerHasPassword() else { return .ok(check, "The owner hierarchy has no password.") }
            return .ok(
                check,
                "The owner hierarchy has a password. Ostiary asks for it when a store is made or a passcode is set, and at the "
                    + "start of a store from before that has no persistent storage key.")
        } catch .ownerPassword {
            return .problem(
                check, "The owner hierarchy has a password, and the TPM keeps no storage key for this store.",
                advice: Self.ownerAdvice)
        } catch {
            return .problem(
                check, "The TPM does not say whether its owner has a password (\(error)).",
                advice: "See the line `enclave`.")
        }
    }

    private static let ownerAdvice =
        "End the daemon, and start it once by hand in a terminal: it asks for the password of the TPM's owner, and has the TPM keep "
        + "the storage key."

    /// For stores in software: whether a new store could be in a TPM.
    private static func unusedTPMFinding(_ check: String) -> WireFinding {
        switch TPMLocation.device.obstacle {
        case .absent: .ok(check, "There is none, and this store needs none.")
        case .notPermitted(let path):
            .ok(
                check,
                "There is one, which you may not open: only members of the group "
                    + "\(TPMLocation.device.deviceGroup ?? "of its owner") may open \(path). This store needs none.")
        case .inUse(let path): .ok(check, "Another program holds \(path). This store needs none.")
        case nil: .ok(check, "There is one, and you may use it. New stores are made in it with `enclave = tpm`.")
        }
    }
}

/// The place of the keys for one of many users. The chip's counts are those of all users and programs, and are not told.
struct EnclaveForOneOfMany {
    let enclave: any Enclave
    let account: OwnerAccount

    func finding() -> WireFinding {
        let check = "enclave"
        guard let tpm = enclave as? TPMEnclave else { return .ok(check, "The keys are in software.") }
        do {
            _ = try tpm.lockout(for: account.id.bytes)
            return .ok(check, "The keys are in the TPM.")
        } catch {
            return .problem(
                check, "The keys are in the TPM, which does not work now.",
                advice: "Tell the administrator, for whom `ostiary doctor` says why.")
        }
    }
}

extension Examination {
    /// How many wrong passcodes the chip has counted.
    func chipTriesFinding() -> WireFinding {
        let check = "wrong tries in the TPM"
        guard let keeper = account.keeper as? ChipPasscodeKeeper else {
            return .ok(check, "No chip counts wrong passcodes of this store.")
        }
        do {
            guard let tries = try keeper.chipTries() else { return .ok(check, "There is no passcode to count at.") }
            let counted = "The TPM has counted \(tries.count) of \(tries.limit) wrong passcodes in a row."
            if tries.isBlocked {
                let restart =
                    configuration.serves.sole == nil
                    ? "An administrator runs `ostiary admin forget-user`, and you start with an empty part of the store."
                    : "Move the state folder away to start with an empty store."
                return .problem(
                    check, "\(counted) It looks at no passcode any more, for good.",
                    advice: "Everything that the passcode protects is lost. \(restart)")
            }
            guard tries.count > 0 else { return .ok(check, counted) }
            return .notice(
                check, "\(counted) At \(tries.limit) all that the passcode protects is lost.",
                advice: "Enter the right one with `ostiary unlock`: that sets the count to zero.")
        } catch {
            return .problem(
                check, "The TPM does not say how many wrong passcodes it has counted (\(error)).",
                advice: "See the line `enclave`.")
        }
    }
}

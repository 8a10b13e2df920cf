import Enclave
import OstiaryWire
import Prompting
import Refusals
import TPMEnclave

/// What the doctor says of the place of the keys.
extension Broker {
    func enclaveFinding() -> WireFinding {
        let configured = configuration.prompts.enclave
        guard let tpm = enclave as? TPMEnclave else {
            guard configured.kind == .tpm else {
                return .ok("enclave", "The keys are in software, in the state folder.")
            }
            return .notice(
                "enclave",
                "The keys are in software. `enclave = tpm` counts for new stores, and this one was made before.",
                advice:
                    "To keep them in the TPM, end the daemon, move the state folder away, and make rights and items again."
            )
        }
        do {
            return finding(try tpm.lockout(), configured.tpm)
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
            "enclave", counted + " It is locked out: other programs' keys may be refused. Ostiary's are not.",
            advice:
                "Find the program that tries wrong values. The owner of the TPM can end the lockout: `tpm2_dictionarylockout -c`."
        )
    }
}

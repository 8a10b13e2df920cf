import Opening
import OstiaryMessages

/// The doctor's finding on the counter that tells the newest copy of the store.
extension MachineExamination {
    func counterFinding() -> WireFinding {
        let check = "store counter"
        guard let rollback else {
            return .notice(
                check,
                "The enclave has no counters, so an older copy of the whole state folder passes for the newest: objects that "
                    + "you removed come back with it, and so does a former passcode.",
                advice:
                    "Keep nobody's copies of the folder but your own. A store in a TPM has a counter: see `ostiary enclave "
                    + "move`.")
        }
        do {
            switch try rollback.state() {
            case .inStep(let number):
                return .ok(check, "The store is the newest copy: the TPM's counter stands at \(number).")
            case .owed:
                return .notice(
                    check, "The TPM's counter did not follow the last change yet.",
                    advice: "If this stays so, start the daemon again, and see the line `enclave`.")
            case .doubted(let doubt):
                return .problem(
                    check, doubt.words(configuration.stateDirectory),
                    advice: configuration.acceptanceFile?.advice ?? RollbackDoubt.advice)
            }
        } catch {
            return .problem(
                check, "The TPM did not say how old the store is (\(error)).", advice: "See the line `enclave`.")
        }
    }
}

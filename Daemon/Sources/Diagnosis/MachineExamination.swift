import CLinuxShims
import Enclave
import Glibc
import Opening
import OstiaryMessages
import Owners
import SecretMemory
import Vault

/// The doctor's findings about the machine and the daemon. Some tell what all users together did, such as the chip's counts, so only
/// the one person whom the daemon serves gets them, or the administrator of many.
///
/// It knows no account, so no finding depends on one.
struct MachineExamination {
    let configuration: BrokerConfiguration
    let enclave: any Enclave
    let rollback: StoreRollback?
    private let isErasureOwed: Bool

    init(_ opened: OpenedStore) {
        (configuration, rollback) = (opened.configuration, opened.rollback)
        (enclave, isErasureOwed) = (opened.shared.enclave, opened.shared.vault.isErasureOwed)
    }

    /// Options for tests make the daemon believe other services than the machine's.
    func optionFinding() -> WireFinding {
        let options = configuration.testOptions
        guard !options.isEmpty else { return .ok("options", "The daemon was started without options for tests.") }
        return .problem(
            "options", "This daemon was started with options for tests: \(options.joined(separator: ", ")).",
            advice: "Unless you test, end it and start it again.")
    }

    /// Whether what was replaced or removed is gone from the files.
    func erasureFinding() -> WireFinding {
        isErasureOwed
            ? .notice(
                "old wraps",
                "What a change replaced or removed lies in the store's journal still: another program reads the "
                    + "database, or the disk is full. It is tried again until it is erased.",
                advice: "End programs that have vault.sqlite open, such as a backup, or make room on the disk.")
            : .ok("old wraps", "What was replaced or removed is erased from the store's files.")
    }

    func memoryFinding() -> WireFinding {
        SecretMemoryStatus.isLocked
            ? .ok("memory", "Secrets are locked in memory.")
            : .notice(
                "memory",
                SecretMemoryStatus.arePasscodesLocked
                    ? "The system refused to lock all memory for secrets: passcodes are locked, others may reach the swap "
                        + "space."
                    : "The system refused to lock memory, so secrets may reach the swap space.",
                advice: "Raise the locked-memory limit (RLIMIT_MEMLOCK), or encrypt the swap space.")
    }

    func dumpFinding() -> WireFinding {
        ostiary_is_dumpable() != 0
            ? .problem(
                "dumps", "Other programs of this user can read the daemon's memory.",
                advice: "Start ostiaryd without a debugger.")
            : .ok("dumps", "The daemon's memory can be neither dumped nor traced by programs of this user.")
    }

    func folderFinding() -> WireFinding {
        var status = stat()
        let path = configuration.stateDirectory
        guard unsafe stat(path, &status) == 0, status.st_mode & 0o077 == 0, status.st_uid == configuration.runsAs.id
        else {
            return .problem("state folder", "\(path) is open to others.", advice: "chmod 700 \(path)")
        }
        return .ok("state folder", "\(path) is private.")
    }

    func codeFinding() -> WireFinding { LoadedCode.ofThisProcess().finding(userID: configuration.runsAs.id) }

    func signInFindings() -> [WireFinding] { PAMStackExamination().findings() }
}

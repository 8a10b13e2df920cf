import AccessControl
import AuditLog
import CLinuxShims
import Enclave
import Foundation
import Glibc
import OstiaryWire
import Prompting
import SecretMemory
import SwiftProtobuf
import Vault

/// What the daemon says about itself.
extension Broker {
    func status(for session: Session) throws -> WireStatus {
        let attempts = try keeper.attempts()
        let listed = try rights.list(application: session.caller.application)
        let readable = listed.filter { $0.record != nil }
        return try .with {
            $0.mode = .user
            $0.daemonVersion = configuration.version
            $0.processID = UInt32(getpid())
            $0.stateDirectory = configuration.stateDirectory
            $0.enclaveKind = enclave.kind.rawValue
            $0.unlocked = ring.unlockState(of: .whenUnlocked) == .open
            $0.unlockedSinceStart = ring.wasUnlockedSinceStart
            $0.passcode.isSet = ring.isPasscodeSet
            $0.passcode.failedAttempts = attempts.failedCount
            $0.passcode.lockedOutSeconds = attempts.remaining / .seconds(1)
            $0.rights.count = UInt32(clamping: readable.count)
            $0.rights.unreadableCount = UInt32(clamping: listed.count - readable.count)
            $0.factors = try factorStatus()
            $0.logRecordCount = trail.audit.recordCount
            $0.caller.program = session.caller.program.displayName
            $0.caller.label = session.caller.label
            $0.caller.applicationID = session.caller.identity.applicationID ?? ""
            $0.caller.accessGroups = session.caller.accessGroups
        }
    }

    private func factorStatus() throws -> [WireFactorStatus] {
        var available = try evaluator.availability(for: nil)
        available[.applicationPassword] = .available
        let isHardware = enclave.kind == .tpm
        return Factor.allCases.filter { $0 != .biometryCurrentSet }.map { factor in
            .with {
                $0.factor = factor.name
                $0.available = available[factor] == .available
                $0.strength = factor.strength(inHardware: isHardware).rawValue
                if case .unavailable(let reason) = available[factor] { $0.note = "\(reason)" }
            }
        }
    }

    func diagnosis() throws -> WireDiagnosis {
        let findings = try [
            storeFinding(), keyFinding(limit: rights.limits.keyCountOfGroup), itemFinding(), logFinding(),
            passcodeFinding(), promptFinding(), pinentryFinding(), memoryFinding(), dumpFinding(), folderFinding(), sessionLockFinding(),
        ]
        return .with { $0.findings = findings }
    }

    private func storeFinding() throws -> WireFinding {
        let rows: [Stored<ObjectRecord>]
        do { rows = try rights.list(application: nil) } catch VaultError.corrupt {
            return .problem(
                "store", "The list of the rights does not verify, so none of them is used.",
                advice: "Somebody changed the database, or the disk is failing. Restore the state folder from a backup.")
        }
        let bad = rows.filter { $0.record == nil }.count
        guard bad > 0 else { return .ok("store", "Rights stored: \(rows.count). Every row verifies.") }
        return .problem(
            "store", "\(bad) of \(rows.count) rows do not verify and are refused; the others work.",
            advice: "Somebody changed the database, or the disk is failing. Restore the state folder from a backup, or "
                + "remove the rows with `ostiary right remove --id ID`; `ostiary right list` shows the ids.")
    }

    /// Keys that no item stands for are those that only their programs can find again.
    ///
    /// - Parameter limit: how many a program may have.
    func keyFinding(limit: Int) throws -> WireFinding {
        let keys: [ObjectRecord]
        let withoutItem: Int
        do {
            keys = try rights.keys()
            withoutItem = try vault.readItems { reader in
                try keys.count { try !items.hasItem(forKey: $0.id, in: reader) }
            }
        } catch VaultError.corrupt {
            return .problem(
                "keys", "The lists of keys and items do not verify, so none of them is used.",
                advice: "Somebody changed the database, or the disk is failing. Restore the state folder from a backup.")
        }
        let message = "\(keys.count) keys of the enclave, \(withoutItem) of them without an item."
        let groups = Dictionary(grouping: keys) { $0.attributes.group }
        guard let largest = groups.max(by: { $0.value.count < $1.value.count }),
            largest.value.count >= limit * 9 / 10
        else { return .ok("keys", message) }
        return .notice(
            "keys", "\(message) \(largest.key) has \(largest.value.count), and may have \(limit).",
            advice: "`ostiary key list --all` shows them; remove what is not needed with `ostiary key remove --id ID`.")
    }

    private func itemFinding() throws -> WireFinding {
        let (faults, count): (Int, Int)
        do { (faults, count) = try items.faultCount() } catch VaultError.corrupt {
            return .problem(
                "items", "The lists of the keychain items do not verify, so none of them is used.",
                advice: "Somebody changed the database, or the disk is failing. Restore the state folder from a backup.")
        }
        guard faults > 0 else { return .ok("items", "\(count) keychain items, every row verifies.") }
        return .problem(
            "items", "\(faults) rows of keychain items do not verify and are refused; the others work.",
            advice: "Somebody changed the database, or the disk is failing. Restore the state folder from a backup, or "
                + "delete the items.")
    }

    private func logFinding() -> WireFinding {
        switch trail.audit.state {
        case .intact: .ok("audit log", "\(trail.audit.recordCount) records.")
        case .recovered(let lostBytes):
            .notice(
                "audit log", "A crash cut off the last record (\(lostBytes) bytes); no answer relied on it.",
                advice: "Nothing is to be done.")
        case .damaged(let damage):
            .problem(
                "audit log", "It does not fit its anchor, first at record \(damage.firstMisfit). Nothing is released.",
                advice: "Keep audit.log as evidence; restart the daemon with --begin-log-anew to start another one.")
        }
    }

    private func passcodeFinding() -> WireFinding {
        ring.isPasscodeSet
            ? .ok("passcode", "It is set.")
            : .notice(
                "passcode", "None is set; whoever runs as this user, or copies the files, can use everything.",
                advice: "Set one with `ostiary passcode set`.")
    }

    private func promptFinding() -> WireFinding {
        let path = configuration.promptProgram
        switch distrust(path) {
        case nil: return .ok("prompt", "\(path) is there, and only root and this user can replace it.")
        case .missing(let part)?:
            return .problem(
                "prompt", "\(ProgramDistrust.missing(part)), so nobody can be asked.",
                advice: "Install ostiary-prompt beside ostiaryd.")
        case let distrust?:
            // As they can the daemon, which is beside it: refusing to start one of the two would protect nobody.
            return .notice(
                "prompt", "\(distrust): they can replace ostiary-prompt, into which passcodes are typed.",
                advice: Self.adviceAgainstReplacing)
        }
    }

    private func pinentryFinding() -> WireFinding {
        guard let path = configuration.prompts.pinentryPath else {
            return .notice(
                "pinentry", "None is configured: programs without a terminal cannot ask.",
                advice: "Name one in ostiaryd.conf: prompt.pinentry = /usr/bin/pinentry")
        }
        switch distrust(path) {
        case nil: return .ok("pinentry", "\(path) is there, and only root and this user can replace it.")
        case .missing(let part)?:
            return .problem(
                "pinentry", "\(ProgramDistrust.missing(part)), so it cannot ask.", advice: "Install it or correct ostiaryd.conf.")
        case let distrust?:
            return .problem(
                "pinentry", "\(path) is not started: \(distrust), and passcodes would be typed into it.",
                advice: Self.adviceAgainstReplacing)
        }
    }

    private static let adviceAgainstReplacing = "Give it to root or yourself, and take write access from group and others."

    private func distrust(_ path: String) -> ProgramDistrust? {
        do { try ProgramTrust.verify(path, userID: geteuid()) } catch { return error }
        return nil
    }

    private func memoryFinding() -> WireFinding {
        SecretMemoryStatus.isLocked
            ? .ok("memory", "Secrets are locked in memory.")
            : .notice(
                "memory", "The system refused to lock memory, so secrets may reach the swap space.",
                advice: "Raise the locked-memory limit (RLIMIT_MEMLOCK), or encrypt the swap space.")
    }

    private func dumpFinding() -> WireFinding {
        ostiary_is_dumpable() != 0
            ? .problem(
                "dumps", "Other programs of this user can read the daemon's memory.",
                advice: "Start ostiaryd itself, not under a debugger.")
            : .ok("dumps", "The daemon's memory can be neither dumped nor traced by programs of this user.")
    }

    private func folderFinding() -> WireFinding {
        var status = stat()
        let path = configuration.stateDirectory
        guard unsafe stat(path, &status) == 0, status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
            return .problem("state folder", "\(path) is open to others.", advice: "chmod 700 \(path)")
        }
        return .ok("state folder", "\(path) is private.")
    }
}

extension WireFinding {
    static func ok(_ check: String, _ message: String) -> WireFinding { finding(.ok, check, message, "") }

    static func notice(_ check: String, _ message: String, advice: String) -> WireFinding {
        finding(.notice, check, message, advice)
    }

    static func problem(_ check: String, _ message: String, advice: String) -> WireFinding {
        finding(.problem, check, message, advice)
    }

    private static func finding(
        _ verdict: WireFinding.Verdict, _ check: String, _ message: String, _ advice: String
    ) -> WireFinding {
        .with {
            $0.check = check
            $0.verdict = verdict
            $0.message = message
            $0.advice = advice
        }
    }
}

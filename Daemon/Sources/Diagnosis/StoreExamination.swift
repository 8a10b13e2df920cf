import Auditing
import Authenticators
import Foundation
import Logging
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import ProtectedObjects
import Refusals
import Vault

/// What the doctor finds in the store, for one user. Each check reads for itself, and none relies on what was read at the start.
struct StoreExamination {
    let vault: Vault
    let account: OwnerAccount
    let callerLines: CallerLines
    /// The program that waits for its turns to read much.
    let requester: StretchRequester
    /// Whether the store is for several users. Nobody is told the number of another user's rows.
    let isOfSeveral: Bool

    private static let restoring =
        "Somebody changed the database, or the disk is failing. Restore the state folder from a backup"
    private static let relisting =
        "\(restoring). Without a backup, `ostiary doctor --repair` rebuilds the lists from the rows that verify."

    /// Makes one check of the store; one that cannot be made is a problem.
    ///
    /// - Parameters:
    ///   - lists: the tables whose lists are compared with the store's root first, as they lie in the database.
    ///   - unlisted: what it means that the list of the rows does not verify.
    ///   - advice: what can be done about that, and without `unreadable` about a database that cannot be read.
    private func checkingStore(
        _ check: String, of lists: [VaultTable], unlisted: String, advice: String, unreadable: String? = nil,
        _ make: () throws -> WireFinding
    ) -> WireFinding {
        do {
            for table in lists { try verifyList(of: table) }
            return try make()
        } catch let refusal as Refusal {
            // The request was ended, and nobody gets the answer.
            return .problem(check, refusal.explanation, advice: "Run `ostiary doctor` again.")
        } catch {
            callerLines.write(
                .error, "a check of the store failed", of: account.user.id,
                ["check": "\(check)", "cause": "\(error)"])
            return switch error {
            case VaultError.corrupt(let reference, _) where reference.isOfUsers:
                .problem(
                    check,
                    "The list of the users does not verify, so this cannot be checked. The daemon will not start "
                        + "again.", advice: "\(Self.restoring).")
            case VaultError.corrupt: .problem(check, unlisted, advice: advice)
            case VaultError.changedByOthers:
                .problem(
                    check, "Something other than the daemon changed the store, so nothing of it is used any more.",
                    advice: "\(Self.restoring) as a whole, and start the daemon again.")
            case VaultError.unreadable, VaultError.io:
                .problem(
                    check, "The database cannot be read (\(Self.words(error))), so this cannot be checked.",
                    advice: unreadable ?? advice)
            default:
                .problem(
                    check, "This cannot be checked now.",
                    advice: "The daemon's log says why. Correct that, then run `ostiary doctor` again.")
            }
        }
    }

    /// Compares the list with the store's root, some of it in each turn among the readers of much.
    private func verifyList(of table: VaultTable) throws {
        let owner = table.isOfStore ? vault.storeID : account.id
        var place: Int? = 0
        while let begin = place {
            try requester.check()
            place = try StretchTurns.ofReading.withTurn(as: requester) {
                try vault.read { try $0.verifyPart(ofList: table, owner: owner, from: begin) }
            }
        }
    }

    private static func words(_ error: any Error) -> String { (error as? VaultError)?.words ?? "\(error)" }

    // MARK: rights, keys and items

    func storeFinding() -> WireFinding {
        checkingStore(
            "store", of: [.objects], unlisted: "The list of the rights does not verify, so none of them is used.",
            advice: Self.relisting, unreadable: "\(Self.restoring)."
        ) {
            let (readable, bad) = try account.rights.counts(application: nil, as: requester)
            guard bad > 0 else { return .ok("store", "Rights stored: \(readable). Every row verifies.") }
            return .problem(
                "store", "\(bad) of \(readable + bad) rows do not verify and are refused; the others work.",
                advice: "\(Self.restoring), or remove the rows with `ostiary right remove --id ID`; `ostiary right "
                    + "list --all` shows the ids. A row of a registered program stays until you register the program "
                    + "again.")
        }
    }

    /// Keys that no item refers to are those that only their programs can find again.
    ///
    /// - Parameter limit: how many of them a group may have.
    func keyFinding(limit: Int) -> WireFinding {
        checkingStore(
            "keys", of: [.objects, .items],
            unlisted: "The lists of keys and items do not verify, so none of them is used.",
            advice: Self.relisting, unreadable: "\(Self.restoring)."
        ) {
            let counts = try account.rights.keyCounts(as: requester)
            let message = "\(counts.all) keys of the enclave, \(counts.withoutItem) of them without an item."
            guard let (member, count) = counts.largestGroup, count >= limit * 9 / 10,
                let group = try vault.read({ try RightStore.readable(member, owner: account.id, in: $0) })?.attributes
                    .group
            else { return .ok("keys", message) }
            return .notice(
                "keys", "\(message) \(group) has \(count) without an item and may have \(limit).",
                advice: "`ostiary key prune` shows unused keys and removes them.")
        }
    }

    func itemFinding() -> WireFinding {
        checkingStore(
            "items", of: [.items], unlisted: "The list of the keychain items does not verify, so none of them is used.",
            advice: Self.relisting, unreadable: "\(Self.restoring)."
        ) {
            let (faults, count) = try account.items.faultCount(as: requester)
            guard faults > 0 else { return .ok("items", "\(count) keychain items, every row verifies.") }
            return .problem(
                "items", "\(faults) rows of keychain items do not verify and are refused; the others work.",
                advice: "\(Self.restoring), or delete the items.")
        }
    }

    // MARK: what the passcode depends on

    /// Rows of which each is needed: one that does not verify makes all of them useless.
    private struct NeededRows {
        let check: String
        let table: VaultTable
        /// In the plural.
        let name: String
        /// What does not work without them.
        let consequence: String
        /// What is lost when there is no backup.
        let loss: String
        /// Whether rows of other users are among them.
        var areOfAll = false
        var advice: String { "\(StoreExamination.restoring). \(loss)" }
    }

    private func finding<Record>(
        _ rows: NeededRows, in list: (VaultReader) throws -> [Stored<Record>], whenWhole: ([Record]) -> WireFinding
    ) -> WireFinding {
        checkingStore(
            rows.check, of: [rows.table], unlisted: "The list of the \(rows.name) does not verify: \(rows.consequence)",
            advice: rows.advice
        ) {
            let stored = try vault.read(list)
            let records = stored.compactMap(\.record)
            guard records.count == stored.count else {
                let count =
                    rows.areOfAll && isOfSeveral ? "Some" : "\(stored.count - records.count) of \(stored.count)"
                return .problem(
                    rows.check, "\(count) \(rows.name) do not verify: \(rows.consequence)", advice: rows.advice)
            }
            return whenWhole(records)
        }
    }

    private static let lossWithoutPasscode =
        "Without a backup, everything that the passcode protects is lost at the next lock or when the daemon ends. "
        + "Before that, read out the secrets that still open."

    func passcodeFinding() -> WireFinding {
        let rows = NeededRows(
            check: "passcode", table: .passcodeRecords, name: "passcode records",
            consequence: "no passcode is accepted, and the passcode can be neither changed nor removed.",
            loss: Self.lossWithoutPasscode)
        return finding(rows, in: { try $0.passcodeRecords(owner: account.id) }) { _ in
            account.ring.isPasscodeSet
                ? .ok(rows.check, "It is set.")
                : .notice(
                    rows.check, "None is set. Programs of this user and people who copy the files can use everything.",
                    advice: "Set one with `ostiary passcode set`.")
        }
    }

    /// The counters of wrong passcodes, application passwords and fingers.
    func attemptFinding() -> WireFinding {
        let check = "wrong tries"
        let withoutPasscode = "no passcode is accepted, and the passcode can be neither set, changed nor removed."
        return checkingStore(
            check, of: [.attemptCounters],
            unlisted: "The list of the counters of wrong tries does not verify: no application password is accepted, "
                + withoutPasscode,
            advice: "\(Self.restoring). \(Self.lossWithoutPasscode)"
        ) {
            let stored = try vault.read { try $0.attemptCounters(owner: account.id) }
            let bad = stored.compactMap(\.unreadable?.key)
            guard !bad.isEmpty else { return .ok(check, "Counters stored: \(stored.count). Every row verifies.") }
            let message = "\(bad.count) of \(stored.count) counters of wrong tries do not verify"
            let isOfFingers = bad.contains(BiometryRecordStorage.subject)
            let withoutFingers =
                isOfFingers ? " One counts wrong fingers: no finger is used until you enter your passcode once." : ""
            if bad.contains(AttemptCounters.passcode) {
                return .problem(
                    check, "\(message), the passcode's among them: \(withoutPasscode)\(withoutFingers)",
                    advice: "\(Self.restoring). \(Self.lossWithoutPasscode)")
            }
            // Another finding tells the consequence.
            let isOfKeys = bad.contains(SecurityKeyLife.subject)
            let isOfSign = bad.contains(OwnerSignStorage.subject)
            let isOfLogin = bad.contains(LoginBinding.subject)
            let objectCount = bad.count - [isOfFingers, isOfKeys, isOfSign, isOfLogin].count { $0 }
            guard objectCount > 0 else {
                let withoutLogin = isOfLogin ? " One is the state of the login: no login tries its password." : ""
                return .problem(
                    check, "\(message).\(withoutFingers)\(withoutLogin)",
                    advice: isOfKeys
                        ? "\(Self.restoring)."
                        : "\(Self.restoring), or run `ostiary \(isOfLogin ? "passcode follow-login" : "unlock")`, "
                            + "which makes this counter new.")
            }
            let objects = isOfFingers ? "\(objectCount)" : "as many"
            return .problem(
                check,
                "\(message), so \(objects) rights, keys or items accept no application password.\(withoutFingers)",
                advice: "\(Self.restoring), or remove the objects that no longer accept their password. Without a "
                    + "backup they are lost.")
        }
    }

    /// The security keys that are factors. Whether their list verifies is told with the counters beside which it lies.
    func securityKeyFinding() -> WireFinding {
        let check = "security keys"
        guard let keys = account.securityKeys else { return .ok(check, "This daemon speaks to none.") }
        do {
            let count = try keys.life.load().keys.count
            guard count == 1 else { return .ok(check, count == 0 ? "None is enrolled." : "\(count) are enrolled.") }
            return .notice(
                check,
                "Only one is enrolled. If you lose it, objects that only a security key opens stay shut for good.",
                advice: "Enrol a second one with `ostiary security-key enroll`.")
        } catch {
            callerLines.write(
                .error, "the list of security keys cannot be used", of: account.user.id, ["cause": "\(error)"])
            return .notice(
                check, "Their list cannot be used, so no security key opens anything; see the wrong tries.",
                advice: "\(Self.restoring).")
        }
    }

    func keyPairFinding() -> WireFinding {
        let rows = NeededRows(
            check: "key pairs", table: .keyPairs, name: "key pairs",
            consequence: "the daemon will not start again, and no passcode opens anything.",
            loss: "Without a backup, everything is lost when the daemon ends. Before that, read out the secrets that "
                + "still open.")
        return finding(rows, in: { try $0.keyPairs(owner: account.id) }) {
            .ok(rows.check, "Key pairs stored: \($0.count). Every row verifies.")
        }
    }

    func epochFinding() -> WireFinding {
        let rows = NeededRows(
            check: "log epochs", table: .logEpochs, name: "epochs of the audit log",
            consequence: "`ostiary log --verify` is refused, and the passcode can be neither set, changed nor removed.",
            loss: "Without a backup, this cannot be repaired; everything else keeps working.", areOfAll: true)
        return finding(rows, in: { try $0.logEpochs() }) { epochs in
            // An epoch changes hands when somebody sets or removes a passcode, so any count would tell of others.
            guard !isOfSeveral else { return .ok(rows.check, "Every row verifies.") }
            return .ok(
                rows.check,
                "Epochs stored: \(epochs.count { $0.owner == nil || $0.owner == account.id }). Every row verifies.")
        }
    }

    /// What the daemon reads before anything else. What is done to it while the daemon runs shows at the next start alone.
    func startFinding() -> WireFinding {
        let consequence = "The daemon will not start again."
        return checkingStore(
            "start", of: [.users, .logAnchors],
            unlisted: "A row that the daemon starts from does not verify. \(consequence)",
            advice: "\(Self.restoring)."
        ) {
            let isUserThere = try vault.read { reader in
                try reader.verifyStoreRecord()
                _ = try reader.logAnchor()
                return try reader.user(account.id) != nil
            }
            return isUserThere
                ? .ok("start", "The records of store, user and log anchor verify.")
                : .problem("start", "The user is not in the store. \(consequence)", advice: "\(Self.restoring).")
        }
    }
}

import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import Glibc
import HelperProcesses
package import KeySlots
package import Logging
import OwnerKeys
package import Owners
import Passcodes
import PromptProtocol
import ProtectedObjects
import Refusals
package import SecretMemory
import SecurityKeys
package import Settings
import Vault

/// Makes a new store with its keys in another enclave, beside the present one, which stays as it is. Items and registrations
/// of programs come along. Private keys cannot: they never leave their enclave.
package struct EnclaveMove {
    private let configuration: BrokerConfiguration
    private let kind: EnclaveConfiguration.Kind
    private let log: Logger
    private let say: (String) -> Void

    /// - Parameters:
    ///   - configuration: that of the present store.
    ///   - say: shows lines to the person.
    package init(
        _ configuration: BrokerConfiguration, to kind: EnclaveConfiguration.Kind, log: Logger,
        say: @escaping (String) -> Void
    ) {
        self.configuration = configuration
        self.kind = kind
        self.log = log
        self.say = say
    }

    /// The folder of the new store.
    private var newFolder: String { "\(configuration.stateDirectory).\(kind.rawValue)" }
    private var unfinishedFolder: String { newFolder + ".unfinished" }

    /// Shows the objects that come along, asks, and copies them. Blocks as long as the person takes.
    ///
    /// - Throws: ``BrokerOpeningError``; the present store is as before.
    package func run() throws {
        let former = try OpenedStore.open(
            configuration, log: log, securityKeys: SecurityKeys(configuration.helpers.securityKey))
        defer { former.close() }
        guard let account = former.accounts.first else { throw BrokerOpeningError.store("The store has no user.") }
        try requireOther(former)
        do {
            try requireOneUser(former.shared.vault)
            try account.applications.requireRead()
            let inventory = try MoveInventory(account, former.shared.vault)
            say(inventory.words(folder: configuration.stateDirectory, newFolder: newFolder, kind))
            try copy(inventory, account, from: former)
        } catch let failure as StartQuestion.Unanswered {
            throw stopped(failure.words)
        } catch let refusal as Refusal {
            throw stopped(refusal.explanation)
        } catch let error as VaultError {
            throw stopped("The store cannot be used: \(error).")
        } catch let error as EnclaveError {
            throw stopped("The enclave did not work (\(error)).")
        }
    }

    private func stopped(_ words: String) -> BrokerOpeningError {
        .store("Nothing was moved. \(words)")
    }

    private func requireOther(_ former: OpenedStore) throws {
        guard former.shared.enclave.kind != kind.enclave else {
            throw stopped("The keys of this store are in the enclave `\(kind.rawValue)` already.")
        }
        for path in [newFolder, unfinishedFolder] {
            var status = stat()
            guard unsafe lstat(path, &status) != 0, errno == ENOENT else {
                throw stopped("There is \(path) already. Look at it, and move it away.")
            }
        }
    }

    /// The others would be left behind.
    private func requireOneUser(_ vault: Vault) throws {
        let count = try vault.read { try $0.users().count }
        guard count == 1 else {
            throw stopped("The store has \(count) users, and only the store of one user can be moved.")
        }
    }

    // MARK: copying

    private func copy(_ inventory: MoveInventory, _ account: OwnerAccount, from former: OpenedStore) throws {
        let question = StartQuestion(
            user: configuration.runsAs, facts: configuration.facts, keeper: account.keeper,
            prompter: former.prompter,
            operation: "copy the store into \(kind.place)", consequence: inventory.consequence)
        guard account.ring.isPasscodeSet else {
            try question.confirm()
            return try make(account, passcode: nil, openedWith: account.ring.privateHalves, former)
        }
        let answer = try question.provePasscode()
        let halves = try account.life.privateHalves(openedBy: answer.proved)
        try make(
            account, passcode: SharedPasscode(SecretBytes(copying: answer.passcode)), openedWith: halves, former)
    }

    package final class SharedPasscode {
        package let bytes: SecretBytes
        package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
    }

    /// Makes the new store. After a failure nothing of it is left.
    package func make(
        _ account: OwnerAccount, passcode: SharedPasscode?, openedWith halves: [PrivateHalf], _ former: OpenedStore
    ) throws {
        if let passcode { try requireStrong(passcode.bytes) }
        let event = AuditTrail.Event(name: "enclave.move", program: .daemonStart, operation: kind.rawValue)
        try account.trail.change(event)
        let question = OwnerPasswordQuestion(
            to: "make a store in the TPM", former.prompter, startedBy: configuration.runsAs,
            by: configuration.facts, isByHand: OwnerPasswordQuestion.isByHand)
        let copied = try question.permitting { chipOwner in
            do {
                return try makeStore(
                    account, passcode: passcode, openedWith: halves, former, event, as: chipOwner)
            } catch {
                // Nobody else made it: it was not there before.
                try? FileManager.default.removeItem(atPath: unfinishedFolder)
                throw error
            }
        }
        guard unsafe rename(unfinishedFolder, newFolder) == 0 else {
            throw stopped("\(unfinishedFolder) could not be renamed (errno \(errno)).")
        }
        account.trail.note(event)
        say(
            "Made \(newFolder) with \(copied) items and \(account.applications.stored.count) registered programs.\n"
                + "To use it: mv \(configuration.stateDirectory) \(configuration.stateDirectory).former && "
                + "mv \(newFolder) \(configuration.stateDirectory)\n"
                + "Then make new rights and keys, and give their public keys to the accounts that used the former ones."
                + (kind == .tpm && passcode != nil ? Self.passcodeAdvice : ""))
    }

    private static let passcodeAdvice =
        "\nBoth stores have the same passcode, and no chip counts guesses at the former one. So set another one (`ostiary passcode "
        + "change`), and remove the former folder when you need it no more."

    /// Returns the number of items that were copied.
    private func makeStore(
        _ account: OwnerAccount, passcode: SharedPasscode?, openedWith halves: [PrivateHalf], _ former: OpenedStore,
        _ event: AuditTrail.Event, as chipOwner: OwnerPassword?
    ) throws -> Int {
        let made = try OpenedStore.open(newConfiguration, log: log, securityKeys: nil, as: chipOwner)
        do {
            let copied = try fill(
                made, account, passcode: passcode, openedWith: halves, former, event, as: chipOwner)
            made.close()
            return copied
        } catch {
            made.close()
            made.leaveChip(as: chipOwner, saying: say)
            throw error
        }
    }

    private func fill(
        _ made: OpenedStore, _ account: OwnerAccount, passcode: SharedPasscode?, openedWith halves: [PrivateHalf],
        _ former: OpenedStore, _ event: AuditTrail.Event, as chipOwner: OwnerPassword?
    ) throws -> Int {
        guard let new = made.accounts.first else { throw BrokerOpeningError.store("The new store has no user.") }
        if let passcode {
            let change = try new.life.prepareSetting(as: .daemon)
            let half = try new.keeper.exclusively.withStretchTurn(as: .daemon) { turn in
                try new.life.set(passcode.bytes, change, since: new.ring.era, in: turn, as: chipOwner)
            }
            try new.trail.beginEpoch(under: half)
        }
        for registration in account.applications.stored { try new.applications.store(registration) }
        var copied = 0
        for id in try former.shared.vault.read({ try $0.itemIDs(owner: account.id) }) {
            if try account.items.copy(id, into: new.items, openedWith: halves) { copied += 1 }
        }
        new.trail.note(event)
        return copied
    }

    private func requireStrong(_ passcode: borrowing SecretBytes) throws {
        guard kind == .software, let violation = PasscodePolicy(exposure: .offline).violation(of: passcode) else {
            return
        }
        throw stopped(
            "\(violation.sentence) In software anybody with the files can try passcodes. Choose a stronger one with "
                + "`ostiary passcode change` first.")
    }

    private var newConfiguration: BrokerConfiguration {
        var prompts = configuration.prompts
        prompts.enclave.kind = kind
        var made = BrokerConfiguration(
            runsAs: configuration.runsAs, stateDirectory: unfinishedFolder, helpers: configuration.helpers,
            facts: configuration.facts, sessionRecords: configuration.sessionRecords, prompts: prompts,
            version: configuration.version,
            applicationsDirectory: configuration.applicationsDirectory)
        // The move asks once, for the store and for its passcode.
        made.asksOwnerPassword = false
        return made
    }
}

extension EnclaveConfiguration.Kind {
    fileprivate var enclave: EnclaveKind {
        switch self {
        case .software: .software
        case .tpm: .tpm
        }
    }

    var place: String {
        switch self {
        case .software: "software"
        case .tpm: "the TPM"
        }
    }
}

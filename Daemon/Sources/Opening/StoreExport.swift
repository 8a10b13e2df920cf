import Auditing
import Callers
import Enclave
import HelperProcesses
import KeySlots
package import Logging
import OwnerKeys
import Owners
import ProtectedObjects
import Refusals
import SecretMemory
import SecurityKeys
import UnixSocket
import Vault

/// Gives a user's store to a program that carries it into the machine's. The store stays as it is.
///
/// Items and registrations of programs come along. Private keys cannot: they never leave their enclave.
package struct StoreExport {
    private let configuration: BrokerConfiguration
    private let descriptor: CInt
    private let log: Logger
    private let say: (String) -> Void

    /// - Parameters:
    ///   - configuration: that of the store.
    ///   - descriptor: the pipe that takes it.
    ///   - say: shows lines to the person.
    package init(
        _ configuration: BrokerConfiguration, to descriptor: CInt, log: Logger, say: @escaping (String) -> Void
    ) {
        (self.configuration, self.descriptor, self.log, self.say) = (configuration, descriptor, log, say)
    }

    /// Shows the objects that come along, asks, and writes them. Blocks as long as the person takes.
    ///
    /// - Throws: ``BrokerOpeningError``.
    package func run() throws {
        let store = try OpenedStore.open(
            configuration, log: log, securityKeys: SecurityKeys(configuration.helpers.securityKey))
        defer { store.close() }
        guard let account = store.accounts.first else { throw BrokerOpeningError.store("The store has no user.") }
        do {
            try account.applications.requireRead()
            let inventory = try MoveInventory(account, store.shared.vault)
            say(inventory.wordsForMachine(folder: configuration.stateDirectory))
            try ask(inventory, account, store)
        } catch let failure as StartQuestion.Unanswered {
            throw stopped(failure.words)
        } catch let refusal as Refusal {
            throw stopped(refusal.explanation)
        } catch let error as VaultError {
            throw stopped("The store cannot be used: \(error).")
        } catch let error as EnclaveError {
            throw stopped("The enclave did not work (\(error)).")
        } catch let error as SystemCallError {
            throw stopped("The other side ended (\(error)).")
        }
    }

    private func stopped(_ words: String) -> BrokerOpeningError { .store("Nothing was copied. \(words)") }

    private func ask(_ inventory: MoveInventory, _ account: OwnerAccount, _ store: OpenedStore) throws {
        let question = StartQuestion(
            user: configuration.runsAs, facts: configuration.facts, keeper: account.keeper, prompter: store.prompter,
            operation: "copy your store into the store of this machine", consequence: inventory.consequence)
        guard account.ring.isPasscodeSet else {
            try question.confirm()
            return try write(inventory, account, store, account.ring.privateHalves, nil)
        }
        let answer = try question.provePasscode()
        let halves = try account.life.privateHalves(openedBy: answer.proved)
        try write(
            inventory, account, store, halves, EnclaveMove.SharedPasscode(SecretBytes(copying: answer.passcode)))
    }

    /// Recorded before the first byte leaves the store.
    private func write(
        _ inventory: MoveInventory, _ account: OwnerAccount, _ store: OpenedStore, _ halves: [PrivateHalf],
        _ passcode: EnclaveMove.SharedPasscode?
    ) throws {
        let event = AuditTrail.Event(name: "store.export", program: .daemonStart)
        try account.trail.change(event)
        let key = Self.key()
        var code = TransferCode(key: key)
        let writer = TransferWriter(descriptor: descriptor)
        let nothing = SecretBytes(zeroed: 0)
        let beginning = TransferBeginning(
            hasPasscode: passcode != nil, itemCount: UInt32(clamping: inventory.itemCount),
            registrationCount: UInt32(clamping: inventory.registrationCount),
            keyCount: UInt32(clamping: inventory.keyCount), key: key)
        if let passcode {
            try writer.write(.begin, beginning.bytes, passcode.bytes)
        } else {
            try writer.write(.begin, beginning.bytes, nothing)
        }
        for registration in account.applications.stored {
            code.add(TransferKind.registration.rawValue, registration.transferred, nothing)
            try writer.write(.registration, registration.transferred, nothing)
        }
        for id in try store.shared.vault.read({ try $0.itemIDs(owner: account.id) }) {
            guard let draft = try account.items.opened(id, with: halves) else { continue }
            let head = draft.transferred
            let data = draft.copiedData()
            code.add(TransferKind.item.rawValue, head, data)
            try writer.write(.item, head, data)
        }
        try writer.write(.end, code.bytes, nothing)
        account.trail.note(event)
    }

    private static func key() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<TransferCode.keyByteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

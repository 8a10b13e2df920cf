package import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import KeySlots
package import Logging
import OstiaryMessages
package import OwnerKeys
package import Owners
import Passcodes
import ProtectedObjects
import Refusals
package import SecretMemory
package import Vault

/// A user's former store on its way into the store of the machine. It fills a part of the store that is nobody's, and one change gives
/// this part to the user. Before that change the user's own, empty part is as it was, and after it the new part is whole.
package final class StoreImport: @unchecked Sendable {
    // SAFETY: (@unchecked) all variables are read and written under `lock`.
    private let lock = NSLock()
    private let owners: OwnerRegistry
    private let store: SharedStore
    /// The account of the user's present part.
    private let account: OwnerAccount
    /// The account of the part that is being filled.
    private let staged: OwnerAccount
    private let beginning: TransferBeginning
    private let log: Logger
    private var code: TransferCode
    private var partCount: UInt64 = 0
    private var registrations: [Registration] = []
    private var items: [(id: VaultID, code: [UInt8])] = []
    private var state = State.filling
    /// Opens items whose rule asks for the passcode; nil without one.
    private var passcode: PrivateHalf?

    private enum State { case filling, whole, abandoned }

    /// What came along.
    package struct Outcome: Sendable {
        package let itemCount: Int
        package let registrationCount: Int
        /// Items whose rule cannot be kept here.
        package let leftCount: Int
        /// The part of the store that is the user's from now on.
        package let part: VaultID
    }

    /// - Parameters:
    ///   - account: of the user, who has kept nothing yet.
    ///   - passcode: the former store's; empty without one.
    package init(
        _ beginning: TransferBeginning, for account: OwnerAccount, in owners: OwnerRegistry, _ store: SharedStore,
        passcode: borrowing SecretBytes, as requester: StretchRequester, log: Logger
    ) throws {
        guard beginning.hasPasscode == (passcode.count > 0) else { throw Self.malformed }
        try store.vault.read { try Self.requireEmpty(account, $0) }
        guard try account.securityKeys?.record().keys.isEmpty ?? true else { throw Self.notEmpty }
        if beginning.hasPasscode { try Self.requireStrong(passcode, store) }
        (self.owners, self.store, self.account, self.beginning, self.log) = (owners, store, account, beginning, log)
        code = TransferCode(key: beginning.key)
        staged = try owners.stage(for: account.user)
        guard beginning.hasPasscode else { return }
        do { self.passcode = try Self.setPasscode(passcode, of: staged, as: requester) } catch {
            abandon()
            throw error
        }
    }

    private static func requireStrong(_ passcode: borrowing SecretBytes, _ store: SharedStore) throws {
        let policy = PasscodePolicy(exposure: store.enclave.guessing == .offline ? .offline : .limitedByHardware)
        guard let violation = policy.violation(of: passcode) else { return }
        throw Refusal(
            .passcodeTooWeak,
            "\(violation.sentence) Choose a stronger one for your own store first, with the machine in user mode "
                + "(`ostiary passcode change`). Nothing was copied.", cause: "passcode.too-weak")
    }

    private static func setPasscode(
        _ passcode: borrowing SecretBytes, of staged: OwnerAccount, as requester: StretchRequester
    ) throws -> PrivateHalf {
        let chosen = SecretBytes(copying: passcode)
        let change = try staged.life.prepareSetting(as: requester)
        // The log's next epoch begins with the first proof of the passcode.
        return try staged.keeper.exclusively.withStretchTurn(as: requester) { turn in
            try staged.life.set(chosen, change, since: staged.ring.era, in: turn, as: nil)
        }
    }

    /// The user's part must hold nothing that would be lost.
    private static func requireEmpty(_ account: OwnerAccount, _ reader: VaultReader) throws {
        let hasObjects = try ObjectKind.allCases.contains { try reader.objectCount(owner: account.id, kind: $0) > 0 }
        let hasPasscode = try !reader.passcodeRecords(owner: account.id).isEmpty
        guard !hasObjects, !hasPasscode, try reader.itemCount(owner: account.id) == 0 else {
            throw notEmpty
        }
    }

    private static let notEmpty = Refusal(
        .duplicate,
        "The store of this machine has a passcode or objects of yours already, so nothing was copied into it.",
        cause: "migrate.not-empty")

    private static let malformed = Refusal(
        .malformed, "A part of the other store has another form, so nothing was copied.", cause: "migrate.malformed")

    // MARK: filling

    /// Takes a registration or an item.
    package func take(_ kind: TransferKind, _ head: [UInt8], _ secret: borrowing SecretBytes) throws {
        lock.lock()
        defer { lock.unlock() }
        guard state == .filling, partCount < UInt64(beginning.registrationCount) + UInt64(beginning.itemCount) else {
            throw Self.malformed
        }
        switch kind {
        case .registration: try takeRegistration(head, secret)
        case .item: try takeItem(head, secret)
        case .begin, .end: throw Self.malformed
        }
        code.add(kind.rawValue, head, secret)
        partCount += 1
    }

    private func takeRegistration(_ head: [UInt8], _ secret: borrowing SecretBytes) throws {
        guard secret.count == 0, let registration = Registration(transferred: head) else { throw Self.malformed }
        try staged.applications.store(registration)
        registrations.append(registration)
    }

    private func takeItem(_ head: [UInt8], _ secret: borrowing SecretBytes) throws {
        let draft = try ItemDraft(transferred: head, data: secret)
        guard let id = try staged.items.take(draft) else { return }
        items.append((id, Self.code(beginning.key, head, secret)))
    }

    private static func code(_ key: [UInt8], _ head: [UInt8], _ secret: borrowing SecretBytes) -> [UInt8] {
        var code = TransferCode(key: key)
        code.add(TransferKind.item.rawValue, head, secret)
        return code.bytes
    }

    // MARK: the end

    /// Reads everything again from the store, and gives the part to its user if nothing is missing.
    ///
    /// - Parameter sent: the sender's code over all parts.
    package func finish(_ sent: [UInt8], note event: AuditTrail.Event) throws -> Outcome {
        lock.lock()
        defer { lock.unlock() }
        guard state == .filling, code.bytes == sent else { throw Self.malformed }
        try rehearse()
        try owners.replace(account) {
            try store.vault.write("owner.migrate", irrevocable: .atOnce) { writer in
                guard let user = try writer.user(account.id) else { throw VaultError.notFound }
                try Self.requireEmpty(account, writer)
                try writer.removeUser(user.id)
                try writer.setUser(
                    UserRecord(id: staged.id, uid: user.uid, name: user.name, created: user.created))
            }
        }
        state = .whole
        // The owner was told how many they are. The log has their names.
        for registration in registrations {
            staged.trail.note(
                AuditTrail.Event(
                    name: "application-register", program: event.program, object: registration.applicationID.text,
                    operation: event.name))
        }
        staged.trail.note(event)
        staged.end()
        return Outcome(
            itemCount: items.count, registrationCount: registrations.count,
            leftCount: Int(partCount) - items.count - registrations.count, part: staged.id)
    }

    /// Opens each object as its owner will, and compares it with what was sent.
    private func rehearse() throws {
        staged.applications.reload()
        guard Set(staged.applications.stored.map(\.transferred)) == Set(registrations.map(\.transferred)) else {
            throw Self.unlike
        }
        let halves = staged.ring.privateHalves + (passcode.map { [$0] } ?? [])
        for item in items {
            guard let draft = try staged.items.opened(item.id, with: halves),
                Self.code(beginning.key, draft.transferred, draft.copiedData()) == item.code
            else { throw Self.unlike }
        }
        guard try store.vault.read({ try $0.itemCount(owner: staged.id) }) == items.count else { throw Self.unlike }
    }

    private static let unlike = Refusal(
        .storeUnreadable,
        "The copy in the store of this machine does not open as it was sent, so it does not count. Your own store is as "
            + "it was.", cause: "migrate.unlike")

    /// Removes the part if it is not its user's yet. What a crash leaves goes at the daemon's next start.
    package func abandon() {
        lock.lock()
        defer { lock.unlock() }
        guard state == .filling else { return }
        state = .abandoned
        staged.end()
        do {
            try store.removeOwner(staged.id, label: "owner.unstage")
            staged.eraser.erase()
        } catch { log.error("an unfinished migration was not removed", metadata: ["cause": "\(error)"]) }
    }
}

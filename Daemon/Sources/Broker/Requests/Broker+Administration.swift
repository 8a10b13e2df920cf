import AccessControl
import AuditLog
import Auditing
import ExactNames
import Foundation
import Logging
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import Refusals
import Sessions
import Vault

/// Requests of the administrator, who is the user with number 0 (decision 0106). The answers have names of users and programs, and
/// counts: no name of an object, and nothing that opens one.
extension Broker {
    /// Counting reads the lists of each user.
    private static let userPageCount = 64

    /// Throws `notPermitted` for everybody else, before anything is looked at.
    func requireAdministrator(_ account: OwnerAccount) throws(Refusal) {
        guard account.user.id == 0 else {
            throw Refusal(
                .notPermitted, "Only the administrator of this machine may ask for that. Run the command as root.",
                cause: "admin.not-permitted")
        }
        guard configuration.serves.sole == nil else {
            throw Refusal(
                .notPermitted, "This daemon serves you alone, so there are no users to administer.",
                cause: "admin.one-user")
        }
    }

    // MARK: users

    func adminUsers(_ body: WireAdminUsersRequest) throws -> Reply {
        let stored = try vault.read { try $0.users() }
        let known = stored.compactMap(\.record)
        let users = known.filter { !StoredOwner.isStaged($0) }.sorted { ($0.uid, $0.name) < ($1.uid, $1.name) }
        let page = users.dropFirst(Int(body.offset)).prefix(Self.userPageCount)
        return Reply(
            .adminUsers(
                .with { list in
                    list.users = page.map(adminUser)
                    list.total = UInt32(clamping: users.count)
                    list.unreadableCount = UInt32(clamping: stored.count - known.count)
                }))
    }

    private func adminUser(_ user: UserRecord) -> WireAdminUser {
        let account = accounts.first { $0.id == user.id }
        return .with {
            $0.userID = user.uid
            $0.name = user.name
            $0.createdAt = Double(user.created)
            $0.connectionCount = UInt32(clamping: account.map { sessions.all(of: $0).count } ?? 0)
            $0.isOpen = account != nil
            $0.isUnlocked = account?.ring.unlockState(of: .whenUnlocked) == .open
            $0.counts = counts(of: user)
        }
    }

    /// Nil where the lists of the user's part do not verify.
    private func counts(of user: UserRecord) -> WireAdminCounts? {
        do {
            return try vault.read { reader in
                func count(_ kind: ObjectKind) throws -> UInt32 {
                    UInt32(clamping: try reader.objectCount(owner: user.id, kind: kind))
                }
                var counts = WireAdminCounts()
                counts.isPasscodeSet = try !reader.passcodeRecords(owner: user.id).isEmpty
                counts.rights = try count(.right)
                counts.keys = try count(.enclaveKey)
                counts.passkeys = try count(.passkey)
                counts.programs = try count(.application)
                counts.items = UInt32(clamping: try reader.itemCount(owner: user.id))
                return counts
            }
        } catch {
            log.error("a user's objects cannot be counted", metadata: ["user": "\(user.uid)", "cause": "\(error)"])
            return nil
        }
    }

    // MARK: log

    func adminLog(_ body: WireAdminLogRequest) throws -> Reply {
        let limit = Int(min(max(body.limit, 1), WireLimits.logPageCount))
        let page = try store.log.audit.page(from: body.firstIndex, limit: limit, for: .everything)
        let users = try vault.read { try $0.users() }.compactMap(\.record)
        let names = Dictionary(users.map { ($0.id.ownerID, $0.name) }) { first, _ in first }
        return Reply(
            .adminLogPage(
                .with {
                    $0.records = page.records.map { WireAdminLogRecord($0, names: names) }
                    $0.recordCount = page.recordCount
                }))
    }

    // MARK: forgetting

    /// Destroys all that the store has of a user. Their keys in a chip go first: without the rows nobody would find them.
    func forgetUser(_ body: WireForgetUserRequest, _ exchange: Exchange) throws -> Reply {
        let user = try knownUser(body)
        guard user.id != exchange.account.id else {
            throw Refusal(
                .invalidParameter, "The administrator who asks cannot be forgotten.", cause: "admin.own-account")
        }
        let event = exchange.event(object: "\(user.name) (user \(user.uid))")
        try exchange.trail.change(event)
        var end: ((OwnerAccount) -> Void)?
        if body.endsConnections { end = { [self] in endConnections(of: $0) } }
        do {
            try opened.owners.whileBarred(user.uid, ending: end) {
                try store.removeOwner(user.id, label: "owner.forget")
                exchange.account.eraser.erase()
            }
        } catch is AccountInUse {
            throw Refusal(
                .operationNotPermitted,
                "Programs of \(user.name) are connected. End them, or give --now to end their connections.",
                cause: "admin.in-use")
        }
        exchange.trail.note(event)
        return Reply(.done(.with { $0.count = 1 }))
    }

    private func endConnections(of account: OwnerAccount) {
        account.forgetProofs()
        sessions.close(of: account)
    }

    private func knownUser(_ body: WireForgetUserRequest) throws -> UserRecord {
        let users = try vault.read { try $0.users() }.compactMap(\.record)
        guard let user = users.first(where: { $0.uid == body.userID && ExactName($0.name) == ExactName(body.name) })
        else {
            throw Refusal(
                .notFound, "The store has no such user. `ostiary admin users` lists them.", cause: "admin.no-user")
        }
        return user
    }
}

extension WireAdminLogRecord {
    fileprivate init(_ record: LogRecord, names: [OwnerID: String]) {
        self.init()
        self.record = WireLogRecord(record)
        guard case .entry(let entry) = record.content, let owner = entry.owner else { return }
        self.owner = Data(owner.bytes)
        userName = names[owner] ?? ""
        self.record.object = ""
    }
}

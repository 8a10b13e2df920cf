import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import Sessions
import Vault

/// Enclave keys that back no right: making, finding and removing. They are authorized and used as rights are.
extension Broker {
    func createKey(_ body: WireCreateKeyRequest, _ exchange: Exchange) throws -> Reply {
        guard let number = UInt8(exactly: body.kind.rawValue), let type = EnclaveKeyType(rawValue: number) else {
            throw Refusal(.invalidParameter, "The kind of key is unknown.", cause: "key.kind")
        }
        let group = try AccessGroups(exchange.accessGroups)
            .home(body.accessGroup.isEmpty ? nil : ExactName(body.accessGroup))
        let accessControl = try AccessControl(canonicalBytes: Array(body.accessControl))
        guard body.shownAccessControl.count <= ItemRequestLimits.shownAccessControlByteCount else {
            throw Refusal(.tooLarge, "The access control is too large.", cause: "key.access-control")
        }
        try exchange.account.requireUsable(accessControl, ofKey: type)
        let constraints = try sshConstraints(body.sshConstraints, accessControl)
        guard constraints == nil || type == .p256 else {
            throw Refusal(.invalidRule, "Only P-256 keys sign for SSH.", cause: "rule.ssh-without-key")
        }
        let context = body.use.contextID == 0 ? nil : try exchange.contexts.context(body.use.contextID)
        let password = try newApplicationPassword(
            accessControl, object: "a key", operation: "key", exchange, given: context?.applicationPassword
        ) {
            guard let question = body.use.question else { throw Refusal.notInteractive }
            return try exchange.asking(question)
        }
        let draft = RightStore.Draft.key(
            type, in: group, accessControl, ssh: constraints, shown: body.shownAccessControl,
            applicationPassword: password)
        guard !body.awaitsItem else {
            return Reply(.key(try WireKey(makeDraft(draft, exchange), enclave: enclave.kind)))
        }
        let created = exchange.event("key-create", object: "\(draft.id)")
        let record = try make(draft, replacing: false, for: exchange, recordedAs: created)
        return Reply(.key(try WireKey(record, enclave: enclave.kind)))
    }

    /// Makes a key that is stored with its item. Nothing is recorded before that: nothing was changed.
    private func makeDraft(_ draft: consuming RightStore.Draft, _ exchange: Exchange) throws -> ObjectRecord {
        try exchange.verifyCaller()
        let (record, publicHalves) = try exchange.account.prepare(draft)
        try exchange.draftKeys.add(record, wrappedTo: publicHalves)
        return record
    }

    func findKey(_ body: WireFindKeyRequest, _ exchange: Exchange) throws -> Reply {
        let key = try key(body.keyID, exchange)
        try exchange.verifyCaller()
        return Reply(.key(try WireKey(key, enclave: enclave.kind)))
    }

    /// Keys of one page: each may hold the public half of a lattice key or the constraints of an SSH key, and a path of 4,096 bytes, and
    /// a message must stay below `messageByteCount`.
    private static let keyPageCount = 25

    func listKeys(_ body: WireListKeysRequest, _ exchange: Exchange) throws -> Reply {
        let rights = exchange.account.rights
        let (page, next) = try rights.keys(
            from: Int(body.offset), count: Self.keyPageCount, as: exchange.requester)
        try exchange.verifyCaller()
        let keys = try page.map { key, hasItem in
            try WireListedKey.with {
                $0.key = try WireKey(key, enclave: enclave.kind)
                $0.key.shownAccessControl = Data()
                $0.accessGroup = key.attributes.group.text
                $0.createdAt = Double(key.attributes.created)
                $0.hasItem_p = hasItem
            }
        }
        return Reply(
            .keys(
                .with {
                    $0.keys = keys
                    $0.next = UInt32(clamping: next ?? 0)
                }))
    }

    func removeKey(_ body: WireRemoveKeyRequest, _ exchange: Exchange) throws -> Reply {
        guard !body.ofAnyGroup else { return try removeKeyOfAnyGroup(body, exchange) }
        if let id = VaultID(bytes: body.keyID), exchange.draftKeys.remove(id) {
            return Reply(.done(.with { $0.count = 1 }))
        }
        let key = try key(body.keyID, exchange)
        try exchange.verifyCaller()
        try exchange.account.changing.withLock { try exchange.account.rights.remove(key.id) }
        exchange.trail.end(exchange.event("key-remove", object: key.attributes.identifier.text)) {
            sessions.endGrants(on: key.id, of: exchange.account)
        }
        return Reply(.done(.with { $0.count = 1 }))
    }

    /// Removes the key of whichever program, and the items that stand for it. The owner is asked, as for whatever concerns
    /// other programs.
    private func removeKeyOfAnyGroup(_ body: WireRemoveKeyRequest, _ exchange: Exchange) throws -> Reply {
        let asking = try exchange.asking(body.question)
        guard let id = VaultID(bytes: body.keyID),
            let key = try vault.read({ try $0.object(id, owner: exchange.account.id) }),
            key.kind == .enclaveKey
        else { throw RightStore.keyNotFound }
        try RightStore.requireRemovable(key)
        let event = exchange.event(object: key.attributes.identifier.text)
        try askOwner("destroy a key of the enclave for good", Self.shownObject(key), asking, exchange, for: event)
        try exchange.verifyCaller()
        var removed: [ItemMatch] = []
        try exchange.account.changing.withLock {
            try asking.cancellation.check()
            try exchange.trail.change(event)
            do {
                try exchange.account.rights.remove(id) {
                    removed = try exchange.account.items.removeItems(ofKey: id, in: $0)
                }
            } catch let refusal as Refusal where refusal == RightStore.notFound { throw RightStore.keyNotFound }
        }
        noteDestruction(of: removed, by: event.name, exchange)
        exchange.trail.end(event) { sessions.endGrants(on: id, of: exchange.account) }
        return Reply(.done(.with { $0.count = 1 }))
    }

    /// The whole id, and whose the key is as far as that can be shown.
    private static func shownObject(_ key: ObjectRecord) -> String {
        let named = "key \(key.attributes.identifier) of \(key.attributes.group)"
        return DisplayText(wholeFact: named) == nil ? "key \(key.attributes.identifier)" : named
    }

    private func key(_ bytes: Data, _ exchange: Exchange) throws -> ObjectRecord {
        guard let id = VaultID(bytes: bytes) else { throw RightStore.keyNotFound }
        return try exchange.account.rights.findKey(id: id, groups: exchange.accessGroups)
    }
}

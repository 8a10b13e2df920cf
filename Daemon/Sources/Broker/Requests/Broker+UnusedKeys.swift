import Auditing
import Authenticators
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import Sessions
import Synchronization
import Vault

/// Keys that no item refers to: listing them by group, and destroying those that are unused, with the owner's word.
///
/// Nobody can know that a program has not kept the handle of such a key. So the daemon removes none by itself, and the
/// question says what is lost.
extension Broker {
    /// Groups of one page: each may have a name of 4,096 bytes, and a message must stay below `messageByteCount`.
    private static let groupPageCount = 25

    func pruneKeys(_ body: WirePruneKeysRequest, _ exchange: Exchange) throws -> Reply {
        let selection = try UnusedKeySelection(body, of: exchange.account)
        guard body.removes else {
            return try listUnusedKeys(selection, body, exchange)
        }
        guard let group = selection.group else {
            throw Refusal(.invalidParameter, "The request names no access group.", cause: "key.group")
        }
        return try removeUnusedKeys(selection, of: group, body.question, exchange)
    }

    /// The keys are read for the first page. The connection keeps the list until the last page was read.
    private func listUnusedKeys(
        _ selection: UnusedKeySelection, _ body: WirePruneKeysRequest, _ exchange: Exchange
    ) throws -> Reply {
        let listing: UnusedKeyListing
        if body.offset > 0, let kept = exchange.session.kept.withLock({ $0 as? UnusedKeyListing }),
            kept.answers(body)
        {
            listing = kept
        } else {
            listing = UnusedKeyListing(try unusedKeyGroups(selection, exchange), for: body)
        }
        try exchange.verifyCaller()
        let page = listing.groups.dropFirst(Int(body.offset)).prefix(Self.groupPageCount)
        exchange.session.kept.withLock { $0 = page.endIndex < listing.groups.endIndex ? listing : nil }
        return Reply(
            .unusedKeys(
                .with {
                    $0.groups = Array(page)
                    $0.total = UInt32(clamping: listing.groups.count)
                    $0.usesKnownSince = exchange.account.keyUses.knownSince
                }))
    }

    private func unusedKeyGroups(_ selection: UnusedKeySelection, _ exchange: Exchange) throws -> [WireUnusedKeyGroup] {
        let open = sessions.openObjects(of: exchange.account)
        var groups: [ExactName: WireUnusedKeyGroup] = [:]
        try exchange.account.rights.forEachKeyWithoutItem(
            inGroup: selection.group, as: exchange.requester
        ) { key in
            let group = key.attributes.group
            try groups[group, default: .with { $0.accessGroup = group.text }]
                .count(
                    key, isUnused: selection.isUnused(key, open: open),
                    lastUse: exchange.account.keyUses.lastUse(of: key.id))
        }
        return groups.sorted { $0.key < $1.key }.map(\.value)
    }

    // MARK: removing

    /// Keys of one transaction. They are neighbours in the list, and the space that is reserved for removals on a full disk
    /// has room for them.
    private static let removalCount = 64

    private func removeUnusedKeys(
        _ selection: UnusedKeySelection, of group: ExactName, _ question: WireQuestion, _ exchange: Exchange
    ) throws -> Reply {
        let asking = try exchange.asking(question)
        let ids = try unusedKeys(selection, exchange)
        guard let count = Self.counted(ids.count, "key") else { return Self.removed(0, exchange) }
        let event = exchange.event(object: group.text, operation: count)
        try askOwner(
            "destroy \(count) of the enclave for good", "keys of \(group) that no item refers to", asking, exchange,
            for: event, consequence: DisplayText(Self.consequence + selection.unknownUses))
        try exchange.verifyCaller()
        try exchange.trail.change(event)
        var removedCount = 0
        // Also when the request ends between two transactions.
        defer { exchange.account.eraser.erase() }
        for part in ids.inParts(of: Self.removalCount) {
            try asking.cancellation.check()
            for key in try remove(part, selection, exchange) {
                removedCount += 1
                exchange.account.keyUses.forget(key.id)
                let removal = exchange.event(
                    "key-remove", object: key.attributes.identifier.text, operation: exchange.request.eventName)
                exchange.trail.end(removal) { sessions.endGrants(on: key.id, of: exchange.account) }
            }
        }
        exchange.trail.note(
            exchange.event(
                object: group.text,
                operation: Self.counted(removedCount, "key") ?? "no key"))
        return Self.removed(removedCount, exchange)
    }

    private static let consequence =
        "A program that kept the handle of such a key can no longer use it, and loses what was encrypted to it."

    private func unusedKeys(_ selection: UnusedKeySelection, _ exchange: Exchange) throws -> [VaultID] {
        let open = sessions.openObjects(of: exchange.account)
        var ids: [VaultID] = []
        try exchange.account.rights.forEachKeyWithoutItem(
            inGroup: selection.group, as: exchange.requester
        ) { key in
            if try selection.isUnused(key, open: open) { ids.append(key.id) }
        }
        return ids
    }

    /// Removes the keys that are unused still. No key is authorized or used between the look at it and its removal.
    private func remove(
        _ ids: ArraySlice<VaultID>, _ selection: UnusedKeySelection, _ exchange: Exchange
    ) throws -> [ObjectRecord] {
        try exchange.account.changing.withLock {
            try exchange.trail.decide {
                let open = sessions.openObjects(of: exchange.account)
                return try exchange.account.rights.removeKeysWithoutItem(ids) {
                    try !selection.isUnused($0, open: open)
                }
            }
        }
    }

    private static func removed(_ count: Int, _ exchange: Exchange) -> Reply {
        Reply(
            .unusedKeys(
                .with {
                    $0.removedCount = UInt32(clamping: count)
                    $0.usesKnownSince = exchange.account.keyUses.knownSince
                }))
    }
}

/// The groups of keys without an item, as they were found for the first page of a list.
struct UnusedKeyListing: KeptListing {
    fileprivate let groups: [WireUnusedKeyGroup]
    private let accessGroup: ExactName
    private let unusedSince: Double?

    fileprivate init(_ groups: [WireUnusedKeyGroup], for body: WirePruneKeysRequest) {
        self.groups = groups
        (accessGroup, unusedSince) = (ExactName(body.accessGroup), body.unusedSince)
    }

    /// Whether it was made for the same question.
    fileprivate func answers(_ body: WirePruneKeysRequest) -> Bool {
        ExactName(body.accessGroup) == accessGroup && body.unusedSince == unusedSince
    }
}

/// Which keys without an item count as unused.
private struct UnusedKeySelection {
    /// Nil for all groups.
    let group: ExactName?
    /// Keys that were made or used later are not unused. Never later than the request, so what happens while the person is
    /// asked counts as use.
    private let time: Double
    private let uses: KeyUses

    init(_ body: WirePruneKeysRequest, of account: OwnerAccount) throws(Refusal) {
        let now = Date().timeIntervalSince1970
        let time = body.unusedSince ?? now
        guard time >= 0, time.isFinite else {
            throw Refusal(.invalidParameter, "The time is not a valid date.", cause: "key.unused-since")
        }
        group = body.accessGroup.isEmpty ? nil : ExactName(body.accessGroup)
        self.time = min(time, now)
        uses = account.keyUses
    }

    /// What the question says when keys may have been used since `time` without this daemon's knowledge; empty otherwise.
    var unknownUses: String {
        let known = Date(timeIntervalSince1970: uses.knownSince)
        guard known.timeIntervalSince1970 > time else { return "" }
        return " Uses before \(known.formatted(.iso8601)) are not known."
    }

    /// - Parameter open: the objects that are open in programs.
    func isUnused(_ key: ObjectRecord, open: Set<VaultID>) throws -> Bool {
        guard !open.contains(key.id), Double(key.attributes.created) <= time else { return false }
        guard uses.lastUse(of: key.id).map({ $0 <= time }) ?? true else { return false }
        return try RightStore.isRemovable(key)
    }
}

extension WireUnusedKeyGroup {
    fileprivate mutating func count(_ key: ObjectRecord, isUnused: Bool, lastUse: Double?) {
        keyCount += 1
        guard isUnused else { return }
        unusedCount += 1
        let created = Double(key.attributes.created)
        oldest = min(oldest ?? created, created)
        newest = max(newest ?? created, created)
        if let lastUse { self.lastUse = max(self.lastUse ?? lastUse, lastUse) }
    }
}

package import AccessControl
package import DoorSupport
package import Foundation
package import OstiaryClient
import OstiaryMessages
package import SecretMemory

/// The internet password that a credential is kept as, by the attributes that make it unique.
///
/// All of them are always there, an absent one as an empty text or 0: so a search for a credential without a path finds none with one.
package struct CredentialPlace: Equatable, Sendable {
    /// The software that the credential belongs to. Git is never given one of docker's, nor the other way round.
    package enum Software: String, Sendable {
        case git, docker
    }

    package let software: Software
    /// Of the network, such as `https`; empty for a server of docker without one.
    package let networkProtocol: String
    package let server: String
    /// 0 without one.
    package let port: UInt16
    /// Nil in a search stands for any; nil in an item for none.
    package var path: String?
    /// Likewise.
    package var account: String?

    /// - Parameter host: with or without a port. What stands behind the colon and is no port belongs to the server.
    package init(
        _ software: Software, networkProtocol: String, host: String, path: String? = nil, account: String? = nil
    ) {
        (self.software, self.networkProtocol) = (software, networkProtocol)
        (server, port) = Self.parts(of: host)
        (self.path, self.account) = (path, account)
    }

    /// The host in the form in which it was given.
    package var host: String { port == 0 ? server : "\(server):\(port)" }

    private static func parts(of host: String) -> (server: String, port: UInt16) {
        guard let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")), colon != host.startIndex else { return (host, 0) }
        let digits = String(host[host.utf8.index(after: colon)...])
        // Only in its usual form, so that both parts give the host again.
        guard let port = UInt16(digits), port != 0, "\(port)" == digits else { return (host, 0) }
        let server = String(host[..<colon])
        // An address of IPv6 without brackets has colons of its own.
        guard !server.utf8.contains(UInt8(ascii: ":")) || server.hasSuffix("]") else { return (host, 0) }
        return (server, port)
    }

    /// The attributes of a search; those that are nil find any.
    var searched: ItemAttributeValues {
        var attributes: ItemAttributeValues = [
            "agrp": .text(DoorProgram.accessGroup), "sdmn": .text(software.rawValue), "ptcl": .text(networkProtocol),
            "srvr": .text(server), "port": .number(Int64(port)),
        ]
        if let path { attributes["path"] = .text(path) }
        if let account { attributes["acct"] = .text(account) }
        return attributes
    }

    /// The attributes of exactly this item.
    var exact: ItemAttributeValues {
        searched.merging(["path": .text(path ?? ""), "acct": .text(account ?? "")]) { own, _ in own }
    }

    /// What people read in lists and questions.
    var label: String {
        let user = account.map { $0.isEmpty ? "" : "\($0)@" } ?? ""
        let scheme = networkProtocol.isEmpty ? "" : "\(networkProtocol)://"
        let slash = path.map { $0.isEmpty || $0.hasPrefix("/") ? $0 : "/\($0)" } ?? ""
        return "\(scheme)\(user)\(host)\(slash)"
    }
}

/// The credentials in the doors' access group, as one client of this helper uses them.
package struct CredentialItems: Sendable {
    private let client: ServedClient
    /// For an item that is made; nil for none.
    private let rule: PlacedRule?

    package init(of client: ServedClient, rule: PlacedRule? = nil) { (self.client, self.rule) = (client, rule) }

    /// One that was found.
    package struct Found: Sendable {
        package let id: Data
        /// Nil while the item is locked.
        package let account: String?
        /// Nil while the item is locked.
        package let label: String?
        package let networkProtocol, server, path: String?
        package let port: Int64?
        /// What the secret holds: see ``CredentialSecret``.
        package let description: String?
        let changed: Date
        let accessControl: AccessControl?
        let isLocked: Bool

        /// Whether reading it asks for a proof.
        package var hasRule: Bool { accessControl?[.read].map { !$0.factors.isEmpty } ?? false }
    }

    /// The items that match, oldest first, without a question.
    package func list(_ attributes: ItemAttributeValues) throws -> [Found] {
        let selection = ItemSelection(itemClass: Self.itemClass, attributes: attributes)
        do {
            return try client.ostiary.listItems(selection, returningAttributes: true, context: client.context)
                .map(Found.init)
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
    }

    /// Lends the secret of an item, and its attributes. Asks the person where the item has a rule, and for the passcode while the store is
    /// locked.
    package func read<Result>(
        _ found: Found, reason: String, _ body: (Found, borrowing SecretBytes) throws -> Result
    ) throws -> Result? {
        var result: Result?
        let selection = ItemSelection(itemClass: Self.itemClass, attributes: Self.group, id: found.id)
        do {
            try client.ostiary.findItems(
                selection, returningData: true, returningAttributes: true, use: use(reason)
            ) { item, data in
                switch data {
                case .some(let data): result = try body(Found(item), data)
                case .none: break
                }
            }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return nil }
        return result
    }

    /// All items of a software with their attributes. Asks for the passcode while the store is locked; leaves nothing out.
    package func all(of software: CredentialPlace.Software, reason: String) throws -> [Found] {
        let attributes = Self.group.merging(["sdmn": .text(software.rawValue)]) { own, _ in own }
        let selection = ItemSelection(itemClass: Self.itemClass, attributes: attributes)
        var found: [Found] = []
        do {
            try client.ostiary.findItems(selection, limit: nil, returningAttributes: true, use: use(reason)) {
                item, _ in
                found.append(Found(item))
            }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
        return found
    }

    /// Adds an item. Asks for the passcode while the store is locked, and for nothing that its rule asks for, except that a rule with an
    /// application password has the person choose one.
    ///
    /// - Parameter former: items of the same place, which are deleted once the new one is stored: a declined question, a full store and an
    ///   end of this program leave them. The new one takes over the rule of the last one; without any it has the rule of this program.
    package func add(
        _ place: CredentialPlace, _ secret: CredentialSecret, insteadOf former: [Found] = [], reason: String
    ) throws {
        var attributes = place.exact.merging(secret.attributes) { $1 }
        attributes["labl"] = .text(place.label)
        attributes["pdmn"] = .text("aku")
        // Until the former ones are deleted, one of the attributes that make an item unique must differ. No search of this program names
        // this one.
        if !former.isEmpty { attributes["atyp"] = .text(UUID().uuidString) }
        _ = try client.ostiary.addItem(
            Self.itemClass, attributes: attributes, accessControl: try former.last?.accessControl ?? accessControl(),
            data: SecretBytes(copying: secret.value.bytes),
            use: use(reason))
        try delete(former)
    }

    /// Whether the item of a place holds another secret, as far as its attributes tell. They are searched without a question, whatever the
    /// item's rule.
    ///
    /// A renewed secret ends at another time, and a password that was typed in place of a token is no credential in lines. Two passwords
    /// are not told apart: a digest among the attributes would let their readers guess the password.
    package func holdsOther(than secret: CredentialSecret, at place: CredentialPlace) throws -> Bool {
        guard secret.description == CredentialSecret.linesDescription else {
            let lines: ItemAttributeValues = ["desc": .text(CredentialSecret.linesDescription)]
            return try !list(place.exact.merging(lines) { $1 }).isEmpty
        }
        return try list(place.exact.merging(secret.attributes) { $1 }).isEmpty
    }

    /// Replaces the secret of an item without a rule.
    package func replace(_ found: Found, by secret: CredentialSecret, reason: String) throws {
        let selection = ItemSelection(itemClass: Self.itemClass, attributes: Self.group, id: found.id)
        try client.ostiary.updateItems(
            selection, attributes: secret.attributes, data: SecretBytes(copying: secret.value.bytes), use: use(reason))
    }

    /// Asks nobody. An item that is gone already is no error.
    package func delete(_ found: [Found]) throws {
        let selections = found.map {
            ItemSelection(itemClass: Self.itemClass, attributes: Self.group, id: $0.id)
        }
        do { try client.ostiary.deleteItems(selections) } catch let error as OstiaryError
            where error.isFailure(.notFound)
        {}
    }

    private static let itemClass = "inet"
    private static let group: ItemAttributeValues = ["agrp": .text(DoorProgram.accessGroup)]

    private func use(_ reason: String) -> ItemUse {
        var use = ItemUse(context: client.context, interaction: Interaction(reason: reason))
        use.cancellation = client.cancellation
        return use
    }

    /// Reading needs the rule. Changing and deleting need nothing, as for items of `ostiary item add`.
    private func accessControl() throws -> AccessControl {
        let reading = try rule.map { try Requirement($0.rule) } ?? .unrestricted
        let limits = rule?.isAtTrustedPlace == true ? try GrantLimits(isAtTrustedPlace: true) : nil
        return try AccessControl(
            availability: .whenUnlocked,
            requirements: [
                .create: .unrestricted, .read: reading, .change: .unrestricted, .delete: .unrestricted,
            ], limits: limits)
    }
}

extension CredentialSecret {
    /// What an item says of its secret: the form, and when it ends.
    var attributes: ItemAttributeValues {
        ["desc": .text(description), "icmt": .text(expiry.map { "password_expiry_utc=\($0)" } ?? "")]
    }
}

extension CredentialItems.Found {
    init(_ item: StoredItem) {
        id = item.id
        func text(_ key: String) -> String? {
            if case .text(let text)? = item.attributes[key] { text } else { nil }
        }
        (account, label, networkProtocol) = (text("acct"), text("labl"), text("ptcl"))
        (server, path, description) = (text("srvr"), text("path"), text("desc"))
        if case .number(let number)? = item.attributes["port"] { port = number } else { port = nil }
        if case .date(let date)? = item.attributes["mdat"] { changed = date } else { changed = .distantPast }
        accessControl = item.accessControl
        isLocked = item.lock.map { $0 != .open && $0 != .proofHeld } ?? false
    }
}

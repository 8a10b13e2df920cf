import AccessControl
package import Cancellations
package import DoorSupport
package import Foundation
package import OstiaryClient
import OstiaryMessages
package import SSHFormats
import SSHKeyFiles
import SecretMemory

/// The keys that Ostiary keeps, for one client of the agent.
package struct KeysOfOstiary: KeyHolding {
    let client: ServedClient

    package init(of client: ServedClient) { self.client = client }

    package func keys() throws -> [HeldKey] {
        try Self.keys(of: client.ostiary)
    }

    /// The keys for SSH in the doors' group, and the passkeys that were made for SSH. Asks nobody. A key whose row cannot be read or understood is left out.
    package static func keys(of ostiary: OstiaryClient) throws -> [HeldKey] {
        let rights = try ostiary.rights(accessGroup: DoorProgram.accessGroup).compactMap { right -> HeldKey? in
            guard case .intact(let right) = right else { return nil }
            return try HeldKey(right)
        }
        return rights + (try importedKeys(of: ostiary)) + (try passkeys(of: ostiary))
    }

    /// The rules for signatures, by the id of right or item. Asks nobody.
    package static func rules(of ostiary: OstiaryClient) throws -> [Data: String] {
        var rules: [Data: String] = [:]
        for case .intact(let right) in try ostiary.rights(accessGroup: DoorProgram.accessGroup) {
            rules[right.id] = right.accessControl[.sign]?.description
        }
        let secrets = ItemSelection(
            itemClass: "genp",
            attributes: ["svce": .data(ImportedKey.privateService), "agrp": .text(DoorProgram.accessGroup)])
        do {
            for item in try ostiary.listItems(secrets, returningAttributes: true) {
                rules[item.id] = item.accessControl?[.read]?.description
            }
        } catch let error as OstiaryError where error.isFailure(.notFound) {}
        return rules
    }

    private static func importedKeys(of ostiary: OstiaryClient) throws -> [HeldKey] {
        let items: [StoredItem]
        do {
            items = try ostiary.listItems(
                ImportedKey.list(in: DoorProgram.accessGroup), returningAttributes: true)
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
        return items.compactMap(HeldKey.init(listed:))
    }

    package func sign(
        _ request: ClientSignature, with key: HeldKey, cancellation: Cancellation
    ) throws -> SSHSignature {
        switch key.place {
        case .enclave(let right, let confirms): return try sign(request, right, confirms: confirms, cancellation)
        case .imported(let item): return try sign(request, with: key, item, cancellation)
        case .passkey(let id): return try sign(request, by: key.publicKey, .passkey(id: id), cancellation)
        }
    }

    /// The daemon parses the very bytes, verifies the bindings, checks the limits, and asks with what it found.
    private func sign(
        _ request: ClientSignature, _ right: Data, confirms: Bool, _ cancellation: Cancellation
    ) throws -> SSHSignature {
        let input = SSHSigningInput(request)
        let interaction = Interaction(signingFor: request.connection, because: "sign for SSH")
        let raw =
            confirms
            ? try client.ostiary.confirmAndSignSSH(
                input, right: right, interaction: interaction, cancellation: cancellation)
            : try client.context.signSSH(
                input, right: right, interaction: interaction, cancellation: cancellation)
        return try SSHSignature(p256: raw)
    }

    /// The private half leaves the store for this one signature.
    private func sign(
        _ request: ClientSignature, with key: HeldKey, _ item: Data, _ cancellation: Cancellation
    ) throws -> SSHSignature {
        let reason = try ImportedKeyRules.question(about: request, with: key)
        let selection = ItemSelection(
            itemClass: "genp",
            attributes: ["svce": .data(ImportedKey.privateService), "agrp": .text(DoorProgram.accessGroup)], id: item)
        var use = ItemUse(
            context: client.context,
            interaction: Interaction(signingFor: request.connection, because: reason))
        use.cancellation = cancellation
        var signature: SSHSignature?
        try client.ostiary.findItems(selection, returningData: true, use: use) { _, data in
            // The client may have gone, or the agent been locked, while the person was asked.
            guard signature == nil, !cancellation.isCancelled, let key = try Self.key(data, for: key) else { return }
            signature = try key.signature(of: request.data, request.flags, permitsSHA1: false)
        }
        guard let signature else { throw KeySignatureError.failed }
        return signature
    }

    private static func key(_ data: borrowing SecretBytes?, for listed: HeldKey) throws -> SSHPrivateKey? {
        switch data {
        case .some(let data): try ImportedKey.key(data, for: listed)
        case .none: nil
        }
    }

    package func confirm(_ reason: String, for connection: BoundConnection, cancellation: Cancellation) throws {
        let context = AuthorizationContext(client: client.ostiary)
        defer { context.invalidate() }
        try context.authorize(
            .requirement(try Requirement(anyOf: [[.biometry], [.passcode]])),
            interaction: Interaction(signingFor: connection, because: reason), cancellation: cancellation)
    }
}

extension Interaction {
    /// Asks on the client's terminal only while nothing else reads there: ssh serves a forwarded agent while it sends what is typed to the
    /// other machine, and a passcode would go there. An old one does so without a word.
    init(signingFor connection: BoundConnection, because reason: String) {
        self.init(reason: reason)
        offersTerminal = !connection.sessions.isForwarded && !connection.mayBeForwarded
    }
}

extension HeldKey {
    /// A right that is for SSH; nil for one that is for something else.
    package init?(_ right: StoredRight) throws {
        guard let constraints = right.sshConstraints else { return nil }
        self.init(
            name: right.identifier, publicKey: try SSHPublicKey(p256: right.publicKey), constraints: constraints,
            place: .enclave(right: right.id, confirms: right.accessControl.confirmsEachSignature))
    }

    /// An imported key; nil for an item that this version does not understand.
    package init?(listed item: StoredItem) {
        guard case .data(let listed) = item.attributes["gena"], let name = Self.name(of: item),
            // Another version wrote it, or another program of the group: it is no key of this one.
            let key = try? ImportedKey.key(named: name, listed: listed)
        else { return nil }
        self = key
    }

    private static func name(of item: StoredItem) -> String? {
        switch item.attributes["acct"] {
        case .text(let name): name
        case .data(let name): String(decoding: name, as: UTF8.self)
        default: nil
        }
    }
}

extension SSHBinding {
    init(_ binding: SSHSessionBinding) {
        self.init(
            hostKey: binding.hostKey.blob, sessionID: binding.sessionID, signature: binding.signature.blob,
            isForwarding: binding.isForwarding)
    }
}

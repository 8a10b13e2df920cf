import Auditing
package import ExactNames
import Foundation
package import OstiaryMessages
package import Refusals
package import Vault

/// Which items a request is about, as far as its caller may see them.
package struct VisibleItems {
    /// Nil when the item is named by its identifier alone.
    package let itemClass: ItemClass?
    package let query: ItemQuery
    /// Only items whose server is this host or below it; looked up in the decrypted attributes.
    package let host: ExactName?
    /// The name of each item that matches, as far as the query says it. It is known while the items' class is closed.
    package let knownName: String?

    /// - Parameter groups: the caller's access groups.
    /// - Throws: `missingEntitlement` for a group that is not the caller's, before anything is looked for; `noSuchClass`,
    ///   `noSuchAttribute`, `invalidParameter`, `tooLarge`.
    package init(_ wire: WireItemQuery, groups: [ExactName], digests: ItemDigests) throws(Refusal) {
        let id = try Self.id(wire.itemID)
        let itemClass = wire.itemClass.isEmpty && id != nil ? nil : try ItemClass(named: wire.itemClass)
        guard let itemClass else {
            guard wire.attributes.isEmpty else { throw Self.needsClass }
            self.itemClass = nil
            (host, knownName) = (nil, nil)
            query = ItemQuery(id: id, anyOf: try AccessGroups(groups).requireAny().map(digests.term(ofGroup:)))
            return
        }
        self.itemClass = itemClass
        var attributes = try ItemAttributes(wire.attributes, of: itemClass)
        knownName = attributes.givenName
        let visible = try AccessGroups(groups).visible(attributes.text("agrp").map { ExactName($0) })
        attributes["agrp"] = nil
        if id == nil, attributes["sync"] == nil {
            switch wire.synchronizable {
            case .unspecified: attributes["sync"] = .number(0)
            case .yes: attributes["sync"] = .number(1)
            case .any: break
            case .UNRECOGNIZED: throw Refusal(.invalidParameter, "The request's synchronizable is unknown.")
            }
        }
        host = try Self.host(wire.hostOrSubdomainOf, of: itemClass)
        query = ItemQuery(
            itemClass: itemClass, id: id, allOf: attributes.values.map { digests.term($0, $1, of: itemClass) },
            anyOf: visible.map(digests.term(ofGroup:)))
    }

    private static let needsClass = Refusal(
        .invalidParameter, "The request names attributes but no class.", cause: "item.class")

    private static func id(_ bytes: Data) throws(Refusal) -> VaultID? {
        guard !bytes.isEmpty else { return nil }
        guard let id = VaultID(bytes: bytes) else {
            throw Refusal(.invalidParameter, "An item's identifier has 16 bytes.", cause: "item.id")
        }
        return id
    }

    private static func host(_ host: String, of itemClass: ItemClass) throws(Refusal) -> ExactName? {
        guard !host.isEmpty else { return nil }
        guard itemClass == .internetPassword, host.utf8.count <= ItemRequestLimits.hostByteCount else {
            throw Refusal(
                .invalidParameter, "Only internet passwords can be searched by host.", cause: "item.host")
        }
        return ExactName(host)
    }

    /// Whether the server among the attributes is the host that was asked for, or below it.
    package func admits(_ attributes: ItemAttributes) -> Bool {
        guard let host else { return true }
        guard let server = attributes.text("srvr").map({ ExactName($0) }) else { return false }
        return server == host || server.hasSuffix(".\(host)")
    }
}

/// The access groups of a caller, in order.
package struct AccessGroups {
    package let names: [ExactName]

    package init(_ names: [ExactName]) { self.names = names }

    /// The groups to look in: the one that was asked for, or all.
    func visible(_ requested: ExactName?) throws(Refusal) -> [ExactName] {
        guard let requested else { return try requireAny() }
        try require(requested)
        return [requested]
    }

    /// The group of a new item: the one that was asked for, or the first.
    package func home(_ requested: ExactName?) throws(Refusal) -> ExactName { try visible(requested)[0] }

    func require(_ group: ExactName) throws(Refusal) {
        guard names.contains(group) else {
            throw Refusal(
                .missingEntitlement, "The calling program is not in this access group.", cause: "item.access-group")
        }
    }

    /// All groups; throws when there is none.
    func requireAny() throws(Refusal) -> [ExactName] {
        guard !names.isEmpty else {
            throw Refusal(.missingEntitlement, "The calling program is in no access group.", cause: "item.access-group")
        }
        return names
    }
}

extension ItemClass {
    /// The class of a request.
    package init(named name: String) throws(Refusal) {
        guard !name.isEmpty else {
            throw Refusal(.invalidParameter, "The request names no class.", cause: "item.class")
        }
        guard let found = ItemClass(name: name) else {
            throw Refusal(.noSuchClass, "There is no such class of items.", cause: "item.class")
        }
        self = found
    }
}

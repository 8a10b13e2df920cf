package import Foundation

/// An item in one word, as command lines and rule files name it.
///
/// | form | means |
/// | --- | --- |
/// | `0123…` (32 hexadecimal digits) | the item with this id |
/// | `SERVICE` | the generic password of this service |
/// | `ACCOUNT@SERVICE` | the account's one; the last `@` counts |
/// | `service=…,account=…` | by attributes; `server=…` for an internet password, `group=…` for an access group |
package struct ItemReference: Sendable, Equatable {
    package let selection: ItemSelection
    /// As it was written.
    package let text: String

    /// The longest reference, in UTF-8. Names of services and accounts are far shorter.
    package static let byteCount = 1024

    private static let attributes = [
        "service": "svce", "account": "acct", "server": "srvr", "label": "labl", "group": "agrp",
    ]

    /// Nil for a text that names no item.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.byteCount, let selection = Self.selection(text) else { return nil }
        (self.text, self.selection) = (text, selection)
    }

    private static func selection(_ text: String) -> ItemSelection? {
        if let id = identifier(text) { return ItemSelection(itemClass: "", synchronizable: .any, id: id) }
        if text.utf8.contains(UInt8(ascii: "=")) { return byAttributes(text) }
        guard let mark = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return password(service: text) }
        let (account, service) = (String(text[..<mark]), String(text[text.utf8.index(after: mark)...]))
        guard !account.isEmpty, !service.isEmpty else { return nil }
        return password(service: service, account: account)
    }

    private static func password(service: String, account: String? = nil) -> ItemSelection {
        var attributes: ItemAttributeValues = ["svce": .text(service)]
        attributes["acct"] = account.map { .text($0) }
        return ItemSelection(itemClass: "genp", attributes: attributes, synchronizable: .any)
    }

    private static func byAttributes(_ text: String) -> ItemSelection? {
        var found: ItemAttributeValues = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, !pair[1].isEmpty, let key = attributes[String(pair[0])],
                found.updateValue(.text(String(pair[1])), forKey: key) == nil
            else { return nil }
        }
        // A group alone would mean any item in it, and only one class has each of the two others.
        guard found.keys.contains(where: { $0 != "agrp" }), found["svce"] == nil || found["srvr"] == nil else {
            return nil
        }
        let itemClass = found["srvr"] == nil ? "genp" : "inet"
        return ItemSelection(itemClass: itemClass, attributes: found, synchronizable: .any)
    }

    private static func identifier(_ text: String) -> Data? {
        guard text.utf8.count == 32 else { return nil }
        let digits = text.utf8.compactMap(hexadecimal)
        guard digits.count == 32 else { return nil }
        return Data(stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension OstiaryClient {
    /// The id of the one item that a reference names. Asks nobody, and finds locked items too.
    ///
    /// - Throws: `notFound` when there is none, ``ItemReferenceError/ambiguous``.
    package func item(_ reference: ItemReference) throws -> Data {
        let items = try listItems(reference.selection, limit: 2)
        guard items.count == 1, let item = items.first else { throw ItemReferenceError.ambiguous }
        return item.id
    }
}

/// A reference that does not say which item is meant.
package enum ItemReferenceError: Error, Equatable {
    /// Several items match.
    case ambiguous
}

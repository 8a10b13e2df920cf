import AccessControl
import Foundation
import OstiaryClient

/// An item in `item list --json`: everything but its secret.
struct ItemDocument: Encodable {
    /// A value in the type in which it was stored; bytes are told from text by their key.
    enum Value: Encodable, Equatable {
        case text(String)
        case number(Int64)
        case data(Data)
        case date(Timestamp)

        init(_ value: ItemAttributeValue) {
            self =
                switch value {
                case .text(let text): .text(text)
                case .number(let number): .number(number)
                case .data(let data): .data(data)
                case .date(let date): .date(Timestamp(date))
                }
        }

        private enum CodingKeys: CodingKey { case base64 }

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .text(let text): try text.encode(to: encoder)
            case .number(let number): try number.encode(to: encoder)
            case .date(let date): try date.encode(to: encoder)
            case .data(let data):
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(data, forKey: .base64)
            }
        }

        /// For people: bytes that are no text are shown as digits.
        var text: String {
            switch self {
            case .text(let text): text
            case .number(let number): String(number)
            case .date(let date): date.localText()
            case .data(let data): String(data: data, encoding: .utf8) ?? data.hexadecimal
            }
        }
    }

    let id: Data
    let itemClass: String
    /// By Apple's names.
    let attributes: [String: Value]
    /// The rule for reading the item.
    let requires: String?
    let hasSecret: Bool

    private enum CodingKeys: String, CodingKey {
        case id, attributes, requires, hasSecret
        case itemClass = "class"
    }

    init(_ item: StoredItem) {
        id = item.id
        itemClass = item.itemClass
        attributes = item.attributes.mapValues(Value.init)
        requires = item.accessControl.map { $0.keyRequirement.description }
        hasSecret = item.hasData
    }

    /// The value of an attribute for people; empty for none.
    func text(_ key: String) -> String { attributes[key]?.text ?? "" }
}

/// `item list --json`, and the table for people.
struct ItemListDocument: Encodable {
    let items: [ItemDocument]

    init(_ items: [StoredItem]) { self.items = items.map(ItemDocument.init) }

    func text() -> String {
        // A list is of one class.
        if items.first?.itemClass == ItemClassArgument.free.name { return textOfFreeItems() }
        var table = TextTable(header: ["SERVICE", "ACCOUNT", "LABEL", "REQUIRES", "GROUP", "MODIFIED"])
        for item in items {
            let place = item.attributes["srvr"] == nil ? item.text("svce") : item.text("srvr")
            table.append(
                place, item.text("acct"), item.text("labl"), item.requires ?? "", item.text("agrp"), item.text("mdat"))
        }
        return table.text
    }

    private func textOfFreeItems() -> String {
        var table = TextTable(header: ["LABEL", "COLLECTION", "REQUIRES", "ONLY FOR", "GROUP", "MODIFIED"])
        for item in items {
            let programs = item.text("only").split(separator: "\n").joined(separator: ", ")
            table.append(
                item.text("labl"), item.text("coll"), item.requires ?? "", programs, item.text("agrp"),
                item.text("mdat"))
        }
        return table.text
    }
}

import AccessControl
import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory

/// An item as `ostiary-secrets` keeps those of programs, made and found by the client library, without door and bus.
struct FreeItem {
    static let service = KeychainItem.service
    static let secret = String(decoding: KeychainItem.data, as: UTF8.self)

    private let client: OstiaryClient
    private let selection: ItemSelection

    /// The account of an item by its number.
    static func account(_ number: Int) -> String { "account-\(number)@example.com" }

    static func add(_ numbers: Range<Int>, by client: OstiaryClient) throws {
        for number in numbers { try add(number, by: client) }
    }

    /// Makes one, on disk when the call returns.
    @discardableResult
    static func add(_ number: Int, by client: OstiaryClient) throws -> FreeItem {
        let account = account(number)
        let free = ["service": service, "account": account, "xdg:schema": "org.ostiary.benchmark"]
        var attributes: ItemAttributeValues = place
        for (name, value) in free { attributes[FreeAttribute.key(named: name)] = .text(value) }
        attributes["labl"] = .text(account)
        attributes["mime"] = .text("text/plain")
        attributes["pdmn"] = .text("aku")
        let added = try client.addItem(
            WireLimits.freeformClass, attributes: attributes, accessControl: try accessControl(),
            data: SecretBytes(KeychainItem.data))
        let selection = ItemSelection(itemClass: WireLimits.freeformClass, attributes: place, id: added.id)
        return FreeItem(client: client, selection: selection)
    }

    /// An item of the collection `login`.
    private static let place: ItemAttributeValues = [
        "agrp": .text(DoorPrograms.accessGroup), "kind": .number(0), "coll": .text("login"),
    ]

    private static func accessControl() throws -> AccessControl {
        try AccessControl(
            availability: .whenUnlocked,
            requirements: [
                .create: .unrestricted, .read: .unrestricted, .change: .unrestricted, .delete: .unrestricted,
            ])
    }

    /// Throws unless the data is what was stored.
    func find() throws {
        var found: Data?
        try client.findItems(selection, returningData: true, returningAttributes: true) { _, data in
            switch data {
            case .some(let data): found = Data(exposing: data)
            case .none: found = nil
            }
        }
        guard found == KeychainItem.data else { throw NotFound() }
    }

    struct NotFound: Error, CustomStringConvertible {
        var description: String { "the daemon did not give back what was stored" }
    }
}

import AccessControl
import Foundation
public import OstiaryMessages

/// What the crash tests interrupt.
public enum CrashOperation: String, CaseIterable, Sendable {
    case create
    case replace
    case remove
    case authorize
    case wrongPasscode
    case setPasscode
    case changePasscode
    case removePasscode
    case addItem
    case updateItem
    case deleteItem
    case addKey
    case removeGuarded

    /// The right that `create` makes.
    public static let createdName = "created"
    /// The rights that the store begins with: one that asks for nothing, and with a passcode one that asks for it.
    public static let openName = "open"
    public static let boundName = "bound"
    /// For ``removeGuarded``: a right at whose application password somebody has guessed once.
    public static let guardedName = "guarded"

    /// The accounts of the items: one that is always open, one that only an unlocked store opens, and the one that is
    /// added.
    public static let openAccount = "always open"
    public static let closedAccount = "when unlocked"
    public static let addedAccount = "added"

    public static func item(_ account: String) -> WireItemQuery { TestClient.query("genp", ["acct": .text(account)]) }

    public static let passcode = "correct horse 9"
    public static let newPasscode = "another battery 8"

    public var beginsWithPasscode: Bool { self != .setPasscode }

    /// What the person answers.
    public var answers: [ScriptedPrompter.Answer] {
        switch self {
        case .create, .replace, .remove, .addItem, .updateItem, .deleteItem, .addKey, .removeGuarded: []
        case .authorize: [.text(Self.passcode)]
        case .wrongPasscode: [.text("wrong"), .cancel]
        case .setPasscode: [.text(Self.newPasscode), .text(Self.newPasscode)]
        case .changePasscode: [.text(Self.passcode), .text(Self.newPasscode), .text(Self.newPasscode)]
        case .removePasscode: [.text(Self.passcode), .confirm]
        }
    }

    /// Carries it out; throws when it is refused, but for the one that ought to be.
    public func run(_ client: TestClient) throws {
        let unrestricted = AccessControl(availability: .whenUnlocked, using: .unrestricted)
        switch self {
        case .create: try client.create(Self.createdName, unrestricted, secret: Self.createdName)
        case .replace: try client.create(Self.openName, unrestricted, secret: "replacement", replace: true)
        case .remove: try client.remove(Self.openName)
        case .authorize: try client.authorize(Self.boundName)
        case .wrongPasscode:
            let code = try refusal { try client.authorize(Self.boundName) }
            guard code == .userCancel else { throw TestClient.UnexpectedAnswer() }
        case .setPasscode: try client.passcode(.set)
        case .changePasscode: try client.passcode(.change)
        case .removePasscode: try client.passcode(.remove)
        case .addItem: try client.addOpenItem(Self.addedAccount)
        case .updateItem: try client.updateItems(Self.item(Self.openAccount), data: Data("updated".utf8))
        case .deleteItem: try client.deleteItems(Self.item(Self.openAccount))
        case .addKey:
            let key = try client.createKey(.p256, unrestricted, awaitsItem: true)
            try client.addItem(
                "keys", ["labl": .text(Self.createdName), "pdmn": .text("dk")], data: nil, keyID: key.keyID)
        case .removeGuarded: try client.remove(Self.guardedName)
        }
    }
}

extension TestClient {
    /// Adds an item that is always open and whose data is its account.
    public func addOpenItem(_ account: String) throws {
        try addItem(["acct": .text(account), "pdmn": .text("dk")], data: Data(account.utf8))
    }
}

import Auditing
import ExactNames
import Foundation
import PromptProtocol
import ProtectedObjects
import Vault

/// The items that one question is about: what the person and the log are told of them, and which ones its answer may open.
struct ItemsInQuestion {
    private(set) var ids: Set<VaultID> = []
    /// An item as the question names it.
    private struct Named {
        let name: String
        /// Nil where no account is known, or where the item is named by it.
        var account: String?
        /// The beginning of its id; nil for a new item.
        var id: String?
    }

    /// Those whose names fit into the question.
    private var named: [Named] = []
    private var count = 0
    private var onlyLogName = ""

    init() {}

    /// A new item.
    init(new attributes: ItemAttributes, of itemClass: ItemClass) {
        (named, count, onlyLogName) = ([Named(name: attributes.shownName)], 1, itemClass.name)
    }

    /// - Parameter knownName: the name that the request itself gives, for an item whose own lies encrypted in a closed class.
    mutating func add(_ opener: ItemOpener, knownName: String?) throws {
        ids.insert(opener.record.id)
        count += 1
        onlyLogName = opener.record.logName
        guard named.count < PromptObjects.maximumNameCount else { return }
        let attributes = try opener.closedClass == nil ? opener.attributes() : nil
        let name = attributes?.shownName ?? knownName ?? Self.nameWithoutAttributes(opener.record)
        let account = attributes?.shownAccount
        named.append(
            Named(name: name, account: account == name ? nil : account, id: "\("\(opener.record.id)".prefix(8))"))
    }

    static func nameWithoutAttributes(_ record: ItemRecord) -> String {
        let noun =
            switch record.itemClass {
            case .genericPassword: "password"
            case .internetPassword: "internet password"
            case .key: "key"
            case .certificate: "certificate"
            case .freeform: "secret"
            }
        return "locked \(noun) \("\(record.id)".prefix(8))"
    }

    var isEmpty: Bool { count == 0 }
    var areSeveral: Bool { count > 1 }

    /// The name of the first item.
    var name: String { named.first?.name ?? "" }

    /// The names, and behind one that several items have their accounts. Items that nobody could tell apart by them have the
    /// beginning of their ids there.
    private var names: [String] {
        named.map { item in
            // Two spellings of one name look alike.
            let namesakes = named.filter { Self.look(of: $0.name) == Self.look(of: item.name) }
            guard namesakes.count > 1 else { return item.name }
            let isOnly = namesakes.count { $0.account.map(Self.look) == item.account.map(Self.look) } == 1
            if let account = item.account, isOnly { return "\(item.name) (account \(account))" }
            return item.id.map { "\(item.name) (item \($0))" } ?? item.name
        }
    }

    /// For comparing alone: what is shown is the text itself.
    private static func look(of text: String) -> ExactName { ExactName(text.precomposedStringWithCompatibilityMapping) }

    /// The list for the question. Of items beyond the names only the number counts.
    var objects: PromptObjects? {
        let unnamed = repeatElement("", count: count - names.count)
        return PromptObjects((names + unnamed).map { ($0, DisplayText("")) }, noun: .item)
    }

    /// What the log calls them together.
    var logName: String { areSeveral ? "\(count) items" : onlyLogName }
}

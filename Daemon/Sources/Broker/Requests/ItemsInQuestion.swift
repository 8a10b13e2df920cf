import Auditing
import Prompting
import ProtectedObjects
import Vault

/// The items that one question is about: what the person and the log are told of them, and which ones its answer may open.
struct ItemsInQuestion {
    private(set) var ids: Set<VaultID> = []
    /// The names that fit into the question.
    private var names: [String] = []
    private var count = 0
    private var onlyLogName = ""

    init() {}

    /// A new item.
    init(new attributes: ItemAttributes, of itemClass: ItemClass) {
        (names, count, onlyLogName) = ([attributes.shownName], 1, itemClass.name)
    }

    /// - Parameter knownName: the name that the request itself gives, for an item whose own lies encrypted in a closed class.
    mutating func add(_ opener: ItemOpener, knownName: String?) throws {
        ids.insert(opener.record.id)
        count += 1
        onlyLogName = opener.record.logName
        guard names.count < PromptObjects.maximumNameCount else { return }
        names.append(
            try opener.closedClass == nil
                ? opener.attributes().shownName : knownName ?? Self.nameWithoutAttributes(opener.record))
    }

    private static func nameWithoutAttributes(_ record: ItemRecord) -> String {
        let noun =
            switch record.itemClass {
            case .genericPassword: "password"
            case .internetPassword: "internet password"
            case .key: "key"
            case .certificate: "certificate"
            }
        return "locked \(noun) \("\(record.id)".prefix(8))"
    }

    var isEmpty: Bool { count == 0 }
    var areSeveral: Bool { count > 1 }

    /// The name of the first item.
    var name: String { names.first ?? "" }

    /// The list for the question. Of items beyond the names only the number counts.
    var objects: PromptObjects? {
        let unnamed = repeatElement("", count: count - names.count)
        return PromptObjects((names + unnamed).map { ($0, DisplayText("")) }, noun: .item)
    }

    /// What the log calls them together.
    var logName: String { areSeveral ? "\(count) items" : onlyLogName }
}

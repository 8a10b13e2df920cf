import AccessControl
import ArgumentParser
import Foundation
import OstiaryClient

/// `--class CLASS`, by words.
enum ItemClassArgument: String, ExpressibleByArgument, CaseIterable {
    case generic, internet, key, certificate, free

    /// Apple's four letters, and four for what Apple does not have.
    var name: String {
        switch self {
        case .generic: "genp"
        case .internet: "inet"
        case .key: "keys"
        case .certificate: "cert"
        case .free: "free"
        }
    }

    /// For questions; with an s of several.
    var noun: String {
        switch self {
        case .generic: "generic password"
        case .internet: "internet password"
        case .key: "key"
        case .certificate: "certificate"
        case .free: "free-form item"
        }
    }
}

/// An attribute by the word that this command has for it, or by Apple's four letters.
enum ItemAttributeName {
    private static let words: KeyValuePairs = [
        "account": "acct", "service": "svce", "server": "srvr", "port": "port", "protocol": "ptcl", "path": "path",
        "security-domain": "sdmn", "authentication-type": "atyp", "label": "labl", "comment": "icmt",
        "description": "desc",
        "generic": "gena", "tag": "atag", "type": "type", "creator": "crtr", "group": "agrp", "available": "pdmn",
        "collection": "coll",
    ]

    /// The attributes of all classes that are stored as numbers, nearly all by Apple.
    private static let numbers: Set<String> = [
        "port", "type", "crtr", "sync", "ptcl", "scrp", "invi", "nega", "cusi", "kcls", "bsiz", "esiz", "perm", "priv",
        "modi", "sens", "asen", "extr", "next", "encr", "decr", "drve", "sign", "vrfy", "snrc", "vyrc", "wrap", "unwp",
        "ctyp", "cenc", "kind",
    ]

    static var all: [String] { words.map(\.key) }

    /// Apple's name for `text`; nil if `text` is neither a name of ours, nor of Apple's form, nor that of a free attribute behind its dot.
    static func key(named text: String) -> String? {
        if let word = words.first(where: { $0.key == text }) { return word.value }
        if let free = FreeAttribute.name(ofKey: text) { return free.isEmpty ? nil : text }
        return text.utf8.count == 4 ? text : nil
    }

    /// The word of this command for Apple's name, or that name.
    static func word(for key: String) -> String { words.first { $0.value == key }?.key ?? key }

    /// `text` as the value of the attribute `key`. If Apple stores the attribute as a number, a number in `text`
    /// becomes one. If the attribute is the availability, `text` becomes Apple's name of a class; nil for an unknown
    /// class. Other text stays text.
    static func value(_ text: String, for key: String) -> ItemAttributeValue? {
        switch key {
        case "pdmn": accessible(text).map(ItemAttributeValue.text)
        // Only a number in its usual form: "007" can be a text that some program stored.
        case _ where numbers.contains(key):
            Int64(text).flatMap { String($0) == text ? .number($0) : nil } ?? .text(text)
        default: .text(text)
        }
    }

    /// A class as `--available` takes it, which `item add` stores as one that stays on this machine, or Apple's own
    /// name.
    private static func accessible(_ text: String) -> String? {
        if let availability = AvailabilityClass(name: text) { return availability.accessible }
        return ["ak", "ck", "dk", "aku", "cku", "dku", "akpu"].contains(text) ? text : nil
    }
}

/// `NAME=VALUE`.
struct AttributeAssignment: ExpressibleByArgument, Equatable {
    let key: String
    let value: ItemAttributeValue

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let key = ItemAttributeName.key(named: String(parts[0])),
            let value = ItemAttributeName.value(String(parts[1]), for: key)
        else { return nil }
        (self.key, self.value) = (key, value)
    }
}

/// The attributes that select items, or that a new item gets.
struct ItemArguments: ParsableArguments {
    @Option(name: .customLong("class"), help: "The class of items.") var itemClass: ItemClassArgument = .generic
    @Option(help: ArgumentHelp("The account.", valueName: "text")) var account: String?
    @Option(help: ArgumentHelp("The service, of a generic password.", valueName: "text")) var service: String?
    @Option(help: ArgumentHelp("The host, of an internet password.", valueName: "host")) var server: String?
    @Option(help: ArgumentHelp("The label that people read.", valueName: "text")) var label: String?
    @Option(help: ArgumentHelp("The access group.", valueName: "group")) var group: String?
    @Option(
        help: ArgumentHelp(
            "Any other attribute, as name=value; the name is one of "
                + "\(ItemAttributeName.all.joined(separator: ", ")), Apple's four letters, or a dot and the name of a free attribute.",
            valueName: "name=value")
    )
    var attribute: [AttributeAssignment] = []

    func validate() throws {
        let given = pairs.map(\.0)
        guard Set(given).count == given.count else { throw ValidationError("An attribute is given twice.") }
    }

    var attributes: ItemAttributeValues { Dictionary(pairs, uniquingKeysWith: { first, _ in first }) }

    private var pairs: [(String, ItemAttributeValue)] {
        let options = [("acct", account), ("svce", service), ("srvr", server), ("labl", label), ("agrp", group)]
        return options.compactMap { key, text in text.map { (key, .text($0)) } } + attribute.map { ($0.key, $0.value) }
    }

    /// Which items are meant: the synchronizable ones, too, which mean nothing special here.
    var selection: ItemSelection {
        ItemSelection(itemClass: itemClass.name, attributes: attributes, synchronizable: .any)
    }

    /// The items that match where `*` in a text stands for any text: those that the daemon finds by the other attributes,
    /// and the texts to compare afterwards.
    var pattern: (selection: ItemSelection, texts: [String: TextPattern]) {
        var (selection, texts) = (selection, [String: TextPattern]())
        for case (let key, .text(let text)) in attributes {
            let pattern = TextPattern(text)
            selection.attributes[key] = pattern.hasStar ? nil : .text(pattern.text)
            if pattern.hasStar { texts[key] = pattern }
        }
        return (selection, texts)
    }

    /// The attributes of a new item; refuses one that nothing names.
    func attributesOfNewItem() throws -> ItemAttributeValues {
        guard attributes.keys.contains(where: { $0 != "agrp" }) else {
            throw CommandError.usage("Say what the secret is for, for example with --service and --account.")
        }
        return attributes
    }

    /// ``selection``, or the item with the id; refuses to mean every item of the class by saying nothing.
    func narrowSelection(id: Data? = nil) throws -> ItemSelection {
        if let id {
            guard attributes.isEmpty else {
                throw CommandError.usage("--id names one item of any class; leave its attributes out.")
            }
            return ItemSelection(itemClass: "", synchronizable: .any, id: id)
        }
        guard !attributes.isEmpty else {
            throw CommandError.usage(
                "Say which item is meant, for example with --service and --account, or with --id.")
        }
        return selection
    }

    /// The selected items in words, for a question: `2 generic passwords with the service “mail”`.
    func words(for count: ItemCount, id: Data? = nil) -> String {
        if let id { return "the item with the id \(id.hexadecimal)" }
        // Where the count is not complete, there is one more.
        let least = count.isComplete ? count.counted : count.counted + 1
        return (count.isComplete ? "" : "at least ")
            + "\(least) \(itemClass.noun)\(least == 1 ? "" : "s")\(attributeWords)"
    }

    /// A further sentence of the question.
    static func note(on count: ItemCount, id: Data?) -> String {
        count.isComplete || id != nil ? "" : " More may be locked or under a rule."
    }

    private var attributeWords: String {
        let words = attributes.map { key, value in
            let shown =
                switch value {
                case .text(let text): text.quotedName
                case .number(let number): "\(number)"
                case .data(let data): data.hexadecimal
                case .date(let date): Timestamp(date).localText()
                }
            return "the \(ItemAttributeName.word(for: key)) \(shown)"
        }
        return words.isEmpty ? "" : " with " + words.sorted().joined(separator: " and ")
    }
}

/// `--id` of the commands for items that exist.
struct ItemIDOption: ParsableArguments {
    @Option(
        name: .customLong("id"),
        help: ArgumentHelp("The id of one item, instead of its class and attributes.", valueName: "id"),
        transform: RightRemove.checkedID)
    var id: Data?
}

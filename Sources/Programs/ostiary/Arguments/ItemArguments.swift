import AccessControl
import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryWire

/// `--class CLASS`, by words.
enum ItemClassArgument: String, ExpressibleByArgument, CaseIterable {
    case generic, internet, key, certificate

    /// Apple's four letters.
    var name: String {
        switch self {
        case .generic: "genp"
        case .internet: "inet"
        case .key: "keys"
        case .certificate: "cert"
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
    ]

    /// The attributes of all classes that Apple stores as numbers.
    private static let numbers: Set<String> = [
        "port", "type", "crtr", "sync", "ptcl", "scrp", "invi", "nega", "cusi", "kcls", "bsiz", "esiz", "perm", "priv",
        "modi", "sens", "asen", "extr", "next", "encr", "decr", "drve", "sign", "vrfy", "snrc", "vyrc", "wrap", "unwp",
        "ctyp", "cenc",
    ]

    static var all: [String] { words.map(\.key) }

    /// Apple's name for `text`; nil if `text` is neither a name of ours nor of Apple's form.
    static func key(named text: String) -> String? {
        if let word = words.first(where: { $0.key == text }) { return word.value }
        return text.utf8.count == 4 ? text : nil
    }

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
                + "\(ItemAttributeName.all.joined(separator: ", ")), or Apple's four letters.", valueName: "name=value")
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

    /// ``selection``; refuses to mean every item of the class by saying nothing.
    func narrowSelection() throws -> ItemSelection {
        guard !attributes.isEmpty else {
            throw CommandError.usage("Say which item is meant, for example with --service and --account.")
        }
        return selection
    }
}

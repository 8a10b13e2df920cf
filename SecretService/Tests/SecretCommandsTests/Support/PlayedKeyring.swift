import Foundation
import SecretItems
import SecretMemory

@testable import SecretCommands

/// The owner's keyring, played: it decides as the daemon does, without a daemon.
final class PlayedKeyring: OwnerKeyring {
    struct Row {
        var item: OwnedSecret
        var data: HeldSecret?
    }

    private(set) var rows: [Row] = []
    /// The reasons of all questions that were put.
    private(set) var questions: [String] = []
    /// The items whose secret was read.
    private(set) var readIDs: [SecretID] = []
    private(set) var updates: [SecretQuery] = []
    var isOpen = true
    /// The number of additions until one fails; nil for never.
    var additionsLeft: Int?
    /// Whether the addition that fails is made, and only its answer is lost.
    var losesAnswers = false
    /// Does something right before the next addition.
    var beforeAddition: (() -> Void)?
    /// Hears the number of items after each one that was added.
    var added: (Int) -> Void = { _ in }
    private var time: UInt64 = 1_000

    var items: [Row] { rows.filter { $0.item.contents?.kind == .item } }
    var collections: [Row] { rows.filter { $0.item.contents?.kind == .collection } }

    /// What is stored: label, collection, attributes and secret of each item.
    var stored: [StoredText] {
        items.map { row in
            StoredText(
                row.item.contents?.label ?? "", row.item.contents?.collection ?? "",
                row.item.contents?.attributes ?? [:], row.data.map { $0.text } ?? "")
        }
    }

    struct StoredText: Hashable {
        let label: String
        let collection: String
        let attributes: [String: String]
        let secret: String

        init(_ label: String, _ collection: String, _ attributes: [String: String], _ secret: String) {
            (self.label, self.collection, self.attributes, self.secret) = (label, collection, attributes, secret)
        }
    }

    // MARK: what programs did

    @discardableResult
    func put(
        _ label: String, _ attributes: [String: String] = [:], _ secret: String = "secret",
        in collection: String = "login",
        rule: String? = nil, readers: [String] = [], contentType: String = "text/plain"
    ) -> SecretID {
        place(
            NewSecret(
                collection: collection, label: label, contentType: contentType, attributes: attributes, rule: rule,
                readers: readers.isEmpty ? nil : readers.joined(separator: "\n"), secret: HeldSecret(text: secret)), nil
        )
    }

    @discardableResult
    func putCollection(_ label: String, _ identifier: String = "", _ attributes: [String: String] = [:]) -> SecretID {
        place(NewSecret(.collection, collection: identifier, label: label, attributes: attributes), nil)
    }

    func change(_ id: SecretID, _ change: (inout Row) -> Void) {
        guard let index = rows.firstIndex(where: { $0.item.id == id }) else { return }
        change(&rows[index])
    }

    private func place(_ new: NewSecret, _ origin: String?) -> SecretID {
        time += 1
        let id = SecretID.random()
        let contents = SecretContents(
            kind: new.kind, collection: new.collection, label: new.label, contentType: new.contentType,
            attributes: new.attributes, created: time, modified: time)
        let item = OwnedSecret(
            id: id, lock: new.rule == nil ? .open : .ruled, contents: contents, rule: new.rule,
            readers: (new.readers ?? "").split(separator: "\n").map(String.init), origin: origin)
        rows.append(Row(item: item, data: new.secret))
        return id
    }

    // MARK: the keyring

    func list(_ query: SecretQuery) throws(SecretsFailure) -> [OwnedSecret] {
        rows.filter { Self.fits($0, query) }.map { row in
            var item = row.item
            if !isOpen { (item.lock, item.contents, item.rule, item.readers) = (.storeLocked, nil, nil, []) }
            return item
        }
    }

    private static func fits(_ row: Row, _ query: SecretQuery) -> Bool {
        guard let contents = row.item.contents, contents.kind == query.kind else { return false }
        return query.collection.map { $0 == contents.collection } ?? true
            && query.id.map { $0 == row.item.id } ?? true
            && query.attributes.allSatisfy { contents.attributes[$0.key] == $0.value }
    }

    func open(asking reason: String) throws(SecretsFailure) {
        guard !isOpen else { return }
        questions.append(reason)
        isOpen = true
    }

    func read(_ id: SecretID, in collection: String) throws(SecretsFailure) -> HeldSecret {
        guard let row = rows.first(where: { $0.item.id == id }), let data = row.data else {
            throw .notFound("There is none.")
        }
        guard row.item.lock == .open else { throw .locked("It would ask.") }
        readIDs.append(id)
        return data
    }

    func add(_ new: NewSecret, origin: String?, asking reason: String) throws(SecretsFailure) -> SecretID {
        let before = beforeAddition
        beforeAddition = nil
        before?()
        if new.rule == "nonsense" { throw .invalidRule("The rule cannot be read.") }
        try Self.requireKnowable(new.readers)
        guard let left = additionsLeft else {
            defer { added(rows.count) }
            return place(new, origin)
        }
        if left > 0 || losesAnswers {
            additionsLeft = left - 1
            let id = place(new, origin)
            if left > 0 { return id }
        }
        throw .keyringFailed("The daemon ended.")
    }

    func change(
        _ id: SecretID, in collection: String, to change: SecretChange, origin: String?, asking reason: String
    ) throws(SecretsFailure) {
        time += 1
        let now = time
        self.change(id) { row in
            if var contents = row.item.contents {
                contents.label = change.label ?? contents.label
                contents.contentType = change.contentType ?? contents.contentType
                contents.modified = now
                row.item.contents = contents
            }
            row.item.origin = origin ?? row.item.origin
            row.data = change.secret ?? row.data
        }
    }

    func protect(
        _ query: SecretQuery, by protection: SecretProtection, asking reason: String
    ) throws(SecretsFailure) -> Int {
        updates.append(query)
        let ids = rows.filter { Self.fits($0, query) }.map(\.item)
        guard !ids.isEmpty else { throw .notFound("There is none.") }
        if ids.contains(where: { $0.rule != nil }) || !isOpen { questions.append(reason) }
        for item in ids {
            change(item.id) { row in
                row.item.rule = protection.rule
                row.item.lock = protection.rule == nil ? .open : .ruled
                if let lines = protection.readerLines {
                    row.item.readers = lines.split(separator: "\n").map(String.init)
                }
            }
        }
        return ids.count
    }

    /// Whether the person declines each question.
    var declines = false

    /// Asks as the daemon does: once for all rows that have a rule.
    func setDefaults(
        _ protection: SecretProtection, ofRows rows: [(id: SecretID, attributes: [String: String])],
        asking reason: String
    ) throws(SecretsFailure) {
        try Self.requireKnowable(protection.readerLines)
        if rows.contains(where: { row in self.rows.contains { $0.item.id == row.id && $0.item.rule != nil } }) {
            questions.append(reason)
            guard !declines else { throw .keyringFailed("The person declined.") }
        }
        for row in rows {
            change(row.id) { changed in
                changed.item.contents?.attributes = row.attributes
                changed.item.rule = protection.rule
                changed.item.lock = protection.rule == nil ? .open : .ruled
                if let lines = protection.readerLines {
                    changed.item.readers = lines.split(separator: "\n").map(String.init)
                }
            }
        }
    }

    /// Refuses as the daemon does: a program that runs scripts has no name of its own.
    private static func requireKnowable(_ readers: String?) throws(SecretsFailure) {
        if readers?.contains("python") == true { throw .usage("No item can be for it alone.") }
    }
}

extension HeldSecret {
    convenience init(text: String) { self.init(SecretBytes(Data(text.utf8))) }

    /// What tests compare.
    var text: String { bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

import SecretItems
import Testing

@testable import SecretCommands

/// What an import brings, and what it does when it is begun again.
@Suite("Importing") struct ImportTests {
    private let source = PlayedSource()
    private let keyring = PlayedKeyring()

    typealias StoredText = PlayedKeyring.StoredText

    private func work() -> Import { Import(from: source, to: keyring, reason: "test") }

    @discardableResult
    private func run() throws -> ImportReport {
        let work = work()
        try work.run()
        return work.report
    }

    private func fill(_ count: Int) {
        source.addBox("login", .init(label: "Login", isDefault: true))
        for number in 0..<count { source.put("Label \(number)", ["number": "\(number)"], "secret \(number)") }
    }

    private func expectation(_ count: Int) -> Set<StoredText> {
        Set((0..<count).map { StoredText("Label \($0)", "login", ["number": "\($0)"], "secret \($0)") })
    }

    // MARK: what comes along

    @Test func `items keep label, attributes, type and secret, and nothing changes there`() throws {
        source.addBox("login", .init(label: "Login", isDefault: true))
        let path = source.put("Mail", ["user": "me", "xdg:schema": "org.example"], "a secret")
        source.change(path) { $0.contentType = "text/html" }
        source.put("", [:], "")
        let before = source.all.map(\.item)
        let report = try run()
        #expect(report == ImportReport(brought: 2))
        #expect(
            keyring.stored == [
                StoredText("Mail", "login", ["user": "me", "xdg:schema": "org.example"], "a secret"),
                StoredText("", "login", [:], ""),
            ])
        #expect(keyring.items.map(\.item.contents?.contentType) == ["text/html", "text/plain"])
        #expect(source.all.map(\.item) == before)
    }

    @Test func `collections come to those of the same label, or are made`() throws {
        source.addBox("work", .init(label: "Work"))
        source.put("a", [:], "1")
        source.addBox("kdewallet", .init(label: "kdewallet", isDefault: true))
        source.put("b", [:], "2")
        source.addBox("old", .init(label: ""))
        source.put("c", [:], "3")
        source.addBox("empty", .init(label: "Empty"))
        let work = keyring.putCollection("Work")
        try run()
        let old = try #require(keyring.collections.last?.item.id)
        #expect(keyring.collections.map(\.item.contents?.label) == ["Work", "old"], "an empty one is not made")
        #expect(
            Set(keyring.stored) == [
                StoredText("a", work.description, [:], "1"),
                // Without a collection `login` there, the default one takes that place.
                StoredText("b", "login", [:], "2"), StoredText("c", old.description, [:], "3"),
            ])
        try run()
        #expect(keyring.items.count == 3 && keyring.collections.count == 2)
    }

    @Test func `items in memory stay, and are counted`() throws {
        source.addBox("session", .init(label: ""))
        source.put("a", [:], "1")
        fill(1)
        #expect(try run() == ImportReport(brought: 1, sessionCount: 1))
        #expect(Set(keyring.stored) == expectation(1))
    }

    @Test func `new items get the rule that the collection has for such`() throws {
        fill(1)
        keyring.putCollection("Login", "login", ["rule": "passcode", "only": "/usr/bin/a\n/usr/bin/b"])
        try run()
        let item = try #require(keyring.items.first?.item)
        #expect(item.rule == "passcode" && item.readers == ["/usr/bin/a", "/usr/bin/b"])
        // Its secret cannot be compared without a question.
        #expect(try run() == ImportReport(present: 1) && keyring.readIDs.isEmpty && keyring.items.count == 1)
    }

    @Test func `a locked store is opened first`() throws {
        fill(1)
        keyring.isOpen = false
        try run()
        #expect(keyring.questions == ["test"] && Set(keyring.stored) == expectation(1))
    }

    // MARK: interrupted, and begun again

    @Test(arguments: 0...6) func `nothing is lost and nothing comes twice, wherever the other keyring ended`(
        reads: Int
    ) throws {
        fill(6)
        source.readsLeft = reads
        let first = work()
        if reads < 6 {
            let failure = #expect(throws: SecretsFailure.self) { try first.run() }
            #expect(failure?.code == -135 && failure?.status == 1)
        } else {
            try first.run()
        }
        #expect(first.report.brought == reads && keyring.items.count == reads)
        source.readsLeft = nil
        #expect(try run() == ImportReport(brought: 6 - reads, present: reads))
        #expect(Set(keyring.stored) == expectation(6) && keyring.items.count == 6)
        let readUntilNow = source.readPaths.count
        #expect(try run() == ImportReport(present: 6))
        #expect(source.readPaths.count == readUntilNow, "what is there is not even read")
    }

    @Test(arguments: 0..<6, [false, true])
    func `nothing is lost and nothing comes twice, wherever the daemon ended`(additions: Int, losesAnswer: Bool) throws
    {
        fill(6)
        keyring.additionsLeft = additions
        keyring.losesAnswers = losesAnswer
        #expect(throws: SecretsFailure.self) { try run() }
        keyring.additionsLeft = nil
        let there = additions + (losesAnswer ? 1 : 0)
        #expect(try run() == ImportReport(brought: 6 - there, present: there))
        #expect(Set(keyring.stored) == expectation(6) && keyring.items.count == 6)
    }

    @Test func `an interruption after a collection was made makes no second one`() throws {
        source.addBox("work", .init(label: "Work"))
        source.put("a", [:], "1")
        keyring.additionsLeft = 1
        #expect(throws: SecretsFailure.self) { try run() }
        #expect(keyring.collections.count == 1 && keyring.items.isEmpty)
        keyring.additionsLeft = nil
        try run()
        #expect(keyring.collections.count == 1 && keyring.items.count == 1)
    }

    // MARK: items that are alike

    @Test(arguments: 0...4) func `twins all come, whatever interrupts them`(reads: Int) throws {
        source.addBox("login", .init(label: "Login"))
        for secret in ["one", "two", "two", "one"] { source.put("Twin", ["a": "1"], secret) }
        source.readsLeft = reads
        if reads < 4 { #expect(throws: SecretsFailure.self) { try run() } } else { try run() }
        source.readsLeft = nil
        for _ in 0..<2 {
            try run()
            #expect(keyring.stored.map(\.secret).sorted() == ["one", "one", "two", "two"])
        }
    }

    /// Some keyrings number their items anew at each start.
    @Test func `an item under another path is the same one, and one that took a path is not`() throws {
        source.addBox("login", .init(label: "Login"))
        let first = source.put("Twin", ["a": "1"], "one")
        let second = source.put("Twin", ["a": "1"], "two")
        source.readsLeft = 1
        #expect(throws: SecretsFailure.self) { try run() }
        source.readsLeft = nil
        source.change(first) { ($0.item.label, $0.secret) = ("Twin", "two") }
        source.boxes[0].box.items[1].secret = "one"
        #expect(second.hasSuffix("/2"))
        #expect(try run() == ImportReport(brought: 1, present: 1))
        #expect(keyring.stored.map(\.secret).sorted() == ["one", "two"])
    }

    @Test func `an item whose twin went away there is not taken for it`() throws {
        source.addBox("login", .init(label: "Login"))
        source.put("Twin", ["a": "1"], "one")
        source.put("Twin", ["a": "1"], "two")
        source.readsLeft = 1
        #expect(throws: SecretsFailure.self) { try run() }
        source.readsLeft = nil
        source.boxes[0].box.items.removeFirst()
        try run()
        #expect(keyring.stored.map(\.secret).sorted() == ["one", "two"])
    }

    @Test func `an equal item of a program's counts as there, and each one once`() throws {
        keyring.put("Mail", ["user": "me"], "a secret")
        source.addBox("login", .init(label: "Login"))
        source.put("Mail", ["user": "me"], "a secret")
        #expect(try run() == ImportReport(present: 1))
        source.put("Mail", ["user": "me"], "a secret", created: 8)
        #expect(try run() == ImportReport(brought: 1, present: 1))
        #expect(keyring.items.count == 2)
    }

    @Test(arguments: [
        ("Other", ["user": "me"], "a secret"), ("Mail", ["user": "you"], "a secret"),
        ("Mail", ["user": "me", "more": ""], "a secret"), ("Mail", ["user": "me"], "another secret"),
        ("Mail", ["user": "me"], ""), ("Ma\u{69}\u{308}l", ["user": "me"], "a secret"),
    ])
    func `an item that differs in anything is another one`(
        label: String, attributes: [String: String], secret: String
    ) throws {
        keyring.put(label == "Ma\u{69}\u{308}l" ? "Ma\u{EF}l" : "Mail", ["user": "me"], "a secret")
        source.addBox("login", .init(label: "Login"))
        source.put(label, attributes, secret)
        #expect(try run() == ImportReport(brought: 1))
        #expect(keyring.items.count == 2)
    }

    @Test func `an item to which gnome-keyring added a schema meanwhile is the same one`() throws {
        source.addBox("login", .init(label: "Login"))
        let path = source.put("Mail", ["user": "me"], "a secret")
        try run()
        source.change(path) { $0.item.attributes["xdg:schema"] = "org.freedesktop.Secret.Generic" }
        #expect(try run() == ImportReport(present: 1))
        keyring.put("Other", ["user": "me"], "a secret")
        source.put("Other", ["user": "me", "xdg:schema": "org.freedesktop.Secret.Generic"], "a secret")
        #expect(try run() == ImportReport(present: 2))
        source.put("Other", ["user": "me", "xdg:schema": "org.example.Other"], "a secret", created: 8)
        #expect(try run() == ImportReport(brought: 1, present: 2))
    }

    @Test func `an equal item with a rule is not read for a comparison`() throws {
        keyring.put("Mail", ["user": "me"], "a secret", rule: "passcode")
        source.addBox("login", .init(label: "Login"))
        source.put("Mail", ["user": "me"], "a secret")
        #expect(try run() == ImportReport(brought: 1) && keyring.readIDs.isEmpty)
    }

    // MARK: changes since

    @Test func `what changed there since comes again, in its former place`() throws {
        fill(2)
        try run()
        let path = source.all[0].item.path
        source.change(path) { held in
            (held.item.label, held.secret, held.item.modified) = ("New label", "new secret", 99)
        }
        #expect(try run() == ImportReport(replaced: 1, present: 1))
        #expect(
            Set(keyring.stored) == [
                StoredText("New label", "login", ["number": "0"], "new secret"),
                StoredText("Label 1", "login", ["number": "1"], "secret 1"),
            ])
        #expect(try run() == ImportReport(present: 2))
    }

    @Test func `what changed on both sides stays as it is here, and is named`() throws {
        fill(1)
        try run()
        let id = try #require(keyring.items.first?.item.id)
        keyring.change(id) { $0.item.contents?.modified += 1 }
        source.change(source.all[0].item.path) { ($0.secret, $0.item.modified) = ("new secret", 99) }
        let report = try run()
        #expect(report.replaced == 0 && report.brought == 0 && report.left.count == 1)
        #expect(report.left.first?.label == "Label 0" && report.left.first?.collection == "Login")
        #expect(Set(keyring.stored) == expectation(1))
    }

    // MARK: what cannot be brought

    @Test func `what cannot be read is named, and the others come`() throws {
        fill(3)
        source.change(source.all[1].item.path) { $0.item.isLocked = true }
        source.boxes[0].box.opens = false
        let report = try run()
        #expect(report.brought == 2 && report.left.map(\.label) == ["Label 1"])
        #expect(report.left.first?.path == source.all[1].item.path && report.left.first?.reason == "It is locked.")
        #expect(report.lines.last?.contains("“Label 1” of “Login”") == true, "\(report.lines)")
        source.boxes[0].box.opens = true
        #expect(try run() == ImportReport(brought: 1, present: 2))
    }

    @Test func `a collection that its person leaves locked is named once`() throws {
        fill(3)
        source.boxes[0].box.isLocked = true
        source.boxes[0].box.opens = false
        let report = try run()
        #expect(report.left.map(\.collection) == ["Login"] && report.left.first?.label == nil)
        #expect(keyring.items.isEmpty)
        source.boxes[0].box.opens = true
        #expect(try run() == ImportReport(brought: 3))
    }

    @Test func `items that are locked one by one are unlocked with one question`() throws {
        fill(3)
        for held in source.all { source.change(held.item.path) { $0.item.isLocked = true } }
        #expect(try run() == ImportReport(brought: 3))
        #expect(source.unlocked == [source.all.map(\.item.path)])
    }

    @Test func `an item that the daemon does not take is named, and the others come`() throws {
        fill(1)
        source.addBox("work", .init(label: "Work"))
        source.put("a", [:], "1")
        keyring.putCollection("Work", "", ["rule": "nonsense"])
        let report = try run()
        #expect(report.brought == 1 && report.left.map(\.label) == ["a"])
    }
}

@Suite("Marks of an import") struct ImportMarkTests {
    private static let collection = SourceCollection(path: "/a/login", label: "Login", isLocked: false, isDefault: true)

    private func item(_ attributes: [String: String], created: UInt64 = 7) -> SourceItem {
        SourceItem(
            path: "/a/login/1", label: "Mail", attributes: attributes, created: created, modified: 9, isLocked: false)
    }

    @Test func `a mark is read back`() throws {
        let mark = ImportMark(of: item(["a": "1"]), in: Self.collection)
        #expect(ImportMark(mark.text) == mark)
        #expect(mark.text.hasPrefix("import 1 ") && mark.text.hasSuffix(" 9 /a/login/1"))
        #expect(mark.identity.count == 64)
    }

    @Test func `another text is no mark`() {
        for text in [
            "", "import", "import 1 a 9", "import 2 a 9 /p", "import 1 a -9 /p", "import 1 a 9x /p", "a b c d e",
        ] {
            #expect(ImportMark(text) == nil, "\(text)")
        }
    }

    @Test func `what makes an item another one makes another identity`() {
        let items = [
            item([:]), item(["": ""]), item(["a": ""]), item(["": "a"]), item(["a": "1"]), item(["a1": ""]),
            item(["a": "1", "b": "2"]), item(["a": "1b2"]), item(["a": "1", "b2": ""]), item(["a": "1"], created: 8),
        ]
        #expect(Set(items.map { ImportMark(of: $0, in: Self.collection).identity }).count == items.count)
        let other = SourceCollection(path: "/a/work", label: "Login", isLocked: false, isDefault: true)
        #expect(
            ImportMark(of: items[0], in: other).identity != ImportMark(of: items[0], in: Self.collection).identity)
    }

    @Test func `path, label and time of change make no other identity`() {
        var other = item(["b": "2", "a": "1"])
        let identity = ImportMark(of: other, in: Self.collection).identity
        other.label = "New"
        other.modified = 99
        other.isLocked = true
        #expect(ImportMark(of: other, in: Self.collection).identity == identity)
        let moved = SourceItem(
            path: "/a/login/2", label: "", attributes: ["a": "1", "b": "2"], created: 7, modified: 0, isLocked: false)
        #expect(ImportMark(of: moved, in: Self.collection).identity == identity)
    }

    /// gnome-keyring adds one to items that were stored without.
    @Test func `a schema makes no other identity`() {
        let schema = item(["a": "1", "xdg:schema": "org.freedesktop.Secret.Generic"])
        #expect(
            ImportMark(of: schema, in: Self.collection).identity
                == ImportMark(of: item(["a": "1"]), in: Self.collection).identity)
    }
}

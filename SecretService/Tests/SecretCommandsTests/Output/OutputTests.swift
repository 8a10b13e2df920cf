import SecretItems
import Testing

@testable import SecretCommands

@Suite("What is shown") struct OutputTests {
    @Test func `names of programs steer no terminal, and stay in their places`() {
        #expect("a b".shownName == "a b" && "".shownName == "")
        #expect("a\u{1b}[2Jb".shownName == "a\\u{1b}[2Jb")
        #expect(" a  b ".shownName == "\\u{20}a \\u{20}b\\u{20}")
        #expect(
            "a\nb\tc\u{202e}d\u{a0}e\u{200b}f\u{2800}".shownName
                == "a\\u{a}b\\u{9}c\\u{202e}d\\u{a0}e\\u{200b}f\\u{2800}")
        #expect("א".shownName == "\u{2068}א\u{2069}")
        #expect("a”b".quotedName == "“a\\u{201d}b”")
    }

    @Test func `a table has columns, whatever stands in it`() {
        var table = ShownTable("A", "B")
        table.append("long\nname", "")
        table.append("x", "y")
        #expect(table.text == "A              B\nlong\\u{a}name\nx              y")
    }

    @Test func `a time has the usual forms, and nonsense has none`() {
        #expect(CommandOutput.json([ShownTime(0)]).contains("1970-01-01T00:00:00.000Z"))
        #expect(CommandOutput.json([ShownTime(.max)]).contains("null") && ShownTime(.max).text == "unknown time")
    }

    @Test func `a list shows rules and programs, and how many are locked`() {
        let keyring = PlayedKeyring()
        let work = keyring.putCollection("Work")
        keyring.put("Bank", ["service": "bank"], rule: "passcode", readers: ["/usr/bin/a"])
        keyring.put("Mail", in: work.description)
        var items = keyring.items.map(\.item)
        items.append(OwnedSecret(id: .random(), lock: .storeLocked, contents: nil))
        let document = ItemsDocument(items, OwnedCollections(keyring.collections.map(\.item)))
        #expect(document.lockedCount == 1 && document.items.map(\.collectionLabel) == ["Login", "Work"])
        #expect(document.items[0].requires == "passcode" && document.items[0].only == ["/usr/bin/a"])
        let lines = document.text.split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("LABEL  COLLECTION  REQUIRES  ONLY FOR"))
        #expect(lines[1].hasPrefix("Bank   Login       passcode  /usr/bin/a"))
        let json = CommandOutput.json(document)
        #expect(json.contains("\"requires\" : \"passcode\"") && json.contains("\"lockedCount\" : 1"))
        #expect(!json.contains("secret"), "\(json)")
    }

    @Test func `a report says what was not brought, and where it lies`() {
        var report = ImportReport(brought: 1, replaced: 2, present: 1, sessionCount: 1)
        report.left = [ImportReport.Left(label: "a\u{1b}b", path: "/p").because("It is locked.")]
        #expect(
            report.lines == [
                "Brought 1 item.", "Brought 2 items again, changed there since.", "1 item was here already.",
                "1 item of the collection session was left: such items end with the session.", "Not brought:",
                "  “a\\u{1b}b”: It is locked.",
            ])
        let json = CommandOutput.json(report)
        #expect(json.contains("\"brought\" : 1") && json.contains("\"path\" : \"/p\""))
    }
}

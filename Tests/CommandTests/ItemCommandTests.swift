import AccessControl
import ArgumentParser
import Foundation
import IndependentTools
import OstiaryClient
import Testing

@testable import ostiary

@Suite("Items, keys and applications on the command line")
struct ItemCommandTests {
    private let date = Date(timeIntervalSinceReferenceDate: 0)

    private func item(_ attributes: ItemAttributeValues, _ requirement: Requirement = .unrestricted) -> StoredItem {
        StoredItem(
            id: Data(repeating: 0xab, count: 16), itemClass: "genp", attributes: attributes,
            accessControl: AccessControl(availability: .whenUnlocked, reading: requirement), hasData: true)
    }

    @Test func `a certificate brings the attributes that programs find it by`() throws {
        let (der, pem) = try IndependentTool.withFolder { folder in
            let openssl = OpenSSLFolder(folder)
            try openssl.authority("root", serial: 77)
            let der = try openssl.run("x509", "-in", "@root.pem", "-outform", "DER")
            return (der, try openssl.run("x509", "-in", "@root.pem"))
        }
        let attributes = try CertificateItem.attributes(of: der)
        #expect(Set(attributes.keys).isSuperset(of: ["ctyp", "cenc", "subj", "issr", "slnr", "pkhh"]))
        #expect(attributes["slnr"] == .data(Data([77])) && attributes["issr"] == attributes["subj"])
        for bytes in [pem, Data(), der.dropLast(), der + [0]] {
            #expect(throws: CommandError.self) { try CertificateItem.attributes(of: Data(bytes)) }
        }
    }

    @Test(arguments: [
        ("account=me", "acct", ItemAttributeValue.text("me")), ("port=443", "port", .number(443)),
        ("port=", "port", .text("")), ("label=a=b", "labl", .text("a=b")), ("svce=x", "svce", .text("x")),
        ("account=443", "acct", .text("443")), ("sync=0", "sync", .number(0)), ("invi=1", "invi", .number(1)),
        ("scrp=-1", "scrp", .number(-1)), ("protocol=443", "ptcl", .number(443)),
        ("protocol=http", "ptcl", .text("http")),
        ("port=0443", "port", .text("0443")), ("port=+1", "port", .text("+1")), ("nega=", "nega", .text("")),
        ("available=when-unlocked", "pdmn", .text("aku")), ("available=after-first-unlock", "pdmn", .text("cku")),
        ("available=always", "pdmn", .text("dku")), ("pdmn=when-passcode-set", "pdmn", .text("akpu")),
        ("available=ak", "pdmn", .text("ak")), ("pdmn=dku", "pdmn", .text("dku")),
        ("type=9223372036854775808", "type", .text("9223372036854775808")),
        ("collection=login", "coll", .text("login")), ("kind=1", "kind", .number(1)),
        (".service=mail", ".service", .text("mail")), (".port=25", ".port", .text("25")), ("..=", "..", .text("")),
    ])
    func `an assignment names an attribute and has the type that Apple has`(
        text: String, key: String, value: ItemAttributeValue
    ) throws {
        let assignment = try #require(AttributeAssignment(argument: text))
        #expect(assignment.key == key)
        #expect(assignment.value == value)
    }

    @Test(arguments: [
        "port", "type", "crtr", "sync", "ptcl", "scrp", "invi", "nega", "cusi", "kcls", "bsiz", "esiz", "perm", "priv",
        "modi", "sens", "asen", "extr", "next", "encr", "decr", "drve", "sign", "vrfy", "snrc", "vyrc", "wrap", "unwp",
        "ctyp", "cenc",
    ])
    func `what Apple has as a number is one`(key: String) {
        #expect(AttributeAssignment(argument: "\(key)=7")?.value == .number(7))
    }

    @Test(arguments: [
        "account", "=x", "colour=red", "", "a=b", "created=2026-01-31", "modified=2026-01-31T12:00:00Z", "available=",
        "available=sometimes", "pdmn=akp", "available=Always", ".=x", ".",
    ])
    func `what names no attribute, or no class of availability, is refused`(text: String) {
        #expect(AttributeAssignment(argument: text) == nil)
    }

    @Test func `a selection that says nothing is refused before the daemon is asked`() throws {
        let delete = try #require(try Ostiary.parseAsRoot(["item", "delete"]) as? ItemDelete)
        #expect(throws: CommandError.self) { try delete.item.narrowSelection() }
        #expect(throws: CommandError.self) { try delete.run() }
    }

    @Test func `a new item is guarded unless the command says otherwise, and has a name`() throws {
        let add = try #require(try Ostiary.parseAsRoot(["item", "add", "--group", "g"]) as? ItemAdd)
        #expect(!add.unguarded && add.require == nil)
        #expect(throws: CommandError.self) { try add.item.attributesOfNewItem() }
        #expect(throws: CommandError.self) { try add.run() }
        let named = try #require(try Ostiary.parseAsRoot(["item", "add", "--label", "l"]) as? ItemAdd)
        #expect(try named.item.attributesOfNewItem() == ["labl": .text("l")])
    }

    @Test func `a star is looked for by the command, everything else by the daemon`() throws {
        let list = try #require(
            try Ostiary.parseAsRoot([
                "item", "list", "--service", "*.example.com", "--account", #"a\*"#, "--attribute", "port=443",
            ]) as? ItemList)
        let (selection, texts) = list.item.pattern
        #expect(selection.attributes == ["acct": .text("a*"), "port": .number(443)])
        #expect(texts == ["svce": TextPattern("*.example.com")])
    }

    @Test func `a selection holds what the options say, synchronizable or not`() throws {
        let find = try #require(
            try Ostiary.parseAsRoot(["item", "find", "--service", "s", "--attribute", "comment=c"]) as? ItemFind)
        #expect(
            find.item.selection
                == ItemSelection(
                    itemClass: "genp", attributes: ["svce": .text("s"), "icmt": .text("c")], synchronizable: .any))
    }

    @Test func `an id selects one item of any class, without attributes`() throws {
        let id = Data(0..<16)
        let find = try #require(
            try Ostiary.parseAsRoot(["item", "find", "--id", id.base64EncodedString()]) as? ItemFind)
        #expect(
            try find.item.narrowSelection(id: find.named.id)
                == ItemSelection(itemClass: "", synchronizable: .any, id: id))
        let both = try #require(
            try Ostiary.parseAsRoot(["item", "delete", "--id", id.hexadecimal, "--account", "a"]) as? ItemDelete)
        #expect(throws: CommandError.self) { try both.run() }
    }

    @Test(arguments: [
        (3, true, "3 generic passwords with the account “a” and the service “s”", ""),
        (1, true, "1 generic password with the account “a” and the service “s”", ""),
        (
            2, false, "at least 3 generic passwords with the account “a” and the service “s”",
            " More may be locked or under a rule."
        ),
        (
            0, false, "at least 1 generic password with the account “a” and the service “s”",
            " More may be locked or under a rule."
        ),
    ])
    func `a question says what is selected, and how many as far as it is known`(
        counted: Int, isComplete: Bool, words: String, note: String
    ) throws {
        let delete = try #require(
            try Ostiary.parseAsRoot(["item", "delete", "--service", "s", "--account", "a"]) as? ItemDelete)
        let count = ItemCount(counted: counted, isComplete: isComplete)
        #expect(delete.item.words(for: count) == words)
        #expect(ItemArguments.note(on: count, id: nil) == note)
        let id = Data(repeating: 0xab, count: 16)
        #expect(delete.item.words(for: count, id: id) == "the item with the id \(id.hexadecimal)")
        #expect(ItemArguments.note(on: count, id: id) == "")
    }

    @Test func `a text that steers the terminal is harmless in a question`() throws {
        let delete = try #require(
            try Ostiary.parseAsRoot(["item", "delete", "--attribute", "icmt=\u{1b}[2J", "--class", "internet"])
                as? ItemDelete)
        let words = delete.item.words(for: .one)
        #expect(words.hasPrefix("1 internet password with the comment “") && !words.contains("\u{1b}"))
    }

    @Test func `JSON tells bytes from text and shows no secret`() throws {
        let stored = item(["acct": .text("me"), "gena": .data(Data([0xff])), "type": .number(7), "cdat": .date(date)])
        let text = try JSONOutput.text(ItemListDocument([stored]), on: .oneLine)
        #expect(
            text == #"{"items":[{"attributes":{"acct":"me","cdat":"2001-01-01T00:00:00.000Z","gena":{"base64":"/w=="},"#
                + #""type":7},"class":"genp","hasSecret":true,"id":"q6urq6urq6urq6urq6urqw==","requires":"#
                + #""\#(Requirement.unrestricted)"}]}"#
        )
    }

    @Test func `items with free attributes are listed by label and collection, with the programs that they are for`() {
        let free = StoredItem(
            id: Data(count: 16), itemClass: "free",
            attributes: [
                "labl": .text("Mail"), "coll": .text("login"), "agrp": .text("g"), ".service": .text("imap"),
                "only": .text("/usr/bin/a\ncom.example.b"), "mdat": .date(date),
            ],
            accessControl: AccessControl(availability: .whenUnlocked, reading: .unrestricted), hasData: true)
        let lines = ItemListDocument([free]).text().split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines.count == 2 && lines[0].starts(with: ["LABEL", "COLLECTION", "REQUIRES", "ONLY", "FOR", "GROUP"]))
        #expect(lines[1].starts(with: ["Mail", "login", "unrestricted", "/usr/bin/a,", "com.example.b", "g"]))
    }

    @Test func `a question about items with free attributes says so`() throws {
        let delete = try #require(
            try Ostiary.parseAsRoot(["item", "delete", "--class", "free", "--attribute", ".service=mail"])
                as? ItemDelete)
        #expect(delete.item.selection.itemClass == "free")
        #expect(delete.item.selection.attributes == [".service": .text("mail")])
        #expect(delete.item.words(for: .one) == "1 free-form item with the .service “mail”")
        let several = ItemCount(counted: 2, isComplete: true)
        #expect(delete.item.words(for: several) == "2 free-form items with the .service “mail”")
    }

    @Test func `a label that steers the terminal is shown harmless`() {
        let text = ItemListDocument([item(["labl": .text("\u{1b}[2Jx")])]).text()
        #expect(!text.contains("\u{1b}"))
    }

    @Test(arguments: ["ab", "00ff10", ""])
    func `hexadecimal digits are read as they are written`(text: String) {
        #expect(Data(hexadecimal: text)?.hexadecimal == text)
    }

    @Test(arguments: ["a", "+1", "0x", "zz", " 1"])
    func `what is not hexadecimal is not read`(text: String) {
        #expect(Data(hexadecimal: text) == nil)
    }

    @Test(arguments: [([], ["i"]), (["a"], ["a", "i"]), (["i", "a"], ["i", "a"])])
    func `the id of a program is always one of its groups`(given: [String], shown: [String]) {
        let program = RegisteredApplication(
            path: "/p", applicationID: "i", accessGroups: given, label: "advisory", isChanged: false, isOfSystem: false)
        #expect(ApplicationListDocument([program]).applications[0].accessGroups == shown)
    }

    @Test func `a changed program says what to do`() {
        let changed = RegisteredApplication(
            path: "/p", applicationID: "i", accessGroups: ["a", "b"], label: "advisory", isChanged: true,
            isOfSystem: false)
        let text = ApplicationListDocument([changed]).text()
        #expect(text.contains("ostiary app adopt"))
        #expect(text.hasSuffix("\nadvisory: another program of yours could imitate it"))
    }

    @Test func `without a daemon nothing is read from a file that is no secret's`() throws {
        let folder = try CommandFolder()
        let empty = try CommandRun(["item", "add", "--service", "s", "--secret", "-"], in: folder)
        #expect(empty.status == 1)
        #expect(empty.errors.contains("is empty"))
    }
}

import AccessControl
import AuditLog
import Auditing
import Crypto
import Foundation
import Glibc
import OstiaryMessages
import Owners
import PromptProtocol
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals

/// Items whose attributes have names of the program's choice, as the Secret Service has them.
@Suite("Items with free attributes", .timeLimit(.minutes(10)))
struct FreeItemTests {
    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
    }

    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)

    private static func query(_ values: ItemValues = [:]) -> WireItemQuery { TestClient.query("free", values) }

    @discardableResult
    private func add(
        _ values: ItemValues, data: Data? = Data("data".utf8), accessControl: AccessControl? = nil
    ) throws -> Data {
        try client.addItem("free", values, data: data, accessControl: accessControl).itemID
    }

    private func found(_ values: ItemValues) throws -> [Data] {
        do { return try client.listItems(Self.query(values), attributes: false).map(\.itemID) } catch let refused
            as Refused
            where refused.code == .notFound
        { return [] }
    }

    /// The code and cause that `body` is refused with; nil when it is carried out.
    private func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "?") \(refused.cause)" }
    }

    // MARK: adding and finding

    private static let values: ItemValues = [
        ".service": .text("mail"), ".xdg:schema": .text("org.example.Mail"), "..": .text("a dot as name"),
        ".labl": .text("no label"), ".empty": .text(""), ".caf\u{e9} \u{1F511}": .text("na\u{EF}ve"),
        "labl": .text("Mail"), "coll": .text("login"), "mime": .text("text/plain"), "kind": .number(1),
    ]

    @Test func `an item comes back with its free attributes, byte by byte, and with what the store adds`() throws {
        let values = Self.values
        let added = try client.addItem("free", values, data: Data("secret".utf8))
        for restarted in [false, true] {
            if restarted { try fixture.restart() }
            let found = try fixture.client().findItems(Self.query())
            #expect(found.count == 1 && found[0].data == Data("secret".utf8))
            #expect(found[0].item.itemID == added.itemID && found[0].item.itemClass == "free")
            let shown = found[0].item.values
            for (name, value) in values { #expect(shown[name] == value, "\(name)") }
            #expect(shown["pdmn"] == .text("ak") && shown["sync"] == .number(0) && shown["cdat"] == shown["mdat"])
            #expect(shown.count == values.count + 5 && shown == added.values)
            let keys = found[0].item.attributes.map { Array($0.key.utf8) }
            #expect(keys.contains(Array(".caf\u{e9} \u{1F511}".utf8)))
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `an item without a kind is an item, and a kind is 0 or 1`() throws {
        let id = try add([".a": .text("b")])
        #expect(try found(["kind": .number(0)]) == [id] && found(["kind": .number(1)]) == [])
        for kind: WireAttribute.OneOf_Value in [.number(2), .number(-1), .text("0")] {
            #expect(try refusal { try add(["kind": kind]) } == "invalidParameter item.kind")
            #expect(
                try refusal { try client.updateItems(Self.query(), ["kind": kind]) } == "invalidParameter item.kind")
        }
        #expect(try client.updateItems(Self.query(), ["kind": .number(1)]) == 1)
        #expect(try found(["kind": .number(1)]) == [id])
    }

    @Test func `any part of the attributes finds an item, and each value counts with its own name`() throws {
        let first = try add([".service": .text("mail"), ".user": .text("alice"), ".port": .text("25")])
        let second = try add([".service": .text("mail"), ".user": .text("bob")])
        #expect(try found([".service": .text("mail")]) == [first, second])
        #expect(try found([".user": .text("bob")]) == [second])
        #expect(try found([".service": .text("mail"), ".port": .text("25")]) == [first])
        #expect(try found([:]) == [first, second])
        for wrong: ItemValues in [
            [".user": .text("mail")], [".service": .text("Mail")], [".Service": .text("mail")],
            [".service": .text("mail"), ".user": .text("carol")], [".service": .text("")], [".servic": .text("email")],
            [".absent": .text("")],
            ["labl": .text("mail")],
        ] {
            #expect(try found(wrong) == [], "\(wrong)")
        }
    }

    @Test func `where a name ends and its value begins is part of what finds an item`() throws {
        for (name, value) in [(".ab", "c"), (".a", "bc"), (".abc", ""), (".a", "c")] {
            try add([name: .text(value), "labl": .text("\(name) is \(value)")])
        }
        for (name, value) in [(".ab", "c"), (".a", "bc"), (".abc", ""), (".a", "c")] {
            let found = try client.findItems(Self.query([name: .text(value)]))
            #expect(found.map { $0.item.values["labl"] } == [.text("\(name) is \(value)")])
        }
    }

    @Test func `an item is of its class, also where another one has an attribute that looks the same`() throws {
        let password = try client.addItem("genp", ["labl": .text("a")]).itemID
        let id = try add(["labl": .text("a")])
        #expect(try found(["labl": .text("a")]) == [id])
        #expect(try client.findItems(TestClient.query("genp", ["labl": .text("a")])).map(\.item.itemID) == [password])
    }

    @Test func `several items may have the same attributes, and each is changed and deleted alone`() throws {
        let values: ItemValues = [".service": .text("mail"), "labl": .text("Mail")]
        let ids = try (0..<3).map { try add(values, data: Data("data \($0)".utf8)) }
        #expect(Set(ids).count == 3)
        #expect(try found(values) == ids)
        #expect(try client.updateItems(.with { $0.itemID = ids[1] }, data: Data("changed".utf8)) == 1)
        let data = try client.findItems(Self.query(values)).map { String(decoding: $0.data, as: UTF8.self) }
        #expect(data == ["data 0", "changed", "data 2"])
        #expect(try client.deleteItems(.with { $0.itemID = ids[0] }) == 1)
        try fixture.restart()
        #expect(try fixture.client().findItems(Self.query(values)).map(\.item.itemID) == [ids[1], ids[2]])
    }

    @Test(arguments: [nil, 0, 1] as [Int?]) func `no data, empty data and data are three things`(size: Int?) throws {
        try fixture.setPasscode()
        let data = size.map { Data(repeating: 7, count: $0) }
        try add([".a": .text("free")], data: data)
        try add([".a": .text("ruled")], data: data, accessControl: .item(.passcode))
        fixture.prompter.prepare([Self.passcode])
        for name in ["free", "ruled"] {
            let found = try client.findItems(Self.query([".a": .text(name)]))
            #expect(found.count == 1 && found[0].item.hasData_p == (data != nil) && found[0].data == data ?? Data())
        }
        #expect(try client.updateItems(Self.query([".a": .text("free")]), data: Data()) == 1)
        let emptied = try client.findItems(Self.query([".a": .text("free")]))
        #expect(emptied.map(\.item.hasData_p) == [true] && emptied[0].data.isEmpty)
    }

    // MARK: what is refused

    @Test(arguments: ["genp", "inet", "keys", "cert"])
    func `no other class has free attributes, and none of the new ones`(itemClass: String) throws {
        for name in [".service", ".", ".labl", "coll", "mime", "kind", "only"] {
            let values: ItemValues = [name: .text("x")]
            #expect(
                try refusal { try client.addItem(itemClass, values) } == "noSuchAttribute item.attribute", "\(name)")
            let query = TestClient.query(itemClass, values)
            #expect(try refusal { _ = try client.findItems(query) } == "noSuchAttribute item.attribute")
        }
        try client.addItem(itemClass, ["labl": .text("a")])
        let query = TestClient.query(itemClass)
        #expect(
            try refusal { try client.updateItems(query, [".a": .text("x")]) } == "noSuchAttribute item.attribute")
        #expect(
            try refusal { try client.updateItems(query, ["labl": .text("b")], replacingFree: true) }
                == "invalidParameter item.attribute")
        #expect(try client.findItems(query).map { $0.item.values["labl"] } == [.text("a")])
    }

    @Test func `the class has no attribute of a password, key or certificate`() throws {
        for name in ["acct", "svce", "srvr", "atag", "klbl", "ctyp", "zzzz", "", "service"] {
            #expect(try refusal { try add([name: .text("x")]) } == "noSuchAttribute item.attribute", "\(name)")
        }
    }

    @Test func `a free attribute is a text`() throws {
        for value: WireAttribute.OneOf_Value in [.data(Data("x".utf8)), .number(1), .date(1)] {
            let refused = #expect(throws: Refused.self) { try add([".marker": value]) }
            #expect(refused?.code == .invalidParameter && refused?.cause == "item.value")
            #expect(refused?.explanation.contains("marker") == false, "a program's word is not repeated")
        }
    }

    @Test func `a name has 1 to 1,024 bytes, and none of them is 0`() throws {
        let longest = "." + String(repeating: "\u{e9}", count: 512)
        #expect(longest.utf8.count == 1025)
        let id = try add([longest: .text("x"), ".n": .text("y")])
        #expect(try found([longest: .text("x")]) == [id])
        for name in [".", longest + "x", ".\u{0}", ".a\u{0}b"] {
            let values: ItemValues = [name: .text("x")]
            #expect(try refusal { try add(values) } == "invalidParameter item.attribute-name")
            #expect(try refusal { _ = try found(values) } == "invalidParameter item.attribute-name")
            #expect(
                try refusal { try client.updateItems(Self.query(), values) } == "invalidParameter item.attribute-name")
        }
    }

    @Test func `two spellings of one name are one name, and the later one counts`() throws {
        let (composed, decomposed) = (".caf\u{e9}", ".cafe\u{301}")
        let both = [composed, decomposed].map { key in WireAttribute.with { ($0.key, $0.value) = (key, .text("x")) } }
        let request = WireAddItemRequest.with { ($0.itemClass, $0.attributes) = ("free", both) }
        #expect(try refusal { try client.call(.addItem(request)) } == "invalidParameter item.attribute")
        let id = try add([composed: .text("x")])
        #expect(try found([composed: .text("x")]) == [id] && found([decomposed: .text("x")]) == [])
        #expect(try client.updateItems(Self.query(), [decomposed: .text("x")]) == 1)
        #expect(try found([composed: .text("x")]) == [] && found([decomposed: .text("x")]) == [id])
    }

    @Test func `a request has 64 attributes, and an item 64 free ones, however it comes to them`() throws {
        func values(_ numbers: Range<Int>) -> ItemValues {
            Dictionary(uniqueKeysWithValues: numbers.map { (".\($0)", .text("x")) })
        }
        #expect(try refusal { try add(values(0..<65)) } == "tooLarge item.size")
        try add(values(0..<60))
        #expect(try client.updateItems(Self.query(), values(60..<64)) == 1)
        #expect(try refusal { try client.updateItems(Self.query(), values(64..<65)) } == "tooLarge item.size")
        let shown = try client.findItems(Self.query())[0].item.values
        #expect(shown.count == 64 + 6 && shown[".63"] == .text("x") && shown[".64"] == nil)
        // All of them find the item, in parts that a request can hold.
        #expect(try found(values(0..<60)).count == 1 && found(values(4..<64)).count == 1)
        #expect(try client.updateItems(Self.query(), values(64..<65), replacingFree: true) == 1)
        #expect(try client.findItems(Self.query())[0].item.values.count == 1 + 6)
        try fixture.restart()
        #expect(try fixture.client().findItems(Self.query([".64": .text("x")])).count == 1)
    }

    @Test func `names count among the bytes of attributes`() throws {
        let name = "." + String(repeating: "n", count: 1024)
        func values(_ count: Int) -> ItemValues {
            Dictionary(uniqueKeysWithValues: (0..<count).map { (String(name.dropLast(3)) + "\(100 + $0)", .text("")) })
        }
        // More than 64 KiB in names alone.
        #expect(try refusal { try add(values(64)) } == "tooLarge item.size")
        let large = String(repeating: "v", count: 65_536 - 62 * 1025 - 1000)
        try add(values(62).merging(["labl": .text(large)]) { $1 })
        let more: ItemValues = [".more": .text(String(repeating: "m", count: 1000))]
        #expect(try refusal { try client.updateItems(Self.query(), more) } == "tooLarge item.size")
    }

    @Test func `an item with free attributes stands for no key, and one under a rule does not synchronize`() throws {
        let key = try client.createKey(.p256, .item(.unrestricted)).keyID
        #expect(
            try refusal { try client.addItem("free", [".a": .text("b")], data: nil, keyID: key) }
                == "invalidParameter item.key")
        try fixture.setPasscode()
        #expect(
            try refusal { try add(["sync": .number(1)], accessControl: .item(.passcode)) }
                == "invalidParameter item.synchronizable")
    }

    // MARK: updating

    @Test func `an update adds free attributes, or replaces all of them`() throws {
        let id = try add([".a": .text("1"), ".b": .text("2"), "labl": .text("old"), "coll": .text("login")])
        #expect(try client.updateItems(Self.query(), [".b": .text("3"), ".c": .text("")]) == 1)
        var shown = try client.findItems(Self.query())[0].item.values
        #expect(shown[".a"] == .text("1") && shown[".b"] == .text("3") && shown[".c"] == .text(""))
        #expect(
            try client.updateItems(Self.query(), [".d": .text("4"), "labl": .text("new")], replacingFree: true) == 1)
        shown = try client.findItems(Self.query())[0].item.values
        #expect(shown.keys.filter { $0.hasPrefix(".") } == [".d"] && shown["labl"] == .text("new"))
        #expect(shown["coll"] == .text("login") && shown["kind"] == .number(0) && shown["mdat"] != shown["cdat"])
        #expect(try found([".d": .text("4")]) == [id])
        for former: ItemValues in [[".a": .text("1")], [".b": .text("2")], [".b": .text("3")], [".c": .text("")]] {
            #expect(try found(former) == [])
        }
        #expect(try client.updateItems(Self.query(), replacingFree: true) == 1)
        shown = try client.findItems(Self.query())[0].item.values
        #expect(!shown.keys.contains { $0.hasPrefix(".") } && shown["labl"] == .text("new"))
        #expect(try client.itemData(Self.query()) == "data")
    }

    @Test func `an update under a rule asks for it, whatever it changes`() throws {
        try fixture.setPasscode()
        try add([".a": .text("1"), "labl": .text("old")], accessControl: .item(.passcode))
        let changes: [() throws -> Int] = [
            { try client.updateItems(Self.query(), ["labl": .text("new")]) },
            { try client.updateItems(Self.query(), [".a": .text("2")], replacingFree: true) },
            { try client.updateItems(Self.query(), replacingFree: true) },
        ]
        for change in changes {
            fixture.prompter.prepare([.cancel])
            #expect(try refusal { _ = try change() } == "userCancel prompt.cancelled")
            #expect(fixture.prompter.asked.count == 1)
        }
        #expect(try found([".a": .text("1"), "labl": .text("old")]).count == 1)
        for change in changes {
            fixture.prompter.prepare([Self.passcode])
            #expect(try change() == 1 && fixture.prompter.asked.count == 1)
        }
    }

    // MARK: lists

    @Test func `a list shows the attributes of a ruled item while its class is open, and never its data`() throws {
        try fixture.setPasscode()
        let values: ItemValues = [".a": .text("1"), "labl": .text("l"), "coll": .text("c"), "mime": .text("m")]
        try add(values, accessControl: .item(.passcode))
        try client.addItem("genp", ["acct": .text("a")], accessControl: .item(.passcode))
        let recorded = fixture.broker.store.log.audit.recordCount
        fixture.prompter.prepare([])
        let listed = try client.listItems(Self.query())
        #expect(listed.map(\.lock) == [.ruled] && listed[0].hasData_p && listed[0].dataByteCount == 0)
        for (name, value) in values { #expect(listed[0].values[name] == value) }
        #expect(listed[0].values["cdat"] != nil && listed[0].values["mdat"] != nil && !listed[0].accessControl.isEmpty)
        let password = try client.listItems(TestClient.query("genp"))
        #expect(password.map(\.lock) == [.ruled] && password[0].attributes.isEmpty, "other classes show none")
        #expect(try client.listItems(Self.query(), attributes: false)[0].attributes.isEmpty)
        try client.lock()
        let closed = try client.listItems(Self.query())
        #expect(closed.map(\.lock) == [.closed] && closed[0].attributes.isEmpty && closed[0].hasData_p)
        #expect(try found([".a": .text("1")]).count == 1, "it is found while it is locked")
        #expect(fixture.prompter.asked.isEmpty)
        // The lock alone is in the log.
        #expect(fixture.broker.store.log.audit.recordCount - recorded <= 1)
    }

    @Test func `a find that is no list asks for the rule, also for attributes alone`() throws {
        try fixture.setPasscode()
        try add([".a": .text("1")], accessControl: .item(.passcode))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { _ = try client.findItems(Self.query(), data: false) } == "userCancel prompt.cancelled")
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.findItems(Self.query(), data: false)[0].item.values[".a"] == .text("1"))
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `a question names an item by its label, and a locked one as a secret`() throws {
        try fixture.setPasscode()
        try add([".a": .text("1"), "labl": .text("Mail")], accessControl: .item(.passcode))
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.itemData(Self.query()) == "data")
        #expect(fixture.prompter.asked.map { $0.objects?.names.map(\.string) } == [["Mail"]])
        try client.lock()
        fixture.prompter.prepare([Self.passcode])
        #expect(try client.itemData(Self.query()) == "data")
        let names = try #require(fixture.prompter.asked.first?.objects).names.map(\.string)
        #expect(names.count == 1 && names[0].hasPrefix("locked secret "))
    }

    // MARK: watches and cancellation

    @Test func `a watch of free attributes tells of what they match, also while the store is locked`() throws {
        try fixture.setPasscode()
        let watcher = try fixture.client()
        func news() throws -> WireItemNews {
            let request = WireWatchItemsRequest.with { $0.queries = [Self.query([".service": .text("mail")])] }
            guard case .itemNews(let news) = try watcher.call(.watchItems(request)).body else {
                throw TestClient.UnexpectedAnswer()
            }
            return news
        }
        func change(_ id: Data, _ kind: WireItemChange.Kind) -> WireItemChange {
            .with { ($0.itemID, $0.itemClass, $0.kind) = (id, "free", kind) }
        }
        #expect(try news().looksAgain)
        let id = try add([".service": .text("mail")])
        #expect(try news().changes == [change(id, .added)])
        try add([".service": .text("news")])
        try client.updateItems(.with { $0.itemID = id }, [".user": .text("alice")])
        #expect(try news().changes == [change(id, .changed)])
        try client.updateItems(.with { $0.itemID = id }, [".user": .text("alice")], replacingFree: true)
        #expect(try news().changes == [change(id, .removed)], "it ceased to match")
        try client.updateItems(.with { $0.itemID = id }, [".service": .text("mail")])
        #expect(try news().changes == [change(id, .added)])
        try client.lock()
        #expect(try news().wasLocked)
        try client.deleteItems(.with { $0.itemID = id })
        #expect(try news().changes == [change(id, .removed)])
    }

    @Test func `a cancelled request ends its question and gives nothing`() throws {
        try fixture.setPasscode()
        let id = try add([".a": .text("1")], accessControl: .item(.passcode))
        let use = TestClient.use()
        let requests: [WireRequest.OneOf_Body] = [
            .findItems(.with { ($0.query.itemID, $0.returnsData, $0.use) = (id, true, use) }),
            .updateItems(.with { ($0.query.itemID, $0.replacesFreeAttributes, $0.use) = (id, true, use) }),
        ]
        for request in requests {
            fixture.prompter.prepare([.wait])
            let asked = try client.send(request)
            while fixture.prompter.asked.isEmpty { usleep(500) }
            try client.send(.cancel(.with { $0.requestID = asked }))
            let answers = [try client.answer(), try client.answer()]
            let ended = try #require(answers.first { $0.id == asked })
            #expect(ended.refused?.code == .appCancel && ended.tail.isEmpty)
        }
        #expect(try found([".a": .text("1")]) == [id])
    }

    // MARK: files

    private static func digits(of bytes: Data) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test func `no file of the store holds a free attribute, nor a digest that another program could compute`() throws {
        let (name, value) = ("namemarker", "valuemarker")
        try add([".\(name)": .text(value), "labl": .text("labelmarker"), "coll": .text("collmarker")])
        try client.updateItems(Self.query(), [".\(name)": .text(value)], replacingFree: true)
        _ = try client.findItems(Self.query([".\(name)": .text(value)]))
        fixture.close()
        var traces = [name, value, "labelmarker", "collmarker"].map { Data($0.utf8) }
        for text in [value, name, name + value, "\(name)=\(value)", "\(name)\u{0}\(value)"] {
            let bytes = Data(text.utf8)
            let digests = [
                Data(Insecure.MD5.hash(data: bytes)), Data(Insecure.SHA1.hash(data: bytes)),
                Data(SHA256.hash(data: bytes)), Data(SHA512.hash(data: bytes)),
            ]
            traces += digests.map { $0.prefix(8) } + digests.map { Data(Self.digits(of: $0.prefix(8)).utf8) }
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture.stateDirectory)
        #expect(files.contains("vault.sqlite"))
        for file in files {
            let content = try Data(contentsOf: URL(fileURLWithPath: fixture.stateDirectory + "/" + file))
            for (number, trace) in traces.enumerated() {
                #expect(content.range(of: trace) == nil, "\(file): trace \(number)")
            }
        }
    }
}

import AccessControl
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import SecretMemory
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals

@Suite("Keychain items")
struct ItemTests {
    let fixture: BrokerFixture
    let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
    }

    private static let login: ItemValues = ["acct": .text("alice"), "svce": .text("mail")]

    // MARK: adding and finding

    @Test func `an item comes back with its data, its attributes as given, and what the store adds`() throws {
        let values: ItemValues = [
            "acct": .text("alice"), "svce": .data(Data("mail".utf8)), "gena": .number(-5), "invi": .number(1),
            "labl": .text(""), "type": .text("note"),
        ]
        let added = try client.addItem(values, data: Data("secret".utf8))
        for restarted in [false, true] {
            if restarted { try fixture.restart() }
            let found = try fixture.client().findItems(TestClient.query())
            #expect(found.count == 1 && found[0].data == Data("secret".utf8))
            #expect(found[0].item.itemID == added.itemID && added.itemID.count == 16)
            #expect(found[0].item.itemClass == "genp" && found[0].item.hasData_p)
            let shown = found[0].item.values
            for (name, value) in values { #expect(shown[name] == value) }
            #expect(shown["sync"] == .number(0) && shown["pdmn"] == .text("ak"))
            #expect(shown["agrp"] == .text(try fixture.client().status().caller.program))
            #expect(shown["cdat"] == shown["mdat"])
            guard case .date(let created)? = shown["cdat"] else {
                Issue.record("there is no date of creation")
                return
            }
            #expect(abs(created - Date().timeIntervalSinceReferenceDate) < 600)
            #expect(shown.count == values.count + 5 && shown == added.values)
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `what is not asked for is not shown`() throws {
        try client.addItem(Self.login)
        let found = try client.findItems(TestClient.query(), data: false, attributes: false)
        #expect(found.count == 1 && found[0].data.isEmpty)
        #expect(found[0].item.attributes.isEmpty && found[0].item.accessControl.isEmpty && found[0].item.hasData_p)
        #expect(try client.addItem(["acct": .text("b")], returnsAttributes: false).attributes.isEmpty)
    }

    @Test(arguments: [nil, 0, 1, 100_000, WireLimits.tailByteCount] as [Int?]) func `data of any size up to the limit`(
        size: Int?
    ) throws {
        let data = size.map { Data(repeating: 0xa5, count: $0) }
        try client.addItem(Self.login, data: data)
        let found = try client.findItems(TestClient.query("genp", Self.login))
        #expect(found.count == 1 && found[0].data == data ?? Data() && found[0].item.hasData_p == (data != nil))
    }

    @Test func `values are compared by their bytes, whatever they were given as`() throws {
        try client.addItem(["acct": .data(Data("alice".utf8)), "svce": .number(0x6162_6364), "scrp": .number(80)])
        #expect(try client.findItems(TestClient.query("genp", ["acct": .text("alice")])).count == 1)
        #expect(try client.findItems(TestClient.query("genp", ["svce": .text("dcba")])).count == 1)
        #expect(
            try refusal { _ = try client.findItems(TestClient.query("genp", ["acct": .text("Alice")])) } == .notFound)
        #expect(try refusal { _ = try client.findItems(TestClient.query("genp", ["scrp": .text("80")])) } == .notFound)
    }

    @Test func `all attributes of an answer find the item again`() throws {
        try client.addItem("inet", ["srvr": .text("example.com"), "port": .number(443), "ptcl": .text("htps")])
        let shown = try client.findItems(TestClient.query("inet"))[0].item.values
        #expect(try client.findItems(TestClient.query("inet", shown)).count == 1)
        var other = shown
        other["mdat"] = .date(1)
        #expect(try refusal { _ = try client.findItems(TestClient.query("inet", other)) } == .notFound)
    }

    @Test(arguments: ["genp", "inet", "keys", "cert"])
    func `attributes that are the store's to say are taken and not kept`(itemClass: String) throws {
        let given: ItemValues = [
            "tomb": .number(0), "sha1": .data(Data(count: 20)), "UUID": .text("of a row"), "sysb": .number(1),
        ]
        let shown = try client.addItem(itemClass, given.merging(["labl": .text("a")]) { $1 }).values
        #expect(shown["sysb"] == .number(1) && shown["labl"] == .text("a"))
        for name in ["tomb", "sha1", "UUID"] { #expect(shown[name] == nil) }
        try client.updateItems(TestClient.query(itemClass), given.merging(["labl": .text("b")]) { $1 })
        let changed = try client.findItems(TestClient.query(itemClass))[0].item.values
        #expect(changed["labl"] == .text("b") && changed.count == shown.count)
        for (name, value) in given where name != "sysb" {
            #expect(try refusal { _ = try client.findItems(TestClient.query(itemClass, [name: value])) } == .notFound)
        }
    }

    @Test(arguments: ["genp", "inet", "keys", "cert"])
    func `nothing is stored as what was deleted, and nothing is found as that`(itemClass: String) throws {
        try client.addItem(itemClass, ["labl": .text("a")])
        for tomb: WireAttribute.OneOf_Value in [.number(1), .number(-1), .text("0"), .text("1")] {
            #expect(try refusal { _ = try client.findItems(TestClient.query(itemClass, ["tomb": tomb])) } == .notFound)
            #expect(try refusal { try client.addItem(itemClass, ["tomb": tomb]) } == .invalidParameter)
            let query = TestClient.query(itemClass)
            #expect(try refusal { try client.updateItems(query, ["tomb": tomb]) } == .invalidParameter)
        }
        #expect(try client.findItems(TestClient.query(itemClass)).count == 1)
    }

    @Test func `an item is found by its identifier alone, in its groups only`() throws {
        let id = try client.addItem(["sync": .number(1), "acct": .text("a")]).itemID
        let query = WireItemQuery.with { $0.itemID = id }
        #expect(try client.findItems(query).map(\.item.itemID) == [id])
        for foreign in [Data(count: 16), Data(id.reversed())] {
            #expect(try refusal { _ = try client.findItems(.with { $0.itemID = foreign }) } == .notFound)
        }
        #expect(try refusal { _ = try client.findItems(.with { $0.itemID = id.dropLast() }) } == .invalidParameter)
        #expect(try client.deleteItems(query) == 1)
    }

    @Test func `synchronizable items are others, and found when asked for`() throws {
        for sync in 0...1 as ClosedRange<Int64> { try client.addItem(["acct": .text("a"), "sync": .number(sync)]) }
        func count(_ synchronizable: WireSynchronizable) throws -> Int {
            try client.findItems(TestClient.query(synchronizable: synchronizable)).count
        }
        #expect(try (count(.unspecified), count(.yes), count(.any)) == (1, 1, 2))
        #expect(try client.findItems(TestClient.query())[0].item.values["sync"] == .number(0))
    }

    @Test func `a host finds itself and what is below it`() throws {
        for (index, server) in ["example.com", "www.example.com", "notexample.com", "WWW.EXAMPLE.COM"].enumerated() {
            try client.addItem("inet", ["srvr": .text(server), "port": .number(Int64(index))])
        }
        try client.addItem("inet", ["srvr": .data(Data("example.com".utf8)), "path": .text("p")])
        func found(_ host: String) throws -> [Int64] {
            try client.findItems(
                .with {
                    $0.itemClass = "inet"
                    $0.hostOrSubdomainOf = host
                }
            ).compactMap { if case .number(let port)? = $0.item.values["port"] { port } else { nil } }
        }
        #expect(try found("example.com") == [0, 1])
        #expect(try found("www.example.com") == [1])
        #expect(try refusal { _ = try found("com.") } == .notFound)
        #expect(
            try refusal {
                _ = try client.findItems(
                    .with {
                        $0.itemClass = "genp"
                        $0.hostOrSubdomainOf = "example.com"
                    })
            } == .invalidParameter)
    }

    // MARK: order and pages

    @Test func `items come in the order in which they were added, page by page`() throws {
        let names = (0..<1203).map { "account \($0)" }
        for name in names { try client.addItem(["acct": .text(name)], data: Data(name.utf8), returnsAttributes: false) }
        #expect(try client.findItems(TestClient.query()).map { String(decoding: $0.data, as: UTF8.self) } == names)
        let first = try client.page(TestClient.query(), limit: 3)
        #expect(first.items.count == 3 && first.next == 0)
        #expect(try client.page(TestClient.query(), limit: 1203 + 1, attributes: false).next != 0)
    }

    @Test func `large items share pages as far as a frame holds them`() throws {
        let sizes = [700_000, 300_000, 100_000, 1_000_000, 1_048_576, 10]
        for (index, size) in sizes.enumerated() {
            try client.addItem(
                ["acct": .number(Int64(index)), "icmt": .data(Data(repeating: UInt8(index), count: 60_000))],
                data: Data(repeating: UInt8(index), count: size))
        }
        let found = try client.findItems(TestClient.query())
        #expect(found.map(\.data.count) == sizes)
        #expect(found.enumerated().allSatisfy { index, item in item.data.allSatisfy { $0 == UInt8(index) } })
    }

    // MARK: uniqueness

    struct Twin: Sendable {
        let itemClass: String
        let values: ItemValues
        let change: ItemValues
        let isTwin: Bool
    }

    static let twins: [Twin] = [
        Twin(itemClass: "genp", values: login, change: [:], isTwin: true),
        Twin(
            itemClass: "genp", values: login, change: ["pdmn": .text("ck"), "labl": .text("x"), "gena": .text("y")],
            isTwin: true),
        Twin(itemClass: "genp", values: login, change: ["acct": .data(Data("alice".utf8))], isTwin: true),
        Twin(itemClass: "genp", values: [:], change: ["acct": .text(""), "svce": .data(Data())], isTwin: true),
        Twin(itemClass: "genp", values: login, change: ["acct": .text("bob")], isTwin: false),
        Twin(itemClass: "genp", values: login, change: ["sync": .number(1)], isTwin: false),
        Twin(itemClass: "genp", values: login, change: ["vwht": .text("x")], isTwin: false),
        Twin(
            itemClass: "inet", values: ["srvr": .text("a")], change: ["port": .number(0), "path": .text("")],
            isTwin: true),
        Twin(itemClass: "inet", values: ["srvr": .text("a")], change: ["port": .text("0")], isTwin: false),
        Twin(itemClass: "inet", values: ["srvr": .text("a")], change: ["atyp": .text("dflt")], isTwin: false),
        Twin(itemClass: "keys", values: ["klbl": .data(Data([1]))], change: ["perm": .number(1)], isTwin: true),
        Twin(itemClass: "keys", values: ["klbl": .data(Data([1]))], change: ["kcls": .number(1)], isTwin: false),
        Twin(itemClass: "keys", values: ["klbl": .data(Data([1]))], change: ["sdat": .date(0)], isTwin: true),
        Twin(itemClass: "cert", values: ["slnr": .data(Data([1]))], change: ["subj": .data(Data([2]))], isTwin: true),
        Twin(itemClass: "cert", values: ["slnr": .data(Data([1]))], change: ["issr": .data(Data([2]))], isTwin: false),
    ]

    @Test(arguments: twins) func `two items are one when what identifies them is the same`(twin: Twin) throws {
        try client.addItem(twin.itemClass, twin.values)
        let other = twin.values.merging(twin.change) { $1 }
        let answer = try refusal { try client.addItem(twin.itemClass, other, data: Data("other".utf8)) }
        #expect(answer == (twin.isTwin ? .duplicate : nil))
        let found = try client.findItems(TestClient.query(twin.itemClass, synchronizable: .any))
        #expect(found.count == (twin.isTwin ? 1 : 2) && found[0].data == Data("data".utf8))
    }

    // MARK: updating

    @Test func `an update changes what it says, the date, and nothing else`() throws {
        let added = try client.addItem(Self.login.merging(["labl": .text("old"), "gena": .text("kept")]) { $1 })
        #expect(try client.updateItems(TestClient.query("genp", Self.login), ["labl": .text("new")]) == 1)
        let found = try client.findItems(TestClient.query())[0]
        #expect(found.item.itemID == added.itemID && found.data == Data("data".utf8))
        var expected = added.values
        expected["labl"] = .text("new")
        expected["mdat"] = found.item.values["mdat"]
        #expect(found.item.values == expected && added.values["mdat"] != expected["mdat"])
        #expect(try client.findItems(TestClient.query("genp", ["labl": .text("new")])).count == 1)
        #expect(try refusal { _ = try client.findItems(TestClient.query("genp", ["labl": .text("old")])) } == .notFound)
        try client.updateItems(TestClient.query(), data: Data("fresh".utf8))
        #expect(try client.itemData(TestClient.query("genp", Self.login)) == "fresh")
        try client.updateItems(TestClient.query())
        #expect(try client.itemData(TestClient.query()) == "fresh")
        try fixture.restart()
        #expect(try fixture.client().itemData(TestClient.query("genp", Self.login)) == "fresh")
    }

    @Test func `an update of many changes all of them or none`() throws {
        for name in ["a", "b", "c"] {
            try client.addItem(["acct": .text(name), "svce": .text("s")], data: Data(name.utf8))
        }
        let before = try client.findItems(TestClient.query())
        #expect(try refusal { try client.updateItems(TestClient.query(), ["acct": .text("same")]) } == .duplicate)
        #expect(try client.findItems(TestClient.query()) == before)
        #expect(try client.updateItems(TestClient.query(), ["svce": .text("t")], data: Data("x".utf8)) == 3)
        #expect(
            try client.findItems(TestClient.query("genp", ["svce": .text("t")])).map(\.data)
                == Array(repeating: Data("x".utf8), count: 3))
    }

    @Test func `an update of more than can be held is refused, and changes nothing`() throws {
        let large = Data(count: ItemRequestLimits.dataByteCount)
        for number in 0...ItemRequestLimits.updateByteCount / large.count {
            try client.addItem(["acct": .text("\(number)")], data: large)
        }
        #expect(try refusal { try client.updateItems(TestClient.query(), ["labl": .text("x")]) } == .tooLarge)
        #expect(try client.updateItems(TestClient.query("genp", ["acct": .text("0")]), ["labl": .text("x")]) == 1)
        #expect(try client.page(TestClient.query("genp", ["labl": .text("x")]), data: false).items.count == 1)
    }

    @Test func `waiting updates hold no more together than one may, and a small one is made beside them`() throws {
        try fixture.setPasscode()
        let half = ItemRequestLimits.updateByteCount / 2 / ItemRequestLimits.dataByteCount
        let large = Data(count: ItemRequestLimits.dataByteCount)
        for number in 0...half + 1 {
            try client.addItem(
                ["acct": .text("\(number)"), "svce": .text("large")], data: large, accessControl: .item(.passcode))
        }
        try client.addItem(["acct": .text("small"), "svce": .text("small")])
        let query = TestClient.query("genp", ["svce": .text("large")])
        fixture.prompter.prepare([.wait])
        let id = try client.send(
            .updateItems(
                .with {
                    ($0.query, $0.use) = (query, TestClient.use())
                    $0.attributes = TestClient.attributes(["labl": .text("x")])
                }))
        while fixture.prompter.asked.isEmpty { usleep(500) }
        let other = try fixture.client()
        let refused = #expect(throws: Refused.self) { try other.updateItems(query, ["labl": .text("y")]) }
        #expect(refused?.code == .tooMany && refused?.cause == "item.updates-too-large")
        let small = TestClient.query("genp", ["svce": .text("small")])
        #expect(try other.updateItems(small, ["labl": .text("x")]) == 1)
        // What a decided update held is free again.
        try client.send(.cancel(.with { $0.requestID = id }))
        _ = (try client.answer(), try client.answer())
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try other.updateItems(query, ["labl": .text("z")]) == half + 2)
    }

    @Test func `an item does not outgrow its limit by updates`() throws {
        try client.addItem(["acct": .data(Data(count: 40_000))])
        #expect(
            try refusal { try client.updateItems(TestClient.query(), ["icmt": .data(Data(count: 40_000))]) }
                == .tooLarge)
        try client.updateItems(TestClient.query(), ["icmt": .data(Data(count: 20_000))])
        #expect(try client.findItems(TestClient.query()).count == 1)
    }

    @Test(arguments: ["dk", "ck", "aku", "cku", "dku"]) func `another accessibility takes the item with its data along`(
        name: String
    ) throws {
        try client.addItem(Self.login)
        try client.updateItems(TestClient.query(), ["pdmn": .text(name)])
        let found = try client.findItems(TestClient.query("genp", ["pdmn": .text(name)]))
        #expect(found.map(\.data) == [Data("data".utf8)])
        let accessControl = try AccessControl(canonicalBytes: Array(found[0].item.accessControl))
        #expect(accessControl.availability == Accessibility(rawValue: name)?.availability)
    }

    // MARK: deleting

    @Test func `deleting takes every match and nothing else`() throws {
        for name in ["a", "b"] {
            for service in ["s", "t"] { try client.addItem(["acct": .text(name), "svce": .text(service)]) }
        }
        #expect(try client.deleteItems(TestClient.query("genp", ["svce": .text("s")])) == 2)
        #expect(try client.findItems(TestClient.query()).count == 2)
        #expect(try refusal { try client.deleteItems(TestClient.query("genp", ["svce": .text("s")])) } == .notFound)
        #expect(try client.deleteItems(TestClient.query()) == 2)
        #expect(try refusal { _ = try client.findItems(TestClient.query()) } == .notFound)
        try client.addItem(["acct": .text("a"), "svce": .text("s")])
    }

    @Test func `what several queries match is deleted in one step, each item once`() throws {
        let key = try client.addItem("keys", ["labl": .text("k")])
        let certificate = try client.addItem("cert", ["slnr": .data(Data([1]))])
        let byID = WireItemQuery.with { ($0.itemClass, $0.itemID) = ("cert", certificate.itemID) }
        #expect(try client.deleteItems(TestClient.query("keys"), also: [byID, TestClient.query("cert")]) == 2)
        #expect(try refusal { try client.deleteItems(WireItemQuery.with { $0.itemID = key.itemID }) } == .notFound)
    }

    @Test func `where one of several queries cannot be carried out, nothing is deleted`() throws {
        try client.addItem(["acct": .text("a")])
        let certificate = try client.addItem("cert", ["slnr": .data(Data([1])), "labl": .text("c")])
        let undeletable = try AccessControl(
            availability: .always, requirements: [.read: .unrestricted, .create: .unrestricted])
        try client.addItem("keys", ["labl": .text("stays")], accessControl: undeletable)
        let all = TestClient.query()
        let other = WireItemQuery.with {
            ($0.itemClass, $0.itemID) = ("cert", certificate.itemID)
            $0.attributes = TestClient.query("cert", ["labl": .text("other")]).attributes
        }
        let foreign = TestClient.query("cert", ["agrp": .text("org.example.foreign")])
        for (query, code) in [
            (TestClient.query("inet"), .notFound), (other, .notFound), (foreign, .missingEntitlement),
            (TestClient.query("keys"), .operationNotPermitted), (TestClient.query("nope"), .noSuchClass),
        ] as [(WireItemQuery, WireFailureCode)] {
            #expect(try refusal { try client.deleteItems(all, also: [query]) } == code)
            #expect(try refusal { try client.deleteItems(query, also: [all]) } == code)
            #expect(try client.findItems(all).count == 1)
        }
        let many = Array(repeating: all, count: ItemRequestLimits.deletionQueryCount)
        #expect(try refusal { try client.deleteItems(all, also: many) } == .tooLarge)
        #expect(try client.deleteItems(all, also: many.dropLast()) == 1)
    }

    // MARK: what is refused

    struct Misfit: Sendable {
        let itemClass: String
        let values: ItemValues
        let code: WireFailureCode
    }

    static let misfits: [Misfit] = [
        Misfit(itemClass: "", values: [:], code: .invalidParameter),
        Misfit(itemClass: "idnt", values: [:], code: .noSuchClass),
        Misfit(itemClass: "GENP", values: [:], code: .noSuchClass),
        Misfit(itemClass: "inet", values: ["svce": .text("x")], code: .noSuchAttribute),
        Misfit(itemClass: "genp", values: ["srvr": .text("x")], code: .noSuchAttribute),
        Misfit(itemClass: "genp", values: ["zzzz": .text("x")], code: .noSuchAttribute),
        Misfit(itemClass: "genp", values: ["": .text("x")], code: .noSuchAttribute),
        Misfit(itemClass: "genp", values: ["acct": .date(1)], code: .invalidParameter),
        Misfit(itemClass: "genp", values: ["crtr": .data(Data())], code: .invalidParameter),
        Misfit(itemClass: "genp", values: ["agrp": .number(1)], code: .invalidParameter),
        Misfit(itemClass: "genp", values: ["agrp": .text("somebody else's")], code: .missingEntitlement),
        Misfit(itemClass: "keys", values: ["klbl": .text("x")], code: .invalidParameter),
        Misfit(itemClass: "keys", values: ["sdat": .number(1)], code: .invalidParameter),
        Misfit(itemClass: "keys", values: ["sdat": .date(.nan)], code: .invalidParameter),
        Misfit(itemClass: "keys", values: ["sdat": .date(.infinity)], code: .invalidParameter),
        Misfit(itemClass: "genp", values: ["acct": .data(Data(count: 65_537))], code: .tooLarge),
    ]

    @Test(arguments: [
        ("srvr", "The class genp has no attribute srvr."), ("zzzz", "The class genp has no attribute zzzz."),
        ("", "The class genp has no such attribute."), ("abc", "The class genp has no such attribute."),
        ("abcde", "The class genp has no such attribute."), ("ab 1", "The class genp has no such attribute."),
        ("\u{1b}[2J", "The class genp has no such attribute."), ("éé", "The class genp has no such attribute."),
    ])
    func `an attribute that the class does not have is named if it is named like one`(key: String, message: String) {
        let refused = #expect(throws: Refusal.self) {
            _ = try ItemAttributes([.with { ($0.key, $0.value) = (key, .text("x")) }], of: .genericPassword)
        }
        #expect(refused?.code == .noSuchAttribute && refused?.explanation == message)
    }

    @Test(arguments: misfits) func `attributes that do not belong to the class are refused by every call`(
        misfit: Misfit
    ) throws {
        try client.addItem(Self.login)
        let query = TestClient.query(misfit.itemClass, misfit.values)
        #expect(try refusal { try client.addItem(misfit.itemClass, misfit.values) } == misfit.code)
        #expect(try refusal { _ = try client.findItems(query) } == misfit.code)
        #expect(try refusal { try client.updateItems(query) } == misfit.code)
        #expect(try refusal { try client.deleteItems(query) } == misfit.code)
        if misfit.itemClass == "genp" {
            #expect(try refusal { try client.updateItems(TestClient.query(), misfit.values) } == misfit.code)
        }
        #expect(try client.findItems(TestClient.query()).map(\.data) == [Data("data".utf8)])
    }

    static let wrongAdditions: [Misfit] = [
        Misfit(itemClass: "genp", values: ["pdmn": .text("f")], code: .invalidParameter),
        Misfit(itemClass: "genp", values: ["pdmn": .text("")], code: .invalidParameter),
        Misfit(itemClass: "genp", values: ["sync": .number(2)], code: .invalidParameter),
        Misfit(itemClass: "genp", values: ["sync": .text("yes")], code: .invalidParameter),
        Misfit(itemClass: "genp", values: ["pdmn": .text("akpu")], code: .passcodeNotSet),
    ]

    @Test(arguments: wrongAdditions) func `values that an item cannot have are neither added nor taken on`(
        misfit: Misfit
    ) throws {
        #expect(try refusal { try client.addItem(misfit.itemClass, misfit.values) } == misfit.code)
        try client.addItem(Self.login)
        #expect(try refusal { try client.updateItems(TestClient.query(), misfit.values) } == misfit.code)
        #expect(try client.findItems(TestClient.query("genp", Self.login)).count == 1)
    }

    @Test func `an attribute twice, without a value, or too many of them are refused`() throws {
        let account = WireAttribute.with { ($0.key, $0.value) = ("acct", .text("a")) }
        let empty = WireAttribute.with { $0.key = "svce" }
        for attributes in [[account, account], [empty]] {
            let request = WireAddItemRequest.with { ($0.itemClass, $0.attributes) = ("genp", attributes) }
            #expect(try refusal { try client.call(.addItem(request)) } == .invalidParameter)
        }
        let many = WireAddItemRequest.with {
            ($0.itemClass, $0.attributes) = ("genp", Array(repeating: account, count: 65))
        }
        #expect(try refusal { try client.call(.addItem(many)) } == .tooLarge)
    }

    @Test func `an access control that does not go with the item is refused`() throws {
        let free = try AccessControl.item(.unrestricted, .afterFirstUnlock)
        #expect(
            try refusal { try client.addItem(["pdmn": .text("ak")], accessControl: free) } == .invalidParameter)
        #expect(try client.addItem(["acct": .text("1")], accessControl: free).values["pdmn"] == .text("ck"))
        let unreadable = try AccessControl(
            availability: .whenUnlocked, requirements: [.create: .unrestricted, .sign: .unrestricted])
        #expect(try refusal { try client.addItem(["acct": .text("2")], accessControl: unreadable) } == .invalidRule)
        let ruled = try AccessControl.item(Requirement(anyOf: [.passcode]))
        #expect(try refusal { try client.addItem(["acct": .text("3")], accessControl: ruled) } == .passcodeNotSet)
        try fixture.setPasscode()
        #expect(
            try refusal { try client.addItem(["acct": .text("3"), "sync": .number(1)], accessControl: ruled) }
                == .invalidParameter)
        let request = WireAddItemRequest.with { ($0.itemClass, $0.accessControl) = ("genp", Data([1, 2, 3])) }
        #expect(try refusal { try client.call(.addItem(request)) } == .invalidRule)
        #expect(try client.findItems(TestClient.query()).count == 1)
    }

    @Test func `an access control without change or delete keeps the item as it is`() throws {
        let fixed = try AccessControl(
            availability: .whenUnlocked, requirements: [.create: .unrestricted, .read: .unrestricted])
        try client.addItem(Self.login, accessControl: fixed)
        #expect(
            try refusal { try client.updateItems(TestClient.query(), ["labl": .text("x")]) } == .operationNotPermitted)
        #expect(try refusal { try client.deleteItems(TestClient.query()) } == .operationNotPermitted)
        #expect(try client.itemData(TestClient.query()) == "data")
    }

    @Test func `an access control without creation has nothing put under it, neither new nor old`() throws {
        let closed = try AccessControl(
            availability: .whenUnlocked,
            requirements: [.read: .unrestricted, .delete: .unrestricted, .change: .unrestricted])
        #expect(try refusal { try client.addItem(Self.login, accessControl: closed) } == .operationNotPermitted)
        #expect(try refusal { _ = try client.findItems(TestClient.query()) } == .notFound)
        try client.addItem(Self.login)
        let refused = try refusal { try client.updateItems(TestClient.query(), accessControl: closed) }
        #expect(refused == .operationNotPermitted)
        #expect(try client.itemData(TestClient.query()) == "data")
    }

    @Test func `a key that is not there, or no key at all, cannot be stood for`() throws {
        try fixture.create("right", .unrestricted, .whenUnlocked)
        let right = try client.find("right").rightID
        for id in [Data(count: 16), right, Data([1])] {
            #expect(try refusal { try client.addItem("keys", [:], data: nil, keyID: id) } == .notFound)
        }
        #expect(try client.list().count == 1)
    }

    @Test func `an item that stands for a key has no data and takes the key with it`() throws {
        let vault = fixture.broker.vault
        let application = try client.status().caller.program
        let ruled = try AccessControl.item(Requirement(anyOf: [.passcode]), .whenPasscodeSet)
        let undeletable = try AccessControl(availability: .always, requirements: [.sign: .unrestricted])
        func key(_ group: ExactName, _ rule: AccessControl) throws -> Data {
            let key = ObjectRecord(
                owner: fixture.account.id, kind: .enclaveKey, suite: 1,
                attributes: ObjectAttributes(
                    group: group, identifier: ExactName(UUID().uuidString),
                    applicationLabel: Data("the key's own".utf8),
                    created: 0),
                accessControl: Data(rule.canonicalBytes), enclaveKind: 1, publicKey: Data(), keyBlob: Data(),
                payload: nil, slots: Data())
            try vault.write("key") { try $0.insertObject(key) }
            return key.id.bytes
        }
        let (mine, theirs) = (try key(ExactName(application), ruled), try key("somebody else", ruled))
        #expect(try refusal { try client.addItem("keys", [:], data: nil, keyID: theirs) } == .notFound)
        #expect(try refusal { try client.addItem("keys", [:], keyID: mine) } == .invalidParameter)
        let values: ItemValues = ["pdmn": .text("dk"), "atag": .text("tag"), "tkid": .text("com.apple.setoken")]
        let claimed = try AccessControl.item(.unrestricted)
        try client.addItem("keys", values, data: nil, accessControl: claimed, keyID: mine)
        let found = try client.findItems(TestClient.query("keys", ["atag": .text("tag")]))
        #expect(found[0].item.keyID == mine && found[0].item.accessControl == Data(ruled.canonicalBytes))
        #expect(found[0].item.shownAccessControl == Data("the key's own".utf8), "not what the program says")
        try client.updateItems(TestClient.query("keys"), ["labl": .text("name")])
        #expect(try refusal { try client.updateItems(TestClient.query("keys"), data: Data()) } == .invalidParameter)
        #expect(fixture.prompter.asked.isEmpty)
        try client.deleteItems(TestClient.query("keys"))
        #expect(try vault.read { try $0.object(VaultID(bytes: mine)!, owner: fixture.account.id) } == nil)
        #expect(try vault.read { try $0.object(VaultID(bytes: theirs)!, owner: fixture.account.id) } != nil)
        #expect(try client.log().contains { $0.event == "key-remove" && $0.object == "\(VaultID(bytes: mine)!)" })

        let kept = try key(ExactName(application), undeletable)
        try client.addItem("keys", values, data: nil, accessControl: claimed, keyID: kept)
        #expect(try refusal { try client.deleteItems(TestClient.query("keys")) } == .operationNotPermitted)
        #expect(try vault.read { try $0.object(VaultID(bytes: kept)!, owner: fixture.account.id) } != nil)
    }

    @Test func `who sees the item of another program's key deletes the item alone`() throws {
        let application = try client.status().caller.program
        let key = try client.createKey(.p256, .item(.unrestricted)).keyID
        try client.addItem("keys", ["atag": .text("tag")], data: nil, keyID: key)
        let items = fixture.account.items
        let selection = try VisibleItems(
            TestClient.query("keys"), groups: [ExactName(application)], digests: items.digests)
        let deleted = try items.delete(
            [selection], groups: AccessGroups(["com.example.shared"]), for: nil, proved: .none, withKeys: true)
        #expect(deleted.count == 1 && deleted.keys.isEmpty)
        #expect(try client.findKey(key).keyID == key)
        #expect(try refusal { _ = try client.findItems(TestClient.query("keys")) } == .notFound)
    }

    // MARK: whose items

    private func add(group: String, account: String) throws {
        var attributes = try ItemAttributes(TestClient.attributes(["acct": .text(account)]), of: .genericPassword)
        let accessControl = try attributes.prepareForAdding(
            as: .genericPassword, given: Data(), isForKey: false, groups: AccessGroups([ExactName(group)]), now: 0)
        _ = try fixture.account.items.add(
            ItemDraft(
                itemClass: .genericPassword, attributes: attributes, accessControl: accessControl, keyID: nil,
                data: SecretBytes(text: group), applicationPassword: nil))
    }

    private func visible(to groups: [ExactName], _ values: ItemValues = [:]) throws -> [String] {
        let selection = try VisibleItems(
            TestClient.query("genp", values), groups: groups, digests: fixture.account.items.digests)
        return try fixture.account.items.all(selection, waitingAs: nil).map { try $0.attributes().text("agrp")! }
    }

    @Test func `two programs see each other's items only through a group that both are in`() throws {
        for group in ["one", "two", "shared"] { try add(group: group, account: "alice") }
        #expect(try visible(to: ["one", "shared"]) == ["one", "shared"])
        #expect(try visible(to: ["two"], ["acct": .text("alice")]) == ["two"])
        #expect(try visible(to: ["three"]) == [])
        #expect(try visible(to: ["two", "shared"], ["agrp": .text("shared")]) == ["shared"])
        let missing = { (refusal: Refusal) in refusal.code == .missingEntitlement }
        #expect { try visible(to: ["two"], ["agrp": .text("one")]) } throws: { missing($0 as! Refusal) }
        #expect { try visible(to: []) } throws: { missing($0 as! Refusal) }
        #expect(throws: ItemStore.duplicate) { try add(group: "one", account: "alice") }
    }

    @Test func `another program's items are as good as absent, whatever is asked`() throws {
        try add(group: "another program", account: "alice")
        let id = try fixture.broker.vault.read { try $0.itemIDs(owner: fixture.account.id)[0].bytes }
        let byID = WireItemQuery.with { $0.itemID = id }
        for query in [TestClient.query("genp", ["acct": .text("alice")]), TestClient.query(synchronizable: .any), byID]
        {
            #expect(try refusal { _ = try client.findItems(query) } == .notFound)
            #expect(try refusal { try client.updateItems(query, data: Data()) } == .notFound)
            #expect(try refusal { try client.deleteItems(query) } == .notFound)
        }
        // The same account of one's own is another item, and does not move into the other's group.
        try client.addItem(["acct": .text("alice")])
        let move: ItemValues = ["agrp": .text("another program")]
        #expect(try refusal { try client.updateItems(TestClient.query(), move) } == .missingEntitlement)
        #expect(try client.findItems(TestClient.query()).count == 1)
    }

    // MARK: the log

    @Test func `the log says what was done, and none of what attributes or data say`() throws {
        let added = try client.addItem(Self.login)
        _ = try client.itemData(TestClient.query())
        try client.updateItems(TestClient.query(), ["labl": .text("marker")])
        #expect(try refusal { try client.addItem(Self.login.merging(["labl": .text("marker")]) { $1 }) } == .duplicate)
        #expect(
            try refusal { _ = try client.findItems(TestClient.query("genp", ["agrp": .text("marker")])) }
                == .missingEntitlement)
        try client.deleteItems(TestClient.query())
        let name = "genp " + added.itemID.map { String(format: "%02x", $0) }.joined()
        let lines = try client.log().filter { $0.event.hasPrefix("item-") }.map {
            "\($0.event) \($0.result) \($0.object) \($0.reason)"
        }
        #expect(
            lines == [
                "item-add begun genp ", "item-add done \(name) ", "item-read granted \(name) ",
                "item-update begun \(name) ", "item-update done \(name) ", "item-add begun genp ",
                "item-add refused  item.duplicate", "item-read refused  item.access-group", "item-delete done \(name) ",
            ])
        let log = try Data(contentsOf: URL(fileURLWithPath: fixture.stateDirectory + "/audit.log"))
        for word in ["alice", "mail", "marker", "data\u{0}"] { #expect(log.range(of: Data(word.utf8)) == nil) }
    }
}

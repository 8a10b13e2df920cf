import AccessControl
import Foundation
import OstiaryMessages
import PromptProtocol
import SecretMemory
import SeededRandomness
import StoreTestSupport
import Testing
import Vault

@testable import Auditing
@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects

@Suite("What files say about keychain items")
struct ItemSecrecyTests {
    private static let words = [
        "accountmarker", "servicemarker", "labelmarker", "tagmarker", "servermarker", "datamarker", "groupmarker",
    ]

    private func traces(in directory: String) throws -> [String] {
        let files = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(files.contains("vault.sqlite"))
        let contents = try files.map { try Data(contentsOf: URL(fileURLWithPath: directory + "/" + $0)) }
        return Self.words.filter { word in contents.contains { $0.range(of: Data(word.utf8)) != nil } }
    }

    @Test func `no file of the store holds account, service, label, tag, server or data, before or after any change`()
        throws
    {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        let secret = Data("datamarker".utf8)
        try client.addItem(
            ["acct": .text("accountmarker"), "svce": .data(Data("servicemarker".utf8)), "labl": .text("labelmarker")],
            data: secret)
        try client.addItem("keys", ["atag": .text("tagmarker"), "klbl": .data(Data("labelmarker".utf8))], data: secret)
        try client.addItem("inet", ["srvr": .text("servermarker"), "acct": .text("accountmarker")], data: secret)
        let (first, second) = (BrokerFixture.passcode, "another battery 8")
        let steps: [() throws -> Void] = [
            {}, { try client.updateItems(TestClient.query(), ["labl": .text("groupmarker")], data: secret + secret) },
            { try fixture.setPasscode(first) }, { _ = try client.findItems(TestClient.query()) },
            { try fixture.changePasscode(first, to: second) }, { try fixture.removePasscode(second) },
            { try client.deleteItems(TestClient.query("inet")) }, { fixture.close() },
        ]
        for (number, step) in steps.enumerated() {
            try step()
            #expect(try traces(in: fixture.stateDirectory) == [], "step \(number)")
        }
    }

    @Test func `a wrong try at a protected item names none of its attributes in the log`() throws {
        let fixture = try BrokerFixture()
        try fixture.setPasscode()
        let client = try fixture.client()
        let item = try client.addItem(
            ["acct": .text("accountmarker"), "svce": .text("servicemarker"), "labl": .text("labelmarker")],
            accessControl: .item(Requirement(anyOf: [.passcode])))
        fixture.prompter.prepare([.text("wrong"), .cancel])
        #expect(try refusal { _ = try client.findItems(TestClient.query()) } == .userCancel)
        #expect(fixture.prompter.asked.first?.object?.string == "labelmarker", "the person is told")
        let attempts = try client.log().filter { $0.event == "attempt" }
        #expect(attempts.map(\.object) == ["genp \(VaultID(bytes: item.itemID)!)"])
        #expect(try traces(in: fixture.stateDirectory) == [])
    }

    @Test func `the search finds what is there`() throws {
        let folder = try TestFolder()
        try Data("xxdatamarkerxx".utf8).write(to: URL(fileURLWithPath: folder.path("vault.sqlite")))
        #expect(try traces(in: folder.path) == ["datamarker"])
    }
}

@Suite("Random requests about keychain items")
struct ItemRandomTests {
    @Test(arguments: [1, UInt64.random(in: .min ... .max)])
    func `neither crash the daemon nor change the store when they are refused`(seed: UInt64) throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        var generator = SeededGenerator(seed: seed)
        func any<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &generator)! }
        let texts = ["", "a", "b", String(repeating: "c", count: 1500)]
        func value(_ kind: AttributeKind?) -> WireAttribute.OneOf_Value? {
            switch any([kind, kind, kind, .blob, .data, .number, .date, nil]) {
            case .blob: any([.text(any(texts)), .data(Data(any(texts).utf8)), .number(7)])
            case .data: .data(Data((0..<any([0, 1, 20, 1000])).map { UInt8(truncatingIfNeeded: $0) }))
            case .string: .text(any(texts))
            case .number: .number(any([0, 1, -1, .min, .max]))
            case .date: .date(any([0, -1e300, .nan, .infinity, 1]))
            case nil: nil
            }
        }
        func attributes(_ name: String) -> [WireAttribute] {
            let kinds = ItemClass(name: name)?.attributes ?? ["acct": .blob]
            let names = kinds.keys.filter { !["agrp", "pdmn", "sync"].contains($0) }.sorted()
            let rare = ["agrp", "pdmn", "sync", "zzzz", "", "abcde", "\u{1F511}", ".", ".a", ".b", ".\u{1F511}"]
            return (0..<any([0, 1, 1, 1, 2, 3, 130])).map { _ in
                let name = any([any(names), any(names), any(names), any(names), any(rare)])
                return .with { ($0.key, $0.value) = (name, value(kinds[name])) }
            }
        }
        func query() -> WireItemQuery {
            .with {
                $0.itemClass = any(["genp", "inet", "keys", "cert", "free", "idnt", "", "genp"])
                $0.attributes = attributes($0.itemClass)
                $0.synchronizable = any([.unspecified, .yes, .any, .UNRECOGNIZED(7)])
                $0.itemID = any([Data(), Data(), Data(), Data(count: 16), Data([1])])
                $0.hostOrSubdomainOf = any(["", "", "", "", "", "a", String(repeating: "h", count: 2000)])
            }
        }
        func contents() throws -> [FoundItem] {
            try ["genp", "inet", "keys", "cert", "free"].flatMap { itemClass -> [FoundItem] in
                do { return try client.findItems(TestClient.query(itemClass, synchronizable: .any)) } catch let refused
                    as Refused
                    where refused.code == .notFound
                { return [] }
            }
        }
        let allowed: [WireFailureCode] = [
            .invalidParameter, .noSuchAttribute, .noSuchClass, .missingEntitlement, .tooLarge, .notFound, .duplicate,
            .invalidRule, .passcodeNotSet,
        ]
        var before = try contents()
        var successCount = 0
        for _ in 0..<400 {
            let body: WireRequest.OneOf_Body = any([
                .addItem(
                    .with {
                        $0.itemClass = any(["genp", "inet", "keys", "cert", "free", "x"])
                        $0.attributes = attributes($0.itemClass)
                        $0.accessControl = any([
                            Data(), Data(), Data(), Data(), Data([1, 2]), Data((0..<40).map { UInt8($0) }),
                        ])
                        $0.shownAccessControl = Data(count: any([0, 10, 5000]))
                        $0.hasData_p = any([true, false])
                        $0.keyID = any([Data(), Data(), Data(), Data(), Data(count: 16), Data([2])])
                    }),
                .findItems(
                    .with { ($0.query, $0.limit, $0.begin) = (query(), any([0, 1, .max]), any([0, 5, .max])) }),
                .updateItems(
                    .with {
                        ($0.query, $0.attributes, $0.replacesData) = (
                            query(), attributes(any(["genp", "inet", "free"])), any([true, false])
                        )
                        $0.replacesFreeAttributes = any([true, false, false])
                    }),
                .deleteItems(.with { $0.query = query() }),
            ])
            do {
                try client.call(
                    body, tail: SecretBytes(bytes: { if case .addItem = body { Data([1]) } else { Data() } }()))
                successCount += 1
                before = try contents()
            } catch let refused as Refused {
                #expect(refused.code.map(allowed.contains) == true, "\(refused)")
                #expect(try contents() == before)
            }
        }
        // Both happen, so that neither expectation above is empty.
        #expect(successCount > 0 && successCount < 400)
        #expect(try client.diagnosis().findings.first { $0.check == "items" }?.verdict == .ok)
    }
}

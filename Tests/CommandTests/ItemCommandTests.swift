import AccessControl
import ArgumentParser
import Foundation
import OstiaryClient
import Testing

@testable import ostiary

@Suite("Items, keys and applications on the command line")
struct ItemCommandTests {
    private let date = Date(timeIntervalSinceReferenceDate: 0)

    private func item(_ attributes: ItemAttributes, _ requirement: Requirement = .unrestricted) -> StoredItem {
        StoredItem(
            id: Data(repeating: 0xab, count: 16), itemClass: "genp", attributes: attributes,
            accessControl: AccessControl(availability: .whenUnlocked, reading: requirement), hasData: true)
    }

    @Test(arguments: [
        ("account=me", "acct", ItemAttributeValue.text("me")), ("port=443", "port", .number(443)),
        ("port=", "port", .text("")), ("label=a=b", "labl", .text("a=b")), ("svce=x", "svce", .text("x")),
        ("account=443", "acct", .text("443")), ("type=9223372036854775808", "type", .text("9223372036854775808")),
    ])
    func `an assignment names an attribute and has the type that Apple has`(
        text: String, key: String, value: ItemAttributeValue
    ) throws {
        let assignment = try #require(AttributeAssignment(argument: text))
        #expect(assignment.key == key)
        #expect(assignment.value == value)
    }

    @Test(arguments: ["account", "=x", "colour=red", "", "a=b"])
    func `what names no attribute is refused`(text: String) {
        #expect(AttributeAssignment(argument: text) == nil)
    }

    @Test func `a selection that says nothing is refused before the daemon is asked`() throws {
        let delete = try #require(try Ostiary.parseAsRoot(["item", "delete"]) as? ItemDelete)
        #expect(throws: CommandError.self) { try delete.item.narrowSelection() }
        #expect(throws: CommandError.self) { try delete.run() }
    }

    @Test func `a selection holds what the options say, synchronizable or not`() throws {
        let find = try #require(
            try Ostiary.parseAsRoot(["item", "find", "--service", "s", "--attribute", "comment=c"]) as? ItemFind)
        #expect(
            find.item.selection
                == ItemSelection(
                    itemClass: "genp", attributes: ["svce": .text("s"), "icmt": .text("c")], synchronizable: .any))
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

    @Test func `a changed program says what to do`() {
        let changed = RegisteredApplication(
            path: "/p", applicationID: "i", accessGroups: ["a", "b"], label: "advisory", isChanged: true,
            isOfSystem: false)
        #expect(ApplicationListDocument([changed]).text().contains("ostiary app adopt"))
    }

    @Test func `without a daemon nothing is read from a file that is no secret's`() throws {
        let folder = try TemporaryFolder()
        let empty = try CommandRun(["item", "add", "--service", "s", "--secret", "-"], in: folder)
        #expect(empty.status == 1)
        #expect(empty.errors.contains("is empty"))
    }
}

import AccessControl
import DaemonTestSupport
import Foundation
import OstiaryMessages
import SecretMemory
import Testing

@testable import OstiaryClient

/// Items with free attributes, on a real daemon: through the client, and as the command shows them.
@Suite("Items with free attributes, end to end", .serialized, .timeLimit(.minutes(10)))
struct FreeItemTests {
    private let daemon: PrivateDaemon
    private let client: OstiaryClient

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        client = OstiaryClient(
            location: DaemonLocation(runtimeDirectory: daemon.runtimeDirectory, stateDirectory: daemon.stateDirectory))
        try daemon.unlock()
    }

    private static func selection(_ attributes: ItemAttributeValues = [:]) -> ItemSelection {
        ItemSelection(itemClass: "free", attributes: attributes)
    }

    private static func reading(_ requirement: Requirement) throws -> AccessControl {
        try AccessControl(
            availability: .whenUnlocked,
            requirements: [
                .create: .unrestricted, .read: requirement, .change: .unrestricted, .delete: .unrestricted,
            ])
    }

    private static let service = FreeAttribute.key(named: "service")

    @discardableResult
    private func add(
        _ attributes: ItemAttributeValues, data: String? = "secret", _ requirement: Requirement = .unrestricted
    ) throws -> Data {
        let rule = try Self.reading(requirement)
        guard let data else { return try client.addItem("free", attributes: attributes, accessControl: rule).id }
        return try client.addItem(
            "free", attributes: attributes, accessControl: rule, data: SecretBytes(Data(data.utf8))
        ).id
    }

    private func ostiary(_ arguments: String...) throws -> UnattendedRun {
        try UnattendedRun(BuiltProgram.named("ostiary"), arguments, in: daemon)
    }

    @Test func `names of free attributes are told from others by their dot`() {
        #expect(FreeAttribute.key(named: "service") == ".service" && FreeAttribute.key(named: ".x") == "..x")
        #expect(FreeAttribute.name(ofKey: ".service") == "service" && FreeAttribute.name(ofKey: "..x") == ".x")
        #expect(FreeAttribute.name(ofKey: "labl") == nil && FreeAttribute.name(ofKey: "") == nil)
        #expect(FreeAttribute.name(ofKey: ".\u{301}x") == "\u{301}x", "an accent behind the dot is part of the name")
    }

    @Test func `twins are found together and apart, with their data, empty data, or none`() throws {
        let attributes: ItemAttributeValues = [Self.service: .text("mail"), "labl": .text("Mail")]
        let ids = [
            try add(attributes, data: "one"), try add(attributes, data: ""), try add(attributes, data: nil),
        ]
        var found: [(Data, Int?)] = []
        try client.findItems(Self.selection(attributes), limit: nil, returningData: true) { item, data in
            switch data {
            case .some(let data): found.append((item.id, data.count))
            case .none: found.append((item.id, nil))
            }
            #expect(item.hasData == (item.id != ids[2]))
        }
        #expect(found.map(\.0) == ids && found.map(\.1) == [3, 0, nil])
        #expect(try client.deleteItems(ItemSelection(itemClass: "", synchronizable: .any, id: ids[1])) == 1)
        #expect(try client.listItems(Self.selection(attributes)).map(\.id) == [ids[0], ids[2]])
    }

    @Test func `a ruled item shows its attributes in a list, and its secret to nobody who cannot be asked`() throws {
        let id = try add(
            [Self.service: .text("mail"), "coll": .text("login")], Requirement(anyOf: [FactorSet.passcode]))
        let listed = try client.listItems(Self.selection(), returningAttributes: true)
        #expect(listed.map(\.id) == [id] && listed[0].lock == .needsProof && listed[0].hasData)
        #expect(listed[0].attributes[Self.service] == .text("mail") && listed[0].attributes["coll"] == .text("login"))
        let refused = #expect(throws: OstiaryError.self) {
            try client.findItems(Self.selection(), returningData: true) { _, _ in }
        }
        #expect(refused?.code == .init(.notInteractive))
        #expect(try ostiary("lock").status == 0)
        let locked = try client.listItems(Self.selection([Self.service: .text("mail")]), returningAttributes: true)
        #expect(locked.map(\.id) == [id] && locked[0].lock == .storeLocked && locked[0].attributes.isEmpty)
    }

    @Test func `an update replaces the free attributes that are not given again, and is watched`() throws {
        let id = try add([Self.service: .text("mail"), ".user": .text("alice"), "labl": .text("Mail")])
        let watch = client.watchItems([Self.selection([Self.service: .text("mail")])])
        #expect(try watch.next()?.looksAgain == true)
        try client.updateItems(Self.selection(), attributes: [".port": .text("25")])
        #expect(try watch.next()?.changes == [ItemNews.Change(id: id, itemClass: "free", kind: .changed)])
        try client.updateItems(
            Self.selection(), attributes: [".user": .text("bob")], replacingFreeAttributes: true)
        #expect(try watch.next()?.changes == [ItemNews.Change(id: id, itemClass: "free", kind: .removed)])
        let shown = try client.listItems(Self.selection(), returningAttributes: true)[0].attributes
        #expect(shown.filter { $0.key.hasPrefix(".") } == [".user": .text("bob")] && shown["labl"] == .text("Mail"))
    }

    @Test func `the command lists labels and collections, ruled items too, and reads no item for other programs`()
        throws
    {
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        let added = try ostiary(
            "item", "add", "--class", "free", "--label", "Mail account", "--attribute", "collection=login",
            "--attribute", ".service=imap", "--attribute", "only=/usr/bin/mail", "--require", "passcode", "--secret",
            "in")
        #expect(added.status == 0, "\(added.output)")
        let list = try ostiary("item", "list", "--class", "free", "--attribute", ".service=imap")
        #expect(list.status == 0 && list.output.contains("Mail account") && list.output.contains("login"))
        #expect(list.output.contains("/usr/bin/mail") && !list.output.contains("secret"))
        let json = try ostiary("item", "list", "--class", "free", "--json")
        #expect(json.output.contains(#"".service" : "imap""#) && json.output.contains(#""class" : "free""#))
        let none = try ostiary("item", "list", "--class", "free", "--label", "*other*")
        #expect(none.status == 0 && none.output.contains("There are no such items."), "\(none.output)")
        let read = try ostiary("item", "find", "--class", "free", "--label", "Mail account")
        #expect(read.status != 0 && read.output.contains("for other programs"), "\(read.output)")
        let delete = ["item", "delete", "--class", "free", "--label", "Mail account", "--force"]
        let unproved = try UnattendedRun(BuiltProgram.named("ostiary"), delete, in: daemon)
        #expect(unproved.status == 3 && unproved.output.contains("Nobody can be asked"), "\(unproved.output)")
        let deleted = try PlayedTerminal(
            BuiltProgram.named("ostiary"), delete, answers: [PrivateDaemon.passcode], in: daemon)
        #expect(deleted.status == 0, "\(deleted.screen)")
    }
}

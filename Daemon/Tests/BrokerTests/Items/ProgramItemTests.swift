import AccessControl
import AuditLog
import Auditing
import CLinuxShims
import Callers
import ExactNames
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import ProcessFacts
import SecretMemory
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport
@testable import ProtectedObjects
@testable import Refusals
@testable import Vault

/// Items that are for certain programs: a door asks for clients, one of which is such a program.
@Suite("Items for certain programs", .timeLimit(.minutes(10)))
struct ProgramItemTests {
    /// A process that the door names as its client.
    private final class Client {
        /// Its program, as the daemon names it.
        let path: String
        let descriptor: SharedDescriptor
        private let process: SpawnedProcess

        init(_ path: String, _ arguments: [String] = ["600"]) throws {
            self.path = path
            process = try SpawnedProcess(path, arguments)
            descriptor = SharedDescriptor(
                try Descriptor(ostiary_open_process(process.processID), from: "pidfd_open"))
        }
    }

    private static let doorID = "com.example.tests"
    /// Where the door keeps its items.
    private static let group = "com.example.secrets"
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)

    private let fixture: BrokerFixture
    private let door: TestClient
    private let folder: TestFolder
    /// The client that the items are for.
    private let own: Client
    private let other: Client

    init() throws {
        let (fixture, folder) = (try BrokerFixture(), try TestFolder())
        let door = try fixture.client()
        let registration = try WireRegisterApplicationRequest.with {
            $0.path = try door.status().caller.program
            ($0.applicationID, $0.accessGroups) = (Self.doorID, [Self.group])
            ($0.isDoor, $0.question) = (true, TestClient.question)
        }
        fixture.prompter.prepare([.confirm])
        try door.call(.registerApplication(registration))
        try fixture.setPasscode()
        (self.fixture, self.folder, self.door) = (fixture, folder, door)
        own = try Client(Self.program("own", in: folder))
        other = try Client(Self.program("other", in: folder))
        fixture.prompter.prepare([])
    }

    /// A program of its own, which does nothing.
    private static func program(_ name: String, in folder: TestFolder) throws -> String {
        try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: false)
        let path = folder.path("\(name)/sleep")
        try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: path)
        return path
    }

    private static let query = TestClient.query("free")

    /// An item of the door.
    @discardableResult
    private func add(
        only: String?, _ rule: Requirement? = nil, label: String = "item", with values: ItemValues = [:]
    ) throws -> Data {
        var values = values.merging(["labl": .text(label)]) { given, _ in given }
        values["only"] = only.map { .text($0) }
        let rule = try rule ?? .passcode
        return try door.addItem("free", values, data: Data("secret".utf8), accessControl: .item(rule)).itemID
    }

    /// Sends a request for a client, or for the door itself.
    @discardableResult
    private func ask(
        _ body: WireRequest.OneOf_Body, for client: Client?, tail: Data = Data()
    ) throws -> (body: WireReply.OneOf_Body, tail: Data) {
        let id: UInt64
        if let client {
            id = try door.send(body, for: client.descriptor, tail: tail)
        } else {
            id = try door.send(body, tail: SecretBytes(bytes: tail))
        }
        let answer = try door.answer()
        guard answer.id == id else { throw TestClient.UnexpectedAnswer() }
        if let refused = answer.refused { throw refused }
        return (answer.body, answer.tail)
    }

    private func read(
        _ query: WireItemQuery = query, for client: Client?, use: WireItemUse = TestClient.use()
    ) throws -> String {
        let answer = try ask(
            .findItems(.with { ($0.query, $0.limit, $0.returnsData, $0.use) = (query, 1, true, use) }), for: client)
        return String(decoding: answer.tail, as: UTF8.self)
    }

    private func update(
        for client: Client?, data: Data? = nil, _ change: (inout WireUpdateItemsRequest) throws -> Void
    ) throws {
        var request = WireUpdateItemsRequest.with {
            ($0.query, $0.use, $0.replacesData) = (Self.query, TestClient.use(), data != nil)
        }
        try change(&request)
        try ask(.updateItems(request), for: client, tail: data ?? Data())
    }

    private func update(_ values: ItemValues, for client: Client?) throws {
        try update(for: client) { $0.attributes = TestClient.attributes(values) }
    }

    /// The code and cause that `body` is refused with; nil when it is carried out.
    private func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "?") \(refused.cause)" }
    }

    private static let otherProgram = "operationNotPermitted item.other-program"

    private func expectUnasked(_ location: SourceLocation = #_sourceLocation) {
        #expect(
            fixture.prompter.asked.isEmpty && fixture.prompter.unpreparedCount == 0, "nobody is asked",
            sourceLocation: location)
    }

    // MARK: reading

    @Test func `its program reads an item after the proof, and another one is refused before anybody is asked`() throws
    {
        try add(only: own.path)
        for use in [TestClient.use(), TestClient.silentUse(), WireItemUse.with { $0.withholdsQuestion = true }] {
            #expect(try refusal { _ = try read(for: other, use: use) } == Self.otherProgram)
        }
        expectUnasked()
        let refused = try door.log().filter { $0.reason == "item.other-program" }
        #expect(!refused.isEmpty && refused.allSatisfy { $0.event == "item-read" && $0.result == "refused" })
        #expect(refused.allSatisfy { $0.program.hasPrefix(other.path) })
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(for: own) == "secret" && fixture.prompter.asked.count == 1)
    }

    @Test func `while the store is locked another program is refused unasked, too`() throws {
        try add(only: own.path)
        try door.lock()
        #expect(try refusal { _ = try read(for: other) } == Self.otherProgram)
        expectUnasked()
        #expect(try !door.status().unlocked)
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(for: own) == "secret" && fixture.prompter.asked.count == 1)
    }

    @Test func `the door reads nothing for itself, unless it is one of the programs`() throws {
        try add(only: own.path)
        #expect(try refusal { _ = try read(for: nil) } == Self.otherProgram)
        expectUnasked()
        let query = TestClient.query("free", ["labl": .text("the door's")])
        try add(only: "\(own.path)\n\(Self.doorID)", label: "the door's")
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(query, for: nil) == "secret")
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(query, for: own) == "secret")
        #expect(try refusal { _ = try read(query, for: other) } == Self.otherProgram)
    }

    @Test func `names of programs are compared by their bytes, and whole`() throws {
        let composed = try Client(Self.program("caf\u{e9}", in: folder))
        let decomposed = folder.path("cafe\u{301}/sleep")
        #expect(composed.path == decomposed, "they look the same")
        let lists = [
            decomposed, String(composed.path.dropLast()), composed.path + "x", composed.path + " ",
            "/other" + composed.path, folder.path("caf\u{e9}"), "com.example.other",
        ]
        for (number, list) in lists.enumerated() {
            let label = "item \(number)"
            try add(only: list, label: label)
            let query = TestClient.query("free", ["labl": .text(label)])
            #expect(try refusal { _ = try read(query, for: composed) } == Self.otherProgram, "\(number)")
        }
        expectUnasked()
        try add(only: "/other\n\(composed.path)\n/another", label: "its own")
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(TestClient.query("free", ["labl": .text("its own")]), for: composed) == "secret")
    }

    @Test func `a program whose file name ends a line is no program of the list`() throws {
        let path = try Self.program("two\n", in: folder)
        let client = try Client(path)
        try add(only: "\(folder.path("two"))\n/sleep", label: "lines")
        #expect(
            try refusal { _ = try read(TestClient.query("free", ["labl": .text("lines")]), for: client) }
                == Self.otherProgram)
        expectUnasked()
    }

    @Test func `a program that nobody can name reads none`() throws {
        try add(only: own.path)
        // Nobody can tell the scripts of a shell apart.
        let script = try Client("/bin/sh", ["-c", "sleep 600; :"])
        #expect(try refusal { _ = try read(for: script) } == Self.otherProgram)
        #expect(try refusal { try add(only: CallerProgram.unknown.text) } == "invalidParameter item.only")
        expectUnasked()
    }

    @Test
    func `several items are refused together where one is for others, and a search that asks nobody leaves it out`()
        throws
    {
        let (mine, theirs) = (try add(only: own.path, label: "a"), try add(only: other.path, label: "b"))
        let free = try add(only: nil, .unrestricted, label: "c")
        for first in [mine, theirs] {
            let named = WireFindItemsRequest.with {
                ($0.query.itemID, $0.also) = (first, [mine, theirs].filter { $0 != first })
                ($0.returnsData, $0.use) = (true, TestClient.use())
            }
            #expect(try refusal { try ask(.findItems(named), for: own) } == Self.otherProgram)
        }
        let all = WireFindItemsRequest.with {
            ($0.query, $0.returnsData, $0.use) = (Self.query, true, TestClient.use())
        }
        #expect(try refusal { try ask(.findItems(all), for: own) } == Self.otherProgram)
        expectUnasked()
        // Its context holds the proof of both.
        guard case .context(let context) = try ask(.openContext(.with { $0.keepsFactors = true }), for: own).body else {
            throw TestClient.UnexpectedAnswer()
        }
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(.with { $0.itemID = mine }, for: own, use: TestClient.use(context.contextID)) == "secret")
        var skipping = all
        skipping.use = TestClient.silentUse(context.contextID, skips: true)
        guard case .items(let page) = try ask(.findItems(skipping), for: own).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(page.items.map(\.itemID) == [mine, free] && fixture.prompter.asked.count == 1)
    }

    @Test func `a program that was taken from the list while the person was asked gets nothing`() throws {
        let id = try add(only: own.path)
        let items = fixture.account.items
        let record = try #require(
            try fixture.broker.vault.readItems { try items.readable(VaultID(bytes: id)!, in: $0) })
        let opener = try items.opener(record)
        nonisolated(unsafe) let target = ItemStore.Target(opener: opener, proof: nil)
        let only = TestClient.attributes(["only": .text(other.path)])
        fixture.prompter.prepare([Self.passcode])
        fixture.prompter.duringNextQuestion {
            do {
                let change = ItemChange(
                    attributes: try ItemAttributes(only, of: .freeform), accessControl: nil, data: nil,
                    applicationPassword: nil)
                try items.update([target], change, now: 0)
            } catch { Issue.record(error) }
        }
        #expect(try refusal { _ = try read(for: own) } == Self.otherProgram)
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `a term of another program, there by chance, opens the item for nobody`() throws {
        let id = try add(only: own.path)
        let items = fixture.account.items
        var record = try #require(
            try fixture.broker.vault.readItems { try items.readable(VaultID(bytes: id)!, in: $0) })
        let chance = items.digests.term(ofProgram: ExactName(other.path))
        record.generation += 1
        record.index = ItemIndex(uniqueness: record.index.uniqueness, terms: record.index.terms + [chance])
        try fixture.broker.vault.write("update") { try $0.updateItem(record) }
        fixture.prompter.prepare([Self.passcode])
        #expect(try refusal { _ = try read(for: other) } == Self.otherProgram)
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(for: own) == "secret")
    }

    @Test func `a lease opens the item for its programs alone`() throws {
        let id = try add(only: own.path)
        for client in [own, other] {
            fixture.prompter.prepare([Self.passcode])
            try door.grantLease([id]) { ($0.program, $0.through.door) = (client.path, Self.doorID) }
        }
        fixture.prompter.prepare([])
        #expect(try read(for: own, use: TestClient.silentUse()) == "secret")
        #expect(try refusal { _ = try read(for: other, use: TestClient.silentUse()) } == Self.otherProgram)
        expectUnasked()
    }

    @Test func `an item without programs is for all clients`() throws {
        try add(only: nil)
        for client in [own, other, nil] {
            fixture.prompter.prepare([Self.passcode])
            #expect(try read(for: client) == "secret")
        }
    }

    // MARK: what another program may not change

    /// A change that would give the item's data away, or take it from its programs.
    enum Change: CaseIterable {
        case data, rule, programs, noPrograms, accessibility, group, deletion
    }

    private func delete(_ queries: [WireItemQuery], for client: Client?) throws {
        let request = WireDeleteItemsRequest.with {
            ($0.query, $0.also, $0.use) = (queries[0], Array(queries.dropFirst()), TestClient.use())
        }
        try ask(.deleteItems(request), for: client)
    }

    private func make(_ change: Change, for client: Client?) throws {
        switch change {
        case .data: try update(for: client, data: Data("planted".utf8)) { _ in }
        case .rule:
            let rule = try AccessControl.item(.unrestricted)
            try update(for: client) { $0.accessControl = Data(rule.canonicalBytes) }
        case .programs: try update(["only": .text(other.path)], for: client)
        case .noPrograms: try update(["only": .text("")], for: client)
        case .accessibility: try update(["pdmn": .text("ck")], for: client)
        case .group: try update(["agrp": .text(Self.doorID)], for: client)
        case .deletion: try delete([Self.query], for: client)
        }
    }

    @Test(arguments: Change.allCases, [false, true])
    func `another program is refused each change unasked, and the item stays its programs' own`(
        change: Change, isLocked: Bool
    ) throws {
        try add(only: own.path)
        if isLocked { try door.lock() }
        #expect(try refusal { try make(change, for: other) } == Self.otherProgram)
        expectUnasked()
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(for: own) == "secret")
        let item = try door.listItems(Self.query)[0]
        #expect(item.values["only"] == .text(own.path) && item.values["pdmn"] == .text("ak"))
        #expect(item.values["agrp"] == .text(Self.group))
        #expect(try item.accessControl == Data(AccessControl.item(.passcode).canonicalBytes))
    }

    @Test(arguments: Change.allCases.filter { $0 != .rule })
    func `its own program makes each change, under its rule`(change: Change) throws {
        try add(only: own.path)
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try make(change, for: own) } == "userCancel prompt.cancelled")
        fixture.prompter.prepare([Self.passcode])
        #expect(try refusal { try make(change, for: own) } == nil)
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `one item of others keeps all from being deleted`() throws {
        let (mine, theirs) = (try add(only: own.path, label: "a"), try add(only: other.path, label: "b"))
        let both = [mine, theirs].map { id in WireItemQuery.with { $0.itemID = id } }
        #expect(try refusal { try delete(both, for: own) } == Self.otherProgram)
        #expect(try refusal { try delete([Self.query], for: own) } == Self.otherProgram)
        expectUnasked()
        #expect(try door.listItems(Self.query).map(\.itemID) == [mine, theirs])
        fixture.prompter.prepare([Self.passcode])
        try delete([both[0]], for: own)
        #expect(try door.listItems(Self.query).map(\.itemID) == [theirs])
    }

    @Test func `another program may list the item, and change its label after the proof`() throws {
        try add(only: own.path, with: [".service": .text("mail")])
        let list = WireFindItemsRequest.with {
            ($0.query, $0.returnsAttributes, $0.listsLocked) = (Self.query, true, true)
        }
        guard case .items(let page) = try ask(.findItems(list), for: other).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(page.items.map(\.lock) == [.ruled] && page.items[0].values[".service"] == .text("mail"))
        fixture.prompter.prepare([.cancel])
        #expect(try refusal { try update(["labl": .text("new")], for: other) } == "userCancel prompt.cancelled")
        fixture.prompter.prepare([Self.passcode])
        try update(for: other) {
            $0.attributes = TestClient.attributes(["labl": .text("new"), ".user": .text("alice")])
            $0.replacesFreeAttributes = true
        }
        let shown = try door.listItems(Self.query)[0].values
        #expect(shown["labl"] == .text("new") && shown[".service"] == nil && shown["only"] == .text(own.path))
        #expect(try refusal { _ = try read(for: other) } == Self.otherProgram)
    }

    // MARK: the door itself, and the owner's command

    @Test func `a program that asks for itself changes rule and programs after the proof, and so it deletes`() throws {
        try add(only: own.path)
        for change in [Change.programs, .noPrograms, .deletion] {
            fixture.prompter.prepare([.cancel])
            #expect(try refusal { try make(change, for: nil) } == "userCancel prompt.cancelled")
            #expect(fixture.prompter.asked.count == 1)
        }
        fixture.prompter.prepare([Self.passcode])
        try make(.programs, for: nil)
        #expect(try refusal { _ = try read(for: own) } == Self.otherProgram)
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(for: other) == "secret")
        fixture.prompter.prepare([Self.passcode])
        try make(.noPrograms, for: nil)
        #expect(try door.listItems(Self.query)[0].values["only"] == nil)
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(for: own) == "secret")
        fixture.prompter.prepare([Self.passcode])
        try make(.deletion, for: nil)
        #expect(fixture.prompter.asked.count == 1)
    }

    @Test func `an item that moved into another group is for its programs as before`() throws {
        try add(only: own.path)
        fixture.prompter.prepare([Self.passcode])
        try make(.group, for: nil)
        fixture.prompter.prepare([])
        #expect(try door.listItems(Self.query)[0].values["agrp"] == .text(Self.doorID))
        #expect(try refusal { _ = try read(for: other) } == Self.otherProgram)
        #expect(try refusal { _ = try read(for: nil) } == Self.otherProgram)
        expectUnasked()
    }

    // MARK: the rule

    private static let needsRule = "invalidParameter item.only-needs-rule"

    @Test func `an item for certain programs has a rule that asks, from the beginning and after each update`() throws {
        #expect(try refusal { try add(only: own.path, .unrestricted) } == Self.needsRule)
        let withoutControl: ItemValues = ["only": .text(own.path)]
        #expect(try refusal { try door.addItem("free", withoutControl) } == Self.needsRule)
        try add(only: nil, .unrestricted)
        #expect(try refusal { try update(["only": .text(own.path)], for: nil) } == Self.needsRule)
        #expect(try door.listItems(Self.query)[0].values["only"] == nil)
        // Both at once is what an owner may want.
        let (ruled, open) = (try AccessControl.item(.passcode), try AccessControl.item(.unrestricted))
        try update(for: nil) {
            $0.accessControl = Data(ruled.canonicalBytes)
            $0.attributes = TestClient.attributes(withoutControl)
        }
        for client in [own, nil] {
            fixture.prompter.prepare([Self.passcode])
            #expect(
                try refusal { try update(for: client) { $0.accessControl = Data(open.canonicalBytes) } }
                    == Self.needsRule)
        }
        #expect(try door.listItems(Self.query).map(\.lock) == [.ruled])
        fixture.prompter.prepare([Self.passcode])
        try update(for: nil) {
            $0.accessControl = Data(open.canonicalBytes)
            $0.attributes = TestClient.attributes(["only": .text("")])
        }
        fixture.prompter.prepare([])
        #expect(try read(for: other) == "secret")
        expectUnasked()
    }

    private static let unknowable: [String] = [
        "\n", "/usr/bin/a\n", "\n/usr/bin/a", "/usr/bin/a\n\n/usr/bin/b", "/usr/bin/a\n/usr/bin/a", "usr/bin/a",
        "not an id", "unknown program", "com.apple.finder", "/usr/bin/python3.11", "/bin/sh", "/lib64/ld-linux.so.2",
        "/" + String(repeating: "p", count: 4096), (0...16).map { "/usr/bin/\($0)" }.joined(separator: "\n"),
    ]

    @Test(arguments: unknowable)
    func `programs by which the daemon knows no caller are refused`(only: String) throws {
        #expect(try refusal { try add(only: only) } == "invalidParameter item.only")
        try add(only: own.path)
        #expect(try refusal { try update(["only": .text(only)], for: nil) } == "invalidParameter item.only")
        expectUnasked()
        #expect(try door.listItems(Self.query).map { $0.values["only"] } == [.text(own.path)])
    }

    @Test func `sixteen programs are the most, and no text is none`() throws {
        let paths = (0..<15).map { "/usr/bin/\($0)" } + [own.path]
        try add(only: paths.joined(separator: "\n"))
        fixture.prompter.prepare([Self.passcode])
        #expect(try read(for: own) == "secret")
        try add(only: "", .unrestricted, label: "empty")
        #expect(try door.listItems(TestClient.query("free", ["labl": .text("empty")]))[0].values["only"] == nil)
    }

    // MARK: other stores

    @Test func `a copy in another store is for the same programs`() throws {
        try add(only: own.path, with: [".service": .text("mail"), ".empty": .text("")])
        let account = fixture.account
        let proved = try account.keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        let halves = try account.life.privateHalves(openedBy: proved)
        let next = try BrokerFixture()
        try next.setPasscode()
        let ids = try fixture.broker.vault.read { try $0.itemIDs(owner: account.id) }
        #expect(try ids.map { try account.items.copy($0, into: next.account.items, openedWith: halves) } == [true])
        let copied = try next.broker.vault.read { reader in
            try reader.item(reader.itemIDs(owner: next.account.id)[0], owner: next.account.id)
        }
        let record = try #require(copied)
        #expect(record.itemClass == .freeform && ids[0] != record.id)
        let attributes = try next.account.items.opener(record).attributes()
        #expect(attributes.text("only") == own.path && attributes.text(".service") == "mail")
        #expect(attributes.text(".empty") == "" && attributes.text("agrp") == Self.group)
        let digests = next.account.items.digests
        for (path, isFor) in [(own.path, true), (other.path, false)] {
            let program = LeaseQuery.Program(path: ExactName(path), applicationID: nil)
            #expect(digests.isFor(program, record.itemClass, record.index) == isFor)
            #expect(attributes.isFor(program) == isFor)
        }
    }
}

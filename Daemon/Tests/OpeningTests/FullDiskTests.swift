import AccessControl
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import OwnerKeys

@Suite(
    "A full disk",
    .enabled(if: SmallDisk.canBeMounted, "mounting a small file system takes root and CAP_SYS_ADMIN"))
struct FullDiskTests {
    let disk: SmallDisk
    let fixture: BrokerFixture

    /// A store with a passcode, unlocked, and no space left.
    init() throws {
        disk = try SmallDisk(byteCount: 16 * 1024 * 1024)
        fixture = try BrokerFixture(stateDirectory: disk.path + "/state", space: nil)
        try fixture.setPasscode()
        try fixture.create("bound", Requirement(anyOf: [.passcode]), .whenUnlocked)
        try fixture.create("free", .unrestricted, .always)
    }

    /// Leaves no space on the disk and none in the journal.
    private func fill() throws {
        // What the journal has room for already would be written even now.
        fixture.account.eraser.erase()
        try disk.fill()
    }

    /// Everything works again and the log is whole.
    private func expectRecovery(rights: Set<String>) throws {
        try disk.empty()
        let client = try fixture.client()
        #expect(try Set(client.list().map(\.identifier)) == rights)
        try fixture.unlock()
        for name in rights {
            #expect(try fixture.opens(name, answers: name == "bound" ? [.text(BrokerFixture.passcode)] : []))
        }
        try fixture.create("new", .unrestricted, .always)
        #expect(try fixture.opens("new"))
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let verdict = try client.verifyLog(interactive: true)
        #expect(verdict.intact && verdict.sealsChecked)
        try fixture.restart()
        #expect(try fixture.opens("new"))
    }

    @Test func `releases nothing that is not released yet`() throws {
        try fill()
        let client = try fixture.client()
        #expect(try fixture.refusalOfAuthorizing("free")?.code == .logUnwritable)
        let bound = try fixture.refusalOfAuthorizing("bound", answers: [.text(BrokerFixture.passcode)])
        #expect(bound?.code == .diskFull)
        #expect(try refusal { try fixture.create("new", .unrestricted, .always) } == .diskFull)
        fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        #expect(try refusal { try client.evaluatePolicy(2, in: client.openContext()) } == .diskFull)
        #expect(try refusal { _ = try client.find("new") } == .notFound)
        try expectRecovery(rights: ["bound", "free"])
    }

    @Test func `changes no passcode`() throws {
        let client = try fixture.client()
        fixture.prompter.prepare([
            .text(BrokerFixture.passcode), .text("another battery 8"), .text("another battery 8"),
        ])
        nonisolated(unsafe) let test = self
        // The disk fills when the present passcode has been proved: the first question is answered before.
        fixture.prompter.always { question in
            guard question.kind != .enterPasscode else { return .text(BrokerFixture.passcode) }
            try? test.fill()
            return .text("another battery 8")
        }
        #expect(try refusal { try client.passcode(.change) } == .diskFull)
        fixture.prompter.always(nil)
        try expectRecovery(rights: ["bound", "free"])
    }

    @Test func `signs a program's share of the last space, and then no more`() throws {
        let client = try fixture.client()
        let context = try client.authorize("free")
        let right = try client.find("free")
        try fill()
        let before = try client.log().count
        var signatureCount = 0
        var code: WireFailureCode?
        while code == nil, signatureCount < 20_000 {
            code = try refusal { _ = try client.sign(right, in: context) }
            if code == nil { signatureCount += 1 }
        }
        #expect(code == .tooMany)
        #expect(signatureCount > 0)
        #expect(try client.log().count - before == signatureCount)
        // The share grows again, slowly; a program that goes on is stopped again.
        fixture.clock.advance(by: .seconds(2))
        var releaseCount = 0
        while releaseCount < 1000, try refusal({ _ = try client.secret(of: right, in: context) }) != .tooMany {
            releaseCount += 1
        }
        #expect(releaseCount == 10)
        try disk.empty()
        #expect(try client.sign(right, in: context))
        try expectRecovery(rights: ["bound", "free"])
    }

    @Test func `locks, deauthorizes and removes`() throws {
        let client = try fixture.client()
        let context = try client.authorize("free")
        let right = try client.find("free")
        try fill()
        try client.deauthorize(context)
        #expect(try refusal { _ = try client.sign(right, in: context) } == .notAuthorized)
        #expect(try client.status().unlocked)
        try client.lock()
        #expect(try !client.status().unlocked)
        try client.remove("free")
        #expect(try client.list().map(\.identifier) == ["bound"])
        try expectRecovery(rights: ["bound"])
    }

    @Test func `removes everything at once`() throws {
        try fill()
        let client = try fixture.client()
        try client.removeAll()
        #expect(try client.list().isEmpty)
        try expectRecovery(rights: [])
    }

    private func sizeOfFile(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: fixture.stateDirectory + "/" + name)
        return try #require(attributes[.size] as? Int)
    }

    /// Removes each, while others take whatever that frees.
    private func removeOneByOne(items: [String], rights: [String]) throws {
        let client = try fixture.client()
        for name in items {
            #expect(try client.deleteItems(TestClient.query("genp", ["acct": .text(name)])) == 1)
            #expect(try sizeOfFile("vault.sqlite-wal") == 0, "old bytes are left")
            try disk.fill()
        }
        for name in rights {
            try client.remove(name)
            #expect(try sizeOfFile("vault.sqlite-wal") == 0, "old bytes are left")
            try disk.fill()
        }
    }

    @Test func `removes one after another, however full the journal is, and after a restart`() throws {
        let names = (0..<12).map(String.init)
        for name in names { try fixture.create(name, .unrestricted, .always) }
        for name in names {
            try fixture.client().addItem("genp", ["acct": .text(name)], data: Data(repeating: 1, count: 200_000))
        }
        #expect(try sizeOfFile("vault.sqlite-wal") > 2 * 1024 * 1024)
        try disk.fill()
        try removeOneByOne(items: Array(names[..<6]), rights: Array(names[..<6]))
        try fixture.restart()
        try disk.fill()
        try removeOneByOne(items: Array(names[6..<11]), rights: Array(names[6..<11]))
        try expectRecovery(rights: ["bound", "free", "11"])
        try fixture.unlock()
        let items = try fixture.client().findItems(TestClient.query("genp"))
        #expect(items.map { $0.item.values["acct"] } == [.text("11")])
    }

    @Test func `after a removal that the reserve is too small for, the next start and the next one have it`() throws {
        let client = try fixture.client()
        for number in 0..<20 {
            try client.addItem("genp", ["acct": .text("\(number)")], data: Data(repeating: 1, count: 200_000))
        }
        try fill()
        #expect(try refusal { try client.deleteItems(TestClient.query("genp")) } == .diskFull)
        fixture.close()
        try disk.fill()
        let copy = try BrokerFixture(in: TestFolder(), stateDirectory: disk.path + "/state")
        #expect(try copy.client().deleteItems(TestClient.query("genp", ["acct": .text("7")])) == 1)
    }

    @Test func `removes the largest item`() throws {
        let client = try fixture.client()
        try client.addItem("genp", ["acct": .text("large")], data: Data(count: WireLimits.tailByteCount))
        try fill()
        try removeOneByOne(items: ["large"], rights: [])
        try expectRecovery(rights: ["bound", "free"])
    }

    @Test func `does not keep the daemon from starting`() throws {
        try fill()
        fixture.close()
        try disk.fill()
        let copy = try BrokerFixture(in: TestFolder(), stateDirectory: disk.path + "/state")
        let client = try copy.client()
        #expect(try client.list().count == 2)
        try client.remove("free")
        #expect(try client.list().count == 1)
    }
}

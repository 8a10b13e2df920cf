import AccessControl
import ExactNames
import Foundation
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import Settings
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Callers
@testable import ProtectedObjects
@testable import Refusals

/// Somebody removes or changes the row of a registration. Its program is refused and not taken for an unregistered one, since what it
/// would then keep lay open to the next file at its path.
@Suite("A registration whose row is gone", .timeLimit(.minutes(10)))
struct LostRegistrationTests {
    private static let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    private static let open = AccessControl(availability: .always, using: .unrestricted)

    private static func register(_ path: String, _ id: String, by fixture: BrokerFixture) throws {
        fixture.prompter.prepare([.confirm])
        try fixture.client().call(
            .registerApplication(
                .with { ($0.path, $0.applicationID, $0.question) = (path, id, TestClient.question) }))
    }

    /// A closed store in which a program is registered and keeps a right, and another registered program.
    private static func makeStore(registering path: String) throws -> StoppedStore {
        let fixture = try BrokerFixture()
        try register(path, "com.example.tests", by: fixture)
        _ = try fixture.client().create("kept", open)
        fixture.close()
        return StoppedStore(of: fixture.folder)
    }

    enum Fault: CaseIterable {
        case removed, altered

        func happen(to store: StoppedStore) throws {
            switch self {
            case .removed: #expect(try store.write("DELETE FROM objects WHERE kind = 3") == 1)
            case .altered: #expect(try store.alter("payload", of: "objects", where: "kind = 3") == 1)
            }
        }
    }

    @Test(arguments: Fault.allCases) func `refuses its program, and says what to do`(_ fault: Fault) throws {
        let store = try Self.makeStore(registering: Self.own)
        try fault.happen(to: store)
        let fixture = try BrokerFixture(in: store.folder)
        let client = try fixture.client()
        #expect(try client.status().caller.applicationID.isEmpty)
        for body in [
            WireRequest.OneOf_Body.listRights(.init()), .findRight(.with { $0.identifier = "kept" }),
            .createRight(
                .with {
                    ($0.identifier, $0.accessControl) = ("new", Data(Self.open.canonicalBytes))
                    $0.question = TestClient.question
                }), .removeAllRights(.init()), .createKey(.init()),
        ] {
            let refused = #expect(throws: Refused.self) { try client.call(body) }
            #expect(refused?.code == .storeUnreadable && refused?.cause == "application.lost")
        }
        let finding = try #require(client.diagnosis().findings.first { $0.check == "store" })
        #expect(finding.verdict == .problem && finding.advice.contains("until you register the program again"))
    }

    @Test(arguments: Fault.allCases) func `comes back with the owner's word alone`(_ fault: Fault) throws {
        let store = try Self.makeStore(registering: Self.own)
        try fault.happen(to: store)
        let fixture = try BrokerFixture(in: store.folder)
        try Self.register(Self.own, "com.example.tests", by: fixture)
        let client = try fixture.client()
        #expect(try client.status().caller.applicationID == "com.example.tests")
        #expect(try client.find("kept").application == "com.example.tests")
        #expect(try client.diagnosis().findings.first { $0.check == "store" }?.verdict == .ok)
        try fixture.restart()
        #expect(try fixture.client().find("kept").application == "com.example.tests")
    }

    @Test(arguments: Fault.allCases) func `keeps no other program from anything, and none clears it away`(
        _ fault: Fault
    ) throws {
        // Another program's; this one makes its right without a registration.
        let store = try Self.makeStore(registering: "/usr/bin/true")
        try fault.happen(to: store)
        let fixture = try BrokerFixture(in: store.folder)
        let client = try fixture.client()
        #expect(try client.find("kept").application == Self.own)
        let row = try #require(client.list(ofAllApplications: true).first { !$0.unreadableBecause.isEmpty }).rightID
        let refused = #expect(throws: Refused.self) { try client.remove(id: row) }
        #expect(refused?.code == .operationNotPermitted && refused?.cause == "application.lost")
        #expect(try client.list(ofAllApplications: true).contains { $0.rightID == row })
    }

    @Test(arguments: Fault.allCases) func `is told before the store is copied into another enclave`(
        _ fault: Fault
    ) throws {
        let store = try Self.makeStore(registering: "/usr/bin/true")
        try fault.happen(to: store)
        let fixture = try BrokerFixture(in: store.folder)
        let inventory = try MoveInventory(fixture.account, fixture.broker.vault)
        let words = inventory.words(folder: "present", newFolder: "new", .tpm)
        #expect(words.contains("Registered programs: 0."), "\(words)")
        #expect(words.contains("Lost registrations, whose rows are missing or do not verify: 1."), "\(words)")
    }

    // MARK: the list

    private static let isOfObjectList = "substr(row_key, 1, 1) = x'07'"

    /// Makes the list of objects unreadable: zeros in the place of its digest, which can be taken back.
    private static func zeroList(of store: StoppedStore) throws {
        #expect(try store.write("UPDATE lists SET mac = zeroblob(length(mac)) WHERE \(isOfObjectList)") > 0)
    }

    /// Requests that need the program's name, and are refused as long as nobody can tell it.
    private static let named: [WireRequest.OneOf_Body] = [
        .listRights(.init()), .findRight(.with { $0.identifier = "kept" }), .removeAllRights(.init()),
        .createKey(.init()), .findItems(.with { $0.query = TestClient.query() }),
        .addItem(.with { ($0.itemClass, $0.use) = ("genp", TestClient.use()) }),
        .deleteItems(.with { $0.query = TestClient.query() }),
    ]

    private func expectRefused(_ client: TestClient) throws {
        for body in Self.named {
            let refused = #expect(throws: Refused.self) { try client.call(body) }
            #expect(
                refused?.code == .storeUnreadable && refused?.cause == "application.list-unreadable",
                "\(String(describing: refused)), \(body)")
        }
    }

    @Test(arguments: [nil] + Fault.allCases.map { Optional($0) })
    func `is none because the list was unreadable at the start`(_ fault: Fault?) throws {
        let store = try Self.makeStore(registering: Self.own)
        let lists = try store.rows("SELECT * FROM lists")
        try Self.zeroList(of: store)
        try fault?.happen(to: store)
        let fixture = try BrokerFixture(in: store.folder)
        let client = try fixture.client()
        try expectRefused(client)
        #expect(throws: Refusal.registrationsUnreadable) { try fixture.account.applications.requireRead() }
        // The owner sees why, and what to do.
        #expect(try client.status().caller.applicationID.isEmpty)
        #expect(try client.diagnosis().findings.contains { $0.verdict == .problem && $0.check == "store" })
        let refused = #expect(throws: Refused.self) { try client.call(.listApplications(.init())) }
        #expect(refused?.cause == "application.list-unreadable")
        // With its old bytes the list counts again, and so do the registrations.
        try store.restore(lists, into: "lists")
        if fault == nil {
            #expect(try client.find("kept").application == "com.example.tests")
            #expect(try client.status().caller.applicationID == "com.example.tests")
        } else {
            let refused = #expect(throws: Refused.self) { try client.find("kept") }
            #expect(refused?.cause == "application.lost")
        }
    }

    @Test func `is none of a program that the list does not name, which is refused until it can be read`() throws {
        let store = try Self.makeStore(registering: "/usr/bin/true")
        let lists = try store.rows("SELECT * FROM lists")
        try Self.zeroList(of: store)
        let fixture = try BrokerFixture(in: store.folder)
        let client = try fixture.client()
        try expectRefused(client)
        fixture.prompter.prepare([.confirm])
        let refused = #expect(throws: Refused.self) {
            try client.call(
                .registerApplication(
                    .with {
                        ($0.path, $0.applicationID, $0.question) = (
                            "/usr/bin/false", "com.example.false", TestClient.question
                        )
                    }))
        }
        #expect(refused?.cause == "application.list-unreadable" && fixture.prompter.asked.isEmpty)
        try store.restore(lists, into: "lists")
        #expect(try client.find("kept").application == Self.own)
    }

    @Test func `comes back when the owner has the list rebuilt`() throws {
        let store = try Self.makeStore(registering: Self.own)
        try Self.zeroList(of: store)
        let fixture = try BrokerFixture(in: store.folder)
        let client = try fixture.client()
        try expectRefused(client)
        fixture.prompter.prepare([.confirm])
        #expect(try client.repair().count == 1)
        #expect(try client.find("kept").application == "com.example.tests")
    }

    @Test func `a program whose registration is lost while it is asked gets nothing in another name`() throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        #expect(try client.status().caller.applicationID.isEmpty)
        nonisolated(unsafe) let shared = fixture
        fixture.prompter.duringNextQuestion {
            do {
                // The owner registers another file at the program's path.
                try shared.account.applications.store(
                    Registration(
                        applicationID: "com.example.tests", groups: [], webCredentials: [], isBrowser: false,
                        path: ExactName(Self.own), identity: .content(Data(count: 32))))
            } catch { Issue.record("\(error)") }
        }
        fixture.prompter.prepare([.text("a password 12"), .text("a password 12")])
        let rule = try AccessControl(availability: .always, using: Requirement(anyOf: [.applicationPassword]))
        // The connection ends, as that of any caller who is another one by now.
        #expect(throws: (any Error).self) { try client.create("new", rule) }
        let last = try fixture.client().log().last { $0.event == "connect" }
        #expect(last?.result == "refused" && last?.reason == "caller-changed")
        #expect(try fixture.account.rights.list(application: ExactName(Self.own), as: .daemon).isEmpty)
    }

    @Test func `a row of a former version, which names no path, is adopted and removed`() throws {
        let fixture = try BrokerFixture()
        try Self.register("/usr/bin/true", "com.example.tool", by: fixture)
        let (vault, owner) = (fixture.broker.vault, fixture.account.id)
        func row() throws -> ObjectRecord? {
            try vault.read { try $0.objects(owner: owner, kind: .application) }.first?.record
        }
        let present = try #require(try row())
        #expect(present.attributes.group == "/usr/bin/true")
        try vault.write("former") { writer in
            let former = ObjectAttributes(
                group: "", identifier: present.attributes.identifier, created: present.attributes.created)
            try writer.updateObject(
                ObjectRecord(
                    id: present.id, owner: owner, kind: .application, suite: 0, generation: present.generation + 1,
                    attributes: former, accessControl: Data(), enclaveKind: 0, publicKey: Data(), keyBlob: Data(),
                    payload: present.payload, slots: Data()))
        }
        fixture.account.applications.reload()
        fixture.prompter.prepare([.confirm])
        try fixture.client().call(
            .registerApplication(
                .with { ($0.path, $0.adopts, $0.question) = ("/usr/bin/true", true, TestClient.question) }))
        #expect(try row()?.attributes.group == "/usr/bin/true")
        fixture.prompter.prepare([.confirm])
        try fixture.client().call(
            .removeApplication(.with { ($0.applicationID, $0.question) = ("com.example.tool", TestClient.question) }))
        #expect(try row() == nil)
    }
}

import AccessControl
import BrokerTestSupport
import ExactNames
import Foundation
import OstiaryWire
import StoreTestSupport
import Testing
import Vault

@testable import Broker
@testable import Callers

/// Somebody removes or changes the row of a registration. Its program is refused and not taken for an unregistered one, since what it
/// would then keep lay open to the next file at its path.
@Suite("A registration whose row is gone", .timeLimit(.minutes(5)))
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

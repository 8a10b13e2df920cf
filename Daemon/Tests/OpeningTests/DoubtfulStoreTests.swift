import AccessControl
import Foundation
import OstiaryMessages
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport

/// A whole older database with a still older log. Neither of the two shows that the other is old; the log's end does not reach the
/// database's anchor, and that is all.
@Suite("An older store with a still older log", .timeLimit(.minutes(10)))
struct DoubtfulStoreTests {
    /// The database after two rights were made, and the log after the first.
    private func makeStore() throws -> TestFolder {
        let fixture = try BrokerFixture()
        try fixture.create("first", .unrestricted, .always)
        try fixture.restart()
        let former = try fixture.crashCopy()
        try fixture.create("second", .unrestricted, .always)
        for _ in 0..<3 { #expect(try fixture.opens("second")) }
        try fixture.restart()
        let folder = try fixture.crashCopy()
        try fixture.client().remove("second")
        fixture.close()
        let log = "/audit.log"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: BrokerFixture.stateDirectory(in: former) + log))
        try bytes.write(to: URL(fileURLWithPath: BrokerFixture.stateDirectory(in: folder) + log))
        return folder
    }

    @Test func `shows none of its lists, and the doctor says why`() throws {
        let fixture = try BrokerFixture(in: makeStore())
        let client = try fixture.client()
        let lists: [WireRequest.OneOf_Body] = [
            .listRights(.init()), .listRights(.with { $0.ofAllApplications = true }),
            .findRight(.with { $0.identifier = "second" }), .findKey(.init()), .listKeys(.init()),
            .pruneKeys(.init()), .listApplications(.init()), .listPasskeys(.init()), .listSecurityKeys(.init()),
            .findItems(.with { $0.query = TestClient.query() }), .authenticatorCommand(.init()),
        ]
        for body in lists {
            let refused = #expect(throws: Refused.self) { try client.call(body) }
            #expect(refused?.code == .logUnwritable && refused?.cause == "log.doubtful-store")
        }
        #expect(try client.status().processID != 0)
        let finding = try #require(client.diagnosis().findings.first { $0.check == "audit log" })
        #expect(finding.verdict == .problem && finding.advice.contains("--replace-damaged-log"))
        #expect(try client.call(.lock(.init())).body == .done(.init()))
    }

    @Test func `shows them once the owner has accepted it`() throws {
        let fixture = try BrokerFixture(in: makeStore(), replacingDamagedLog: true)
        #expect(try fixture.client().list().map(\.identifier).sorted() == ["first", "second"])
    }

    @Test func `a store with its own log shows them`() throws {
        let fixture = try BrokerFixture()
        try fixture.create("first", .unrestricted, .always)
        let copy = try BrokerFixture(in: fixture.crashCopy())
        #expect(try copy.client().list().map(\.identifier) == ["first"])
        copy.close()
    }
}

import AccessControl
import AuditLog
import Auditing
import OstiaryMessages
import Owners
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import Diagnosis

/// The doctor of a daemon for many, as each of its users and the administrator see it.
@Suite("The doctor of many")
struct FindingsOfManyTests {
    private static let ada = SystemUser(id: 10_001, name: "ada")
    private static let grace = SystemUser(id: 10_002, name: "grace")
    private static let root = SystemUser(id: 0, name: "root")

    /// What the machine and the daemon are like. Some of it tells how much all users do.
    private static let ofMachine: Set = [
        "options", "old wraps", "memory", "dumps", "state folder", "tpm", "tpm owner", "store counter", "libraries",
        "sign-in",
    ]

    private let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture(serves: .anybody(closing: .never)) }

    private func findings(for user: SystemUser) throws -> [WireFinding] {
        try fixture.client(as: user).diagnosis().findings
    }

    @Test func `a user gets no finding about the machine, and the administrator gets all of them`() throws {
        let own = try findings(for: Self.ada).map(\.check)
        #expect(Self.ofMachine.isDisjoint(with: own), "\(own)")
        for check in ["store", "passcode", "lockout", "audit log", "prompt", "display", "enclave", "fingers"] {
            #expect(own.contains(check), "\(check)")
        }
        let all = try Set(findings(for: Self.root).map(\.check))
        #expect(all.isSuperset(of: Self.ofMachine) && all.isSuperset(of: own), "\(all.sorted())")
    }

    @Test func `no finding for a user changes with what another user does`() throws {
        let before = try findings(for: Self.ada)
        let grace = try fixture.client(as: Self.grace)
        #expect(try findings(for: Self.ada) == before, "grace has come")

        let passcode = BrokerFixture.passcode
        fixture.prompter.prepare([.text(passcode), .text(passcode)])
        try grace.passcode(.set)
        try grace.create("right", AccessControl(availability: .whenUnlocked, using: .passcode))
        try grace.addItem(["acct": .text("item")])
        #expect(try findings(for: Self.ada) == before, "grace has a passcode, a right and an item")

        fixture.prompter.prepare([.text("wrong one 1"), .text("wrong one 2"), .text("wrong one 3")])
        #expect(throws: Refused.self) { try grace.passcode(.change) }
        fixture.prompter.prepare([.text(passcode), .confirm])
        try grace.passcode(.remove)
        #expect(try findings(for: Self.ada) == before, "grace has none any more")
    }

    @Test func `the administrator's finding on the log is about all of it`() throws {
        let grace = try fixture.client(as: Self.grace)
        try grace.addItem(["acct": .text("item")])
        func finding(for user: SystemUser) throws -> String? {
            try findings(for: user).first { $0.check == "audit log" }?.message
        }
        #expect(try finding(for: Self.ada) == "0 records; each fits the one before it.")
        let all = try fixture.broker.store.log.audit.recordCount(for: .everything)
        #expect(try finding(for: Self.root) == "\(all) records; each fits the one before it.")
    }

    @Test func `the one person whom a daemon serves gets all findings, in their order`() throws {
        let fixture = try BrokerFixture()
        let checks = try fixture.client().diagnosis().findings.map(\.check)
        #expect(
            checks.prefix(27) == [
                "options", "store", "keys", "items", "old wraps", "audit log", "log epochs", "passcode", "lockout",
                "wrong tries", "key pairs", "start", "prompt", "pinentry", "display", "asking", "memory", "dumps",
                "state folder", "session lock", "face", "enclave", "security keys", "tpm", "tpm owner",
                "wrong tries in the TPM", "store counter",
            ], "\(checks)")
        #expect(checks.last == "sign-in")
    }
}

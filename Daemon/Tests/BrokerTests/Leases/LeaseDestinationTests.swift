import AccessControl
import CLinuxShims
import Foundation
import Glibc
import OstiaryMessages
import ProcessFacts
import PromptProtocol
import SSHFormats
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport

/// The places that a lease without destinations is for. The program is `ssh`, which may forward an agent without a word.
@Suite("A lease without destinations", .timeLimit(.minutes(10)))
struct LeaseDestinationTests {
    /// A place that a lease must name.
    enum Place: CaseIterable { case forwarded, perhapsForwarded, unknown, forwardedToUnknown }

    private struct Use {
        let data: Data
        let bindings: [WireSSHBinding]
        /// As a lease names it.
        let destination: String
    }

    private static let program = "/usr/bin/ssh"
    private let fixture: BrokerFixture
    private let client: TestClient
    private let home = SSHHost()
    private let hop = SSHHost()

    init() throws {
        let exit = SharedDescriptor(try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open"))
        let status = try #require(ProcessStatus(of: getpid()))
        var facts = PlayedFacts()
        facts.processes[getpid()] = .success(
            PlayedProcess(getpid()) {
                $0.name = .success(ExecutedName(path: Self.program, isTrue: true))
                $0.status = .success(status)
                $0.exit = .success(exit)
            })
        fixture = try BrokerFixture(facts: facts)
        try fixture.setPasscode()
        client = try fixture.client()
    }

    private func agree() { fixture.prompter.prepare([.text(BrokerFixture.passcode)]) }

    private func key(confirming isConfirming: Bool) throws -> WireRight {
        let control =
            try isConfirming
            ? AccessControl(
                availability: .whenUnlocked, confirmingEachSignatureWith: .passcode,
                leases: GrantLimits(hardSeconds: 3600))
            : AccessControl(availability: .whenUnlocked, using: .passcode)
        return try client.createSSH("work", SSHKeyConstraints(permitsUnknown: true), control)
    }

    /// Grants a lease for signatures with one question, which stays in the prompter.
    @discardableResult
    private func grant(_ key: WireRight, for destinations: String...) throws -> WireLease {
        agree()
        let lease = try client.grantLease([key.rightID]) { ($0.operations, $0.destinations) = (["sign"], destinations) }
        #expect(fixture.prompter.asked.count == 1 && lease.isForAnyDestination == destinations.isEmpty)
        return lease
    }

    private func use(of key: WireRight, at place: Place) throws -> Use {
        let login = try SSHBytes.login(1, by: key.publicKey, to: home)
        let (there, way) = try (home.publicKey.fingerprint, hop.publicKey.fingerprint)
        let (end, over) = try (home.binding(1), hop.binding(2, forwarding: true))
        let unknown = Data("anything".utf8)
        switch place {
        case .forwarded: return Use(data: login, bindings: [over, end], destination: "forwarded by \(way) to \(there)")
        case .perhapsForwarded: return Use(data: login, bindings: [], destination: "perhaps forwarded to \(there)")
        case .unknown: return Use(data: unknown, bindings: [end], destination: "an unknown place")
        case .forwardedToUnknown:
            return Use(data: unknown, bindings: [over], destination: "forwarded by \(way) to an unknown place")
        }
    }

    /// The code and cause that a signature for which nobody may be asked is refused with; nil when it is made.
    private func refusal(_ use: Use, _ key: WireRight, _ context: UInt64) throws -> String? {
        fixture.prompter.prepare([])
        do {
            _ = try client.signSSH(use.data, with: key.rightID, in: context, use.bindings, asking: false)
            return nil
        } catch let refused as Refused { return "\(refused.code.map { "\($0)" } ?? "?") \(refused.cause)" }
    }

    @Test(arguments: Place.allCases, [true, false])
    func `serves nothing that another host asks for, or may, and nothing that goes nobody knows where`(
        place: Place, isConfirming: Bool
    ) throws {
        let key = try key(confirming: isConfirming)
        let lease = try grant(key)
        let use = try use(of: key, at: place)
        let context = try isConfirming ? 0 : client.openContext()
        #expect(try refusal(use, key, context) == "notAuthorized lease.other-destination")
        let record = try client.log().last { $0.result == "refused" }
        #expect(record?.reason == "lease.other-destination" && record?.leaseID == lease.leaseID)
        // If somebody can be asked, the person is asked as without a lease.
        agree()
        _ = try client.signSSH(use.data, with: key.rightID, in: context, use.bindings)
        #expect(fixture.prompter.asked.count == 1)
        #expect(try client.leases().map(\.useCount) == [0])
    }

    @Test(arguments: Place.allCases, [true, false])
    func `is one for such a place if it names the place`(place: Place, isConfirming: Bool) throws {
        let key = try key(confirming: isConfirming)
        let use = try use(of: key, at: place)
        try grant(key, for: use.destination)
        let context = try isConfirming ? 0 : client.openContext()
        #expect(try refusal(use, key, context) == nil)
        #expect(try client.leases().map(\.useCount) == [1])
    }

    @Test(arguments: [true, false])
    func `serves what this machine asks for, to any host that proves itself and for any namespace`(
        isConfirming: Bool
    ) throws {
        let key = try key(confirming: isConfirming)
        try grant(key)
        let context = try isConfirming ? 0 : client.openContext()
        for host in [home, hop] {
            let (login, binding) = try (SSHBytes.login(1, by: key.publicKey, to: host), host.binding(1))
            for data in [login, SSHBytes.signature("git"), SSHBytes.signature("file")] {
                #expect(try refusal(Use(data: data, bindings: [binding], destination: ""), key, context) == nil)
            }
        }
        #expect(try client.leases().map(\.useCount) == [6])
    }

    @Test func `a right that is not for SSH alone has the same limits under it`() throws {
        let right = try client.createSSH("plain", nil, AccessControl(availability: .whenUnlocked, using: .passcode))
        try grant(right)
        let context = try client.openContext()
        try client.authorize(rightID: right.rightID, in: context, interactive: false)
        for place in [Place.forwarded, .perhapsForwarded] {
            #expect(try refusal(use(of: right, at: place), right, context) == "notAuthorized lease.other-destination")
        }
        #expect(try client.sign(right, in: context), "another use has no destination")
        #expect(try client.leases().map(\.useCount) == [1])
    }

    @Test func `the question says so for a key for SSH, and names the destinations of another lease`() throws {
        let key = try key(confirming: true)
        let plain = try client.create("plain", AccessControl(availability: .whenUnlocked, using: .passcode))
        func note() -> String? { fixture.prompter.asked.first?.consequence?.string }
        let end = "It ends after 60 min, with a lock."
        try grant(key)
        #expect(note() == "For “\(Self.program)”: sign, for any host and namespace. \(end)")
        try grant(key, for: "namespace:git")
        #expect(note() == "For “\(Self.program)”: sign, only for “namespace:git”. \(end)")
        try grant(plain)
        #expect(note() == "For “\(Self.program)”: sign. \(end)")
    }
}

import Authenticators
import ExactNames
import Glibc
import OstiaryMessages
import Refusals
import StoreTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import Sessions

@Suite("The passwords that programs leave in contexts") struct CredentialQuotaTests {
    private let limits = SessionLimits.ofOneUser.credentials

    private func refusal(_ body: () throws -> Void) -> Refusal? {
        do {
            try body()
            return nil
        } catch { return error as? Refusal }
    }

    @Test func `are limited for a program, and another one is not refused`() throws {
        let quota = ProgramQuota.credentials(limits)
        var places = try (0..<limits.ofProgram).map { _ in try quota.take(for: "a") }
        #expect(refusal { _ = try quota.take(for: "a") }?.cause == "credential.too-many")
        _ = try quota.take(for: "b")
        places.removeLast()
        places.append(try quota.take(for: "a"))
        #expect(refusal { _ = try quota.take(for: "a") }?.code == .tooMany)
        places = []
        #expect(refusal { _ = try quota.take(for: "a") } == nil)
    }

    @Test func `of another owner's program of the same name are not held up`() throws {
        let quota = ProgramQuota.credentials(limits)
        let places = try (0..<limits.ofProgram).map { _ in try quota.take(for: "a") }
        #expect(refusal { _ = try quota.take(for: "a") }?.cause == "credential.too-many")
        #expect(refusal { _ = try quota.take(for: ProgramOfOwner(owner: .numbered(1), program: "a")) } == nil)
        #expect(places.count == limits.ofProgram)
    }

    @Test func `of an owner with many programs leave places to another owner`() throws {
        let quota = ProgramQuota.credentials(ShareLimits(ofProgram: 2, ofOwner: 3, total: 5))
        let other = ProgramOfOwner(owner: .numbered(1), program: "a")
        var places = try ["a", "b", "c"].map { try quota.take(for: $0) }
        let refused = refusal { _ = try quota.take(for: "d") }
        #expect(refused?.code == .tooMany && refused?.cause == "credential.too-many-of-owner")
        #expect(
            refused?.explanation
                == "This user's programs hold too many passwords in contexts; release contexts that are not needed.")
        places += [try quota.take(for: other), try quota.take(for: other)]
        #expect(refusal { _ = try quota.take(for: other) }?.cause == "credential.too-many")
        #expect(
            refusal { _ = try quota.take(for: "d") }?.cause == "credential.too-many-of-owner",
            "its own share is named first")
        places.removeFirst()
        #expect(refusal { _ = try quota.take(for: "d") } == nil)
        #expect(places.count == 4)
    }

    @Test func `a refusal does not tell how many of others there are`() throws {
        let quota = ProgramQuota.credentials(ShareLimits(ofProgram: 2, total: 1))
        let place = try quota.take(for: "a")
        let refused = refusal { _ = try quota.take(for: ProgramOfOwner(owner: .numbered(1), program: "a")) }
        #expect(refused?.cause == "credential.too-many" && refused?.explanation.contains(where: \.isNumber) == false)
        withExtendedLifetime(place) {}
    }

    @Test func `are limited for all programs`() throws {
        let quota = ProgramQuota.credentials(limits)
        let places = try (0..<limits.total).map { try quota.take(for: "\($0 % 16)") }
        #expect(refusal { _ = try quota.take(for: "new") }?.cause == "credential.too-many")
        #expect(places.count == limits.total)
    }

    @Test func `are given back by the context's end, by removal and by the connection's end`() throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        let contexts = try (0..<limits.ofProgram).map { _ in try client.openContext() }
        for context in contexts { try client.setApplicationPassword("a password", in: context) }
        let other = try fixture.client()
        let (further, last) = (try other.openContext(), try other.openContext())
        func isRefused(in context: UInt64) throws -> Bool {
            try BrokerTestSupport.refusal { try other.setApplicationPassword("another", in: context) } == .tooMany
        }
        #expect(try isRefused(in: further))
        try client.close(contexts[0])
        #expect(try !isRefused(in: further))
        #expect(try !isRefused(in: further), "a password that is replaced gives its place to the new one")
        #expect(try isRefused(in: last))
        let removal = WireSetCredentialRequest.with { ($0.contextID, $0.remove) = (contexts[1], true) }
        try client.call(.setCredential(removal))
        #expect(try !isRefused(in: last))
        let another = try other.openContext()
        #expect(try isRefused(in: another))
        client.end()
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while try isRefused(in: another), ContinuousClock.now < end { sched_yield() }
        #expect(try !isRefused(in: another))
    }
}

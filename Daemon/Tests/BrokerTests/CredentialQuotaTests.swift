import Authenticators
import BrokerTestSupport
import ExactNames
import Glibc
import OstiaryMessages
import Refusals
import StoreTestSupport
import Testing

@testable import Broker

@Suite("The passwords that programs leave in contexts") struct CredentialQuotaTests {
    private func refusal(_ body: () throws -> Void) -> Refusal? {
        do {
            try body()
            return nil
        } catch { return error as? Refusal }
    }

    @Test func `are limited for a program, and another one is not refused`() throws {
        let quota = CredentialQuota()
        var places = try (0..<CredentialQuota.countOfProgram).map { _ in try quota.take(for: "a") }
        #expect(refusal { _ = try quota.take(for: "a") }?.cause == "credential.too-many")
        _ = try quota.take(for: "b")
        places.removeLast()
        places.append(try quota.take(for: "a"))
        #expect(refusal { _ = try quota.take(for: "a") }?.code == .tooMany)
        places = []
        #expect(refusal { _ = try quota.take(for: "a") } == nil)
    }

    @Test func `of another owner's program of the same name are not held up`() throws {
        let quota = CredentialQuota()
        let places = try (0..<CredentialQuota.countOfProgram).map { _ in try quota.take(for: "a") }
        #expect(refusal { _ = try quota.take(for: "a") }?.cause == "credential.too-many")
        #expect(refusal { _ = try quota.take(for: ProgramOfOwner(owner: .numbered(1), program: "a")) } == nil)
        #expect(places.count == CredentialQuota.countOfProgram)
    }

    @Test func `are limited for all programs`() throws {
        let quota = CredentialQuota()
        let places = try (0..<CredentialQuota.totalCount).map { try quota.take(for: "\($0 % 16)") }
        #expect(refusal { _ = try quota.take(for: "new") }?.cause == "credential.too-many")
        #expect(places.count == CredentialQuota.totalCount)
    }

    @Test func `are given back by the context's end, by removal and by the connection's end`() throws {
        let fixture = try BrokerFixture()
        let client = try fixture.client()
        let contexts = try (0..<CredentialQuota.countOfProgram).map { _ in try client.openContext() }
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

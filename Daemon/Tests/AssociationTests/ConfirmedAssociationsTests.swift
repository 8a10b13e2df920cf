import ExactNames
import StoreTestSupport
import Testing

@testable import Callers

@Suite("Domains that said yes to programs")
struct ConfirmedAssociationsTests {
    private typealias Subject = ConfirmedAssociations.Subject

    private let now: Duration = .seconds(100)

    private func subject(_ number: Int, of owner: OwnerID?) throws -> Subject {
        Subject(
            owner: owner, relyingParty: try #require(RelyingPartyIdentifier("host\(number).example.com")),
            applicationID: "com.example.tests")
    }

    private func confirmed(_ counts: [(owner: UInt8, count: Int)]) throws -> ConfirmedAssociations {
        var confirmed = ConfirmedAssociations()
        for (owner, count) in counts {
            for number in 1...count { confirmed.insert(try subject(number, of: .numbered(owner)), at: now) }
        }
        return confirmed
    }

    private func count(_ confirmed: ConfirmedAssociations, of owner: UInt8) throws -> Int {
        var confirmed = confirmed
        return try (1...2000).count(where: { confirmed.contains(try subject($0, of: .numbered(owner)), at: now) })
    }

    @Test func `a yes to one owner's program says nothing of another owner's`() throws {
        var confirmed = try confirmed([(1, 1)])
        let isKnown = confirmed.contains(try subject(1, of: .numbered(1)), at: now)
        #expect(isKnown)
        for owner in [OwnerID.numbered(2), nil] {
            let isKnown = confirmed.contains(try subject(1, of: owner), at: now)
            #expect(!isKnown)
        }
    }

    @Test func `many of one owner leave those of another`() throws {
        let confirmed = try confirmed([(2, 1), (1, 2000)])
        #expect(try count(confirmed, of: 2) == 1)
        let kept = try count(confirmed, of: 1)
        #expect((1..<ConfirmedAssociations.capacity).contains(kept))
    }

    @Test func `an owner with few finds a place where another one has taken all`() throws {
        let confirmed = try confirmed([(1, ConfirmedAssociations.capacity), (2, 100)])
        #expect(try count(confirmed, of: 2) == 100)
    }

    @Test func `of two owners with as many the one who needs a place loses`() throws {
        let half = ConfirmedAssociations.capacity / 2
        var confirmed = try confirmed([(1, half), (2, half)])
        confirmed.insert(try subject(2000, of: .numbered(2)), at: now)
        #expect(try count(confirmed, of: 1) == half && count(confirmed, of: 2) == 1)
    }
}

import AccessControl
import BrokerTestSupport
import Dispatch
import ExactNames
import Foundation
import OstiaryMessages
import Testing

@testable import Broker
@testable import OwnerKeys
@testable import ProtectedObjects
@testable import Refusals

/// What reads much of the store: in pages and turns, and never longer than its request.
@Suite("Long readings", .timeLimit(.minutes(10))) struct LongReadingTests {
    private static let always = AccessControl(availability: .always, using: .unrestricted)
    private let fixture: BrokerFixture

    init() throws { fixture = try BrokerFixture() }

    @Test func `a list of several pages names each right once, for one program and for all`() throws {
        let client = try fixture.client()
        let made = try (0..<RightStore.pageCount * 2 + 3).map { try client.create("right \($0)", Self.always).rightID }
        for isOfAll in [false, true] {
            var (found, cursor, sizes): ([Data], Data, [Int]) = ([], Data(), [])
            repeat {
                let request = WireListRightsRequest.with { ($0.ofAllApplications, $0.cursor) = (isOfAll, cursor) }
                guard case .rights(let page) = try client.call(.listRights(request)).body else {
                    throw TestClient.UnexpectedAnswer()
                }
                found += page.rights.map(\.rightID)
                sizes.append(page.rights.count)
                cursor = page.next
            } while !cursor.isEmpty
            #expect(found == made.sorted { $0.lexicographicallyPrecedes($1) })
            #expect(sizes.allSatisfy { $0 <= RightStore.pageCount } && sizes.count >= 3)
        }
        #expect(try client.status().rights.count == UInt32(made.count))
    }

    @Test func `a cursor that no page gave is none that hurts`() throws {
        let client = try fixture.client()
        try client.create("one", Self.always)
        for cursor in [Data([0]), Data(repeating: 0xff, count: 16), Data(repeating: 7, count: 4000)] {
            guard case .rights(let page) = try client.call(.listRights(.with { $0.cursor = cursor })).body else {
                throw TestClient.UnexpectedAnswer()
            }
            #expect(page.rights.count <= 1 && page.next.isEmpty)
        }
    }

    @Test func `a look-up waits for no long reading, and a list waits for its turn`() throws {
        let client = try fixture.client()
        try client.create("one", Self.always)
        let (begun, gate, listed) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        Thread.detachNewThread {
            do {
                try StretchTurns.ofReading.withTurn {
                    begun.signal()
                    gate.wait()
                }
            } catch { Issue.record("\(error)") }
        }
        begun.wait()
        let path = fixture.socketPath
        Thread.detachNewThread {
            do {
                #expect(try TestClient(socketPath: path).list().count == 1)
            } catch { Issue.record("\(error)") }
            listed.signal()
        }
        // A look-up that needed a turn would never end.
        #expect(try client.find("one").identifier == "one")
        #expect(listed.wait(timeout: .now()) == .timedOut)
        gate.signal()
        listed.wait()
    }

    @Test func `a reading ends when its request was ended`() throws {
        let client = try fixture.client()
        try client.create("one", Self.always)
        let cancellation = RequestCancellation()
        cancellation.cancel(.connectionEnded)
        let ended = RequestCancellation.refusal(.connectionEnded)
        StretchRequester.$current.withValue(StretchRequester(program: "gone", cancellation: cancellation)) {
            #expect(throws: ended) { try fixture.account.rights.counts(application: nil) }
            #expect(throws: ended) { try fixture.account.items.faultCount() }
            #expect(throws: ended) { try fixture.account.rights.list(application: "any") }
        }
    }

    @Test func `a turn among readers is none among those that stretch`() throws {
        let others = StretchTurns(StretchLimits(runCount: 1, waitingCountOfProgram: 4))
        try StretchTurns.ofReading.withTurn {
            try others.withTurn { #expect(others.counts.running == 1) }
        }
    }
}

import AccessControl
import Dispatch
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import Sessions
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import Broker
@testable import BrokerTestSupport
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
        let (turn, listed) = (HeldTurn(), DispatchSemaphore(value: 0))
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
        turn.end()
        listed.wait()
    }

    @Test func `a reading ends when its request was ended`() throws {
        let client = try fixture.client()
        try client.create("one", Self.always)
        let cancellation = RequestCancellation()
        cancellation.cancel(.connectionEnded)
        let ended = RequestCancellation.refusal(.connectionEnded)
        let gone = StretchRequester(program: "gone", cancellation: cancellation)
        #expect(throws: ended) { try fixture.account.rights.counts(application: nil, as: gone) }
        #expect(throws: ended) { try fixture.account.items.faultCount(as: gone) }
        #expect(throws: ended) { try fixture.account.rights.list(application: "any", as: gone) }
    }

    // MARK: what waits for its turn

    /// Requests that read much of the store. Each has a thread of its own, so its connection answers others meanwhile.
    enum Long: String, CaseIterable {
        case items, hosts, update, keys, unusedKeys, rights, status, removal, application

        var body: WireRequest.OneOf_Body {
            switch self {
            case .items:
                .findItems(.with { ($0.query, $0.use) = (TestClient.query(), TestClient.silentUse()) })
            case .hosts:
                .findItems(
                    .with {
                        ($0.query, $0.use, $0.limit) = (TestClient.query("inet"), TestClient.silentUse(), 1)
                        $0.query.hostOrSubdomainOf = "example.com"
                    })
            case .update:
                .updateItems(
                    .with {
                        ($0.query, $0.use) = (TestClient.query(), TestClient.silentUse())
                        $0.attributes = TestClient.attributes(["labl": .text("new")])
                    })
            case .keys: .listKeys(.init())
            case .unusedKeys: .pruneKeys(.init())
            case .rights: .listRights(.init())
            case .status: .status(.init())
            case .removal: .removeAllRights(.init())
            case .application:
                .registerApplication(
                    .with {
                        ($0.path, $0.applicationID) = ("/usr/bin/true", "com.example.true")
                        $0.question = TestClient.question
                    })
            }
        }
    }

    private func fill() throws {
        let client = try fixture.client()
        try client.create("one", Self.always)
        for number in 0..<20 {
            try client.addItem(["acct": .text("\(number)")])
            try client.addItem("inet", ["acct": .text("\(number)"), "srvr": .text("other.example.org")])
        }
        try client.addItem("inet", ["acct": .text("last"), "srvr": .text("www.example.com")])
        _ = try client.createKey(.p256, Self.always)
    }

    @Test(arguments: Long.allCases) func `waits for its turn, and keeps nobody waiting meanwhile`(_ long: Long) throws {
        try fill()
        fixture.prompter.always { _ in .confirm }
        let held = HeldTurn()
        let client = try fixture.client()
        let id = try client.send(long.body)
        // The connection of the waiting request is free, and so are the locks that a request takes.
        let other = try client.send(.findRight(.with { $0.identifier = "one" }))
        let first = try client.answer()
        #expect(first.id == other && first.refused == nil)
        try fixture.client().addItem(["acct": .text("added")])
        try fixture.client().create("two", Self.always)
        try fixture.client().remove("two")
        held.end()
        let answer = try client.answer()
        #expect(answer.id == id && answer.refused == nil, "\(String(describing: answer.refused))")
    }

    @Test(arguments: Long.allCases) func `ends with its client while it waits`(_ long: Long) throws {
        try fill()
        fixture.prompter.always { _ in .confirm }
        let held = HeldTurn()
        defer { held.end() }
        let client = try fixture.client()
        try client.send(long.body)
        client.end()
        try eventually("all sessions have ended") { fixture.broker.sessions.isEmpty }
    }

    @Test func `a few items need no turn`() throws {
        try fill()
        let held = HeldTurn()
        defer { held.end() }
        let client = try fixture.client()
        #expect(try client.findItems(TestClient.query("genp", ["acct": .text("7")])).count == 1)
        #expect(try client.updateItems(TestClient.query("genp", ["acct": .text("7")]), data: Data("new".utf8)) == 1)
    }

    @Test func `many items are found, changed and left out as few are`() throws {
        let client = try fixture.client()
        try fixture.setPasscode()
        let guarded = try AccessControl.item(Requirement(anyOf: [.passcode]))
        for number in 0..<300 {
            try client.addItem(["acct": .text("\(number)")], accessControl: number == 299 ? nil : guarded)
        }
        // The only one that asks nothing is the last one.
        let silent = TestClient.silentUse(skips: true)
        #expect(try client.page(TestClient.query(), limit: 1, use: silent).items.count == 1)
        #expect(try client.findItems(TestClient.query(), use: silent).map { $0.item.values["acct"] } == [.text("299")])
        #expect(
            try refusal { _ = try client.findItems(TestClient.query(), use: TestClient.silentUse()) } == .notInteractive
        )
        fixture.prompter.always { _ in .text(BrokerFixture.passcode) }
        #expect(try client.findItems(TestClient.query()).count == 300)
        let question = try #require(fixture.prompter.asked.first { $0.objects != nil })
        #expect(question.objects?.count == 299)
        #expect(try client.updateItems(TestClient.query(), ["labl": .text("new")]) == 300)
    }

    @Test func `a turn among readers is none among those that stretch`() throws {
        let others = StretchTurns(StretchLimits(runCount: 1, waitingCountOfProgram: 4))
        try StretchTurns.ofReading.withTurn(as: .daemon) {
            try others.withTurn(as: .daemon) { #expect(others.counts.running == 1) }
        }
    }
}

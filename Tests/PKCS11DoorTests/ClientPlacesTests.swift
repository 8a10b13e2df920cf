import CommandFailures
import DoorSupport
import Foundation
import Glibc
import OstiaryMessages
import Synchronization
import Testing

@testable import PKCS11Door

/// Who keeps a place, and who is sent away for another client.
@Suite("Places of clients", .timeLimit(.minutes(10)))
struct ClientPlacesTests {
    private static let start = ContinuousClock.now

    private final class PlayedClient: PlacedClient {
        private let state: Mutex<(need: ClientNeed, isAway: Bool)>
        let lastMessage: ContinuousClock.Instant

        init(_ need: ClientNeed = .nothing, second: Int = 0) {
            state = Mutex((need, false))
            lastMessage = ClientPlacesTests.start + .seconds(second)
        }

        var need: ClientNeed { state.withLock { $0.need } }
        var isAway: Bool { state.withLock { $0.isAway } }
        func set(_ need: ClientNeed) { state.withLock { $0.need = need } }
        func sendAway() { state.withLock { $0.isAway = true } }
    }

    private static let full = DoorFailure(WireFailureCode.tooMany.rawValue, .unknown, "full")

    private func program(_ number: UInt64) -> ProgramFile { ProgramFile(device: 1, inode: number) }

    /// The failure of a client that comes; nil when it has a place.
    private func refusal(
        of client: PlayedClient, _ number: UInt64, at places: ClientPlaces,
        _ begin: () throws(DoorFailure) -> Void = { () throws(DoorFailure) in }
    ) -> Int? {
        do throws(DoorFailure) {
            try places.enter(client, of: program(number), begin)
            return nil
        } catch { return error.code }
    }

    @Test func `programs that need nothing keep no other one out`() {
        let places = ClientPlaces()
        let idle = (0..<200).map { PlayedClient(second: $0) }
        for (index, client) in idle.enumerated() { #expect(refusal(of: client, UInt64(index % 2), at: places) == nil) }
        let (ofProgram, total) = PKCS11Limits.clients
        #expect(idle.filter { !$0.isAway }.count == min(2 * ofProgram, total))
        // The daemon has 32 places for a program, and 64 for a door.
        #expect(ofProgram <= 32 && total <= 64 && 2 * ofProgram < total)
        let other = PlayedClient(second: 200)
        #expect(refusal(of: other, 7, at: places) == nil && !other.isAway)
    }

    @Test func `a program beyond its share sends one of its own away, and beyond the total any`() {
        let places = ClientPlaces(ofProgram: 2, total: 3)
        let (first, second, other) = (PlayedClient(second: 5), PlayedClient(second: 6), PlayedClient(second: 1))
        for (client, number) in [(first, UInt64(1)), (second, 1), (other, 2)] {
            #expect(refusal(of: client, number, at: places) == nil)
        }
        #expect(refusal(of: PlayedClient(second: 7), 1, at: places) == nil)
        #expect(first.isAway && !second.isAway && !other.isAway)
        #expect(refusal(of: PlayedClient(second: 8), 3, at: places) == nil)
        #expect(!second.isAway && other.isAway)
    }

    @Test func `who has used a key goes last, and who waits for an answer not at all`() {
        let places = ClientPlaces(ofProgram: 9, total: 3)
        let clients = [PlayedClient(.answers), PlayedClient(.grants, second: 1), PlayedClient(.nothing, second: 2)]
        for client in clients { #expect(refusal(of: client, 1, at: places) == nil) }
        #expect(refusal(of: PlayedClient(.answers, second: 3), 2, at: places) == nil)
        #expect(clients.map(\.isAway) == [false, false, true])
        #expect(refusal(of: PlayedClient(.answers, second: 4), 3, at: places) == nil)
        #expect(clients.map(\.isAway) == [false, true, true])
        var hasBegun = false
        let late = PlayedClient(second: 5)
        let code = refusal(of: late, 4, at: places) { () throws(DoorFailure) in hasBegun = true }
        #expect(code == -231 && !hasBegun && !clients[0].isAway)
        // Its answer has come.
        clients[0].set(.nothing)
        #expect(refusal(of: late, 4, at: places) == nil && clients[0].isAway)
    }

    @Test func `a client that has left makes room`() {
        let places = ClientPlaces(ofProgram: 1, total: 1)
        let (first, second) = (PlayedClient(.answers), PlayedClient(.answers))
        #expect(refusal(of: first, 1, at: places) == nil && refusal(of: second, 1, at: places) == -231)
        places.leave(first)
        #expect(refusal(of: second, 1, at: places) == nil && !first.isAway)
        // One that was sent away leaves later, and takes no other one's place with it.
        places.leave(first)
        #expect(refusal(of: PlayedClient(), 1, at: places) == -231)
    }

    // MARK: a daemon without room

    @Test func `for a client that the daemon has no place for another one goes, of the same program if there is one`() {
        let places = ClientPlaces()
        let (own, other) = (PlayedClient(second: 2), PlayedClient(second: 1))
        #expect(refusal(of: own, 1, at: places) == nil && refusal(of: other, 2, at: places) == nil)
        var tries = 0
        let code = refusal(of: PlayedClient(.answers, second: 3), 1, at: places) { () throws(DoorFailure) in
            tries += 1
            if tries == 1 { throw Self.full }
        }
        #expect(code == nil && tries == 2 && own.isAway && !other.isAway)
        #expect(
            refusal(of: PlayedClient(.answers, second: 4), 1, at: places) { () throws(DoorFailure) in
                if !other.isAway { throw Self.full }
            } == nil)
    }

    @Test func `for a program that has its share in the daemon nobody else goes`() {
        let places = ClientPlaces()
        let (own, other) = (PlayedClient(second: 2), PlayedClient(second: 1))
        #expect(refusal(of: own, 1, at: places) == nil && refusal(of: other, 2, at: places) == nil)
        let shareIsFull = DoorFailure(
            WireFailureCode.tooMany.rawValue, .unknown, "full", cause: "door.too-many-clients-of-program")
        // Its own one makes room.
        let second = PlayedClient(.answers, second: 3)
        #expect(
            refusal(of: second, 1, at: places) { () throws(DoorFailure) in
                if !own.isAway { throw shareIsFull }
            } == nil)
        // The others of its processes are at other doors.
        for time in 4...6 {
            var tries = 0
            let code = refusal(of: PlayedClient(.answers, second: time), 1, at: places) { () throws(DoorFailure) in
                tries += 1
                throw shareIsFull
            }
            #expect(code == shareIsFull.code && tries == 1)
        }
        #expect(own.isAway && !second.isAway && !other.isAway)
    }

    @Test func `a daemon that stays full refuses, and few are sent away for that`() {
        let places = ClientPlaces()
        let idle = (0..<20).map { PlayedClient(second: $0) }
        for client in idle { #expect(refusal(of: client, 1, at: places) == nil) }
        let code = refusal(of: PlayedClient(second: 30), 1, at: places) { () throws(DoorFailure) in throw Self.full }
        #expect(code == Self.full.code)
        #expect(idle.filter(\.isAway).count == PKCS11Limits.replacedClientCount)
    }

    @Test func `another refusal of the daemon sends nobody away, and leaves no place taken`() {
        let places = ClientPlaces(ofProgram: 2, total: 2)
        let idle = PlayedClient()
        #expect(refusal(of: idle, 1, at: places) == nil)
        let refused = DoorFailure(WireFailureCode.clientRefused.rawValue, .unknown, "refused")
        for second in 1...3 {
            let code = refusal(of: PlayedClient(.answers, second: second), 2, at: places) { () throws(DoorFailure) in
                throw refused
            }
            #expect(code == refused.code)
        }
        #expect(!idle.isAway && refusal(of: PlayedClient(), 2, at: places) == nil && !idle.isAway)
    }

    // MARK: what a connection needs

    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)

        func now() -> ContinuousClock.Instant { time.withLock { $0 } }
        func wait(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    @Test func `a connection needs its place while somebody waits for an answer, and a key that was used counts`()
        throws
    {
        let clock = Clock()
        let (asked, answered) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let played = try PlayedSession(
            PlayedToken { _ in
                asked.signal()
                answered.wait()
                return Data(repeating: 7, count: 64)
            }, now: { clock.now() })
        #expect(played.session.need == .nothing)
        #expect(try played.ask(1, ModuleMessage.objects(1))?.kind == 0x82)
        #expect(played.session.need == .nothing)
        try played.send(ModuleMessage.sign(2, PlayedToken.signer.reference, 0x1041, Data(count: 32)))
        asked.wait()
        clock.wait(.seconds(600))
        #expect(played.session.need == .answers)
        answered.signal()
        #expect(played.sent.answer(2)?.kind == 0x83)
        // The answer is on its way for a moment.
        while played.session.need == .answers { usleep(1000) }
        #expect(played.session.need == .grants)
        #expect(played.session.lastMessage == clock.now())
    }

    @Test func `an operation that is left alone, and an answer that nobody takes, keep no place`() throws {
        let clock = Clock()
        let played = try PlayedSession(now: { clock.now() })
        _ = try played.ask(1, ModuleMessage.update(1, 5, 0x1044, Data([1])))
        #expect(played.session.need == .answers)
        clock.wait(PKCS11Limits.attentionTime)
        #expect(played.session.need == .nothing)
        let (reached, stuck) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let session = TokenSession(
            PlayedToken(), end: played.end,
            send: { _ in
                reached.signal()
                stuck.wait()
            }, note: { _ in }, now: { clock.now() })
        let hello = Thread { try? session.handle(ModuleMessage.hello) }
        hello.start()
        reached.wait()
        #expect(session.need == .answers)
        clock.wait(PKCS11Limits.attentionTime)
        #expect(session.need == .nothing)
        stuck.signal()
    }
}

import ExactNames
import Foundation
import OstiaryMessages
import Passcodes
import Refusals
import SecretMemory
import StoreTestSupport
import Synchronization
import Testing

@testable import OwnerKeys

@Suite("Waiting for a turn at stretching") struct StretchTurnsTests {
    private let turns = StretchTurns(StretchLimits(runCount: 1, waitingCountOfProgram: 4))

    /// What became of one that asked for a turn on a thread of its own.
    private final class Attempt: Sendable {
        private let outcome = Mutex<Result<Void, any Error>?>(nil)
        private let end = DispatchSemaphore(value: 0)
        let cancellation: RequestCancellation

        init(
            at turns: StretchTurns, for program: ProgramOfOwner,
            cancellation: RequestCancellation = RequestCancellation(), _ body: @escaping @Sendable () -> Void = {}
        ) {
            self.cancellation = cancellation
            Thread { [self] in
                let requester = StretchRequester(program: program, cancellation: cancellation)
                let result = Result { try turns.withTurn(as: requester, body) }
                outcome.withLock { $0 = result }
                end.signal()
            }.start()
        }

        func wait() throws {
            try #require(end.wait(timeout: .now() + 120) == .success, "it ends")
            try outcome.withLock { $0 }?.get()
        }
    }

    /// Waits until so many wait.
    private func waitUntil(waiting count: Int) throws {
        let end = Date(timeIntervalSinceNow: 10)
        while turns.counts.waiting != count {
            try #require(Date() < end, "\(turns.counts)")
            Thread.sleep(forTimeInterval: 0.002)
        }
    }

    @Test func `a request that is ended while it waits leaves at once, and the next has its turn`() throws {
        let gate = DispatchSemaphore(value: 0)
        let running = Attempt(at: turns, for: "a") { gate.wait() }
        while turns.counts.running == 0 { Thread.sleep(forTimeInterval: 0.002) }
        let ended = Attempt(at: turns, for: "b")
        let next = Attempt(at: turns, for: "c")
        try waitUntil(waiting: 2)
        ended.cancellation.cancel(.connectionEnded)
        #expect(throws: RequestCancellation.refusal(.connectionEnded)) { try ended.wait() }
        #expect(turns.counts == (1, 1))
        gate.signal()
        try running.wait()
        try next.wait()
        #expect(turns.counts == (0, 0))
    }

    @Test func `a request that was ended before does not begin to wait`() throws {
        try turns.withTurn(as: .daemon) {
            let cancellation = RequestCancellation()
            cancellation.cancel(.locked)
            let ended = Attempt(at: turns, for: "a", cancellation: cancellation)
            #expect(throws: RequestCancellation.refusal(.locked)) { try ended.wait() }
        }
        #expect(turns.counts == (0, 0))
    }

    @Test func `a turn is passed on after an error`() throws {
        struct Failed: Error {}
        #expect(throws: Failed.self) { try turns.withTurn(as: .daemon) { throw Failed() } }
        #expect(turns.counts == (0, 0))
    }

    @Test func `a turn holds for all that is stretched within it, and another waits until its end`() throws {
        let stretching = PasscodeStretching(turns: turns) { [turns] entry, _, _ in
            #expect(turns.counts.running == 1)
            return SecretBytes(copying: entry)
        }
        let exclusively = ExclusiveAccess(turns: turns)
        let cancellation = RequestCancellation()
        try exclusively.withStretchTurnAndAccess(as: .daemon) { held in
            for _ in 1...2 {
                _ = try stretching.stretch(
                    SecretBytes(random: 8), salt: .random(), parameters: .recommended, in: held.turn)
            }
            let other = Attempt(at: turns, for: "b", cancellation: cancellation)
            try waitUntil(waiting: 1)
            cancellation.cancel(.caller)
            #expect(throws: RequestCancellation.refusal(.caller)) { try other.wait() }
        }
        #expect(turns.counts == (0, 0))
        _ = try stretching.stretch(SecretBytes(random: 8), salt: .random(), parameters: .recommended, as: .daemon)
    }

    @Test func `one beyond the limit of its program is refused`() throws {
        let gate = DispatchSemaphore(value: 0)
        let running = Attempt(at: turns, for: "a") { gate.wait() }
        while turns.counts.running == 0 { Thread.sleep(forTimeInterval: 0.002) }
        let waiting = (1...4).map { _ in Attempt(at: turns, for: "a") }
        try waitUntil(waiting: 4)
        do {
            try Attempt(at: turns, for: "a").wait()
            Issue.record("it was let in")
        } catch let refusal as Refusal {
            #expect(refusal.code == .tooMany && refusal.cause == "stretch.too-many")
        }
        let other = Attempt(at: turns, for: "b")
        try waitUntil(waiting: 5)
        gate.signal()
        for attempt in [running, other] + waiting { try attempt.wait() }
    }

    @Test func `one beyond the limit of its owner is refused, and another owner's program has the next turn`() throws {
        let turns = StretchTurns(StretchLimits(runCount: 1, waitingCountOfProgram: 1, waitingCountOfOwner: 2))
        let gate = DispatchSemaphore(value: 0)
        let ended = Mutex<[String]>([])
        let running = Attempt(at: turns, for: "a") { gate.wait() }
        while turns.counts.running == 0 { Thread.sleep(forTimeInterval: 0.002) }
        func wait(_ program: ProgramOfOwner, waiting count: Int) throws -> Attempt {
            let attempt = Attempt(at: turns, for: program) { ended.withLock { $0.append(program.program.text) } }
            let end = Date(timeIntervalSinceNow: 10)
            while turns.counts.waiting != count, Date() < end { Thread.sleep(forTimeInterval: 0.002) }
            return attempt
        }
        let same = [try wait("b", waiting: 1), try wait("c", waiting: 2)]
        do {
            try Attempt(at: turns, for: "d").wait()
            Issue.record("it was let in")
        } catch let refusal as Refusal {
            #expect(refusal.code == .tooMany && refusal.cause == "stretch.too-many-of-owner")
            #expect(
                refusal.explanation == "Too many requests of this user's programs wait for a password to be computed; "
                    + "try again later.")
        }
        let other = try wait(ProgramOfOwner(owner: .numbered(1), program: "other owner"), waiting: 3)
        gate.signal()
        for attempt in [running, other] + same { try attempt.wait() }
        #expect(ended.withLock { $0 } == ["other owner", "b", "c"])
    }

    @Test func `a reading beyond a limit is told what it waited for`() throws {
        let turns = StretchTurns(
            StretchLimits(runCount: 1, waitingCountOfProgram: 0, waitingCountOfOwner: 0), waitingFor: .reading)
        try turns.withTurn(as: .daemon) {
            do {
                try Attempt(at: turns, for: "a").wait()
                Issue.record("it was let in")
            } catch let refusal as Refusal {
                #expect(refusal.code == .tooMany && refusal.cause == "read.too-many")
                #expect(
                    refusal.explanation
                        == "Too many requests of this program wait to read the store; try again later.")
            }
        }
    }

    @Test func `another owner's program of the same name is not held up`() throws {
        let gate = DispatchSemaphore(value: 0)
        let running = Attempt(at: turns, for: "a") { gate.wait() }
        while turns.counts.running == 0 { Thread.sleep(forTimeInterval: 0.002) }
        let ended = Mutex<[String]>([])
        @Sendable func noteSame() { ended.withLock { $0.append("same owner") } }
        @Sendable func noteOther() { ended.withLock { $0.append("other owner") } }
        let waiting = (1...4).map { _ in Attempt(at: turns, for: "a", noteSame) }
        try waitUntil(waiting: 4)
        let other = Attempt(at: turns, for: ProgramOfOwner(owner: .numbered(1), program: "a"), noteOther)
        try waitUntil(waiting: 5)
        gate.signal()
        for attempt in [running, other] + waiting { try attempt.wait() }
        #expect(ended.withLock { $0 } == ["other owner"] + Array(repeating: "same owner", count: 4))
    }

    @Test func `never more run than the limit`() throws {
        let turns = StretchTurns(StretchLimits(runCount: 3, waitingCountOfProgram: 40))
        let load = Mutex((now: 0, most: 0))
        @Sendable func work() {
            load.withLock { load in
                load.now += 1
                load.most = max(load.most, load.now)
            }
            Thread.sleep(forTimeInterval: 0.003)
            load.withLock { $0.now -= 1 }
        }
        let attempts = (0..<40).map { Attempt(at: turns, for: "\($0 % 4)", work) }
        for attempt in attempts { try attempt.wait() }
        #expect(load.withLock { $0.most } == 3)
    }
}

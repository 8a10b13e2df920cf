import Dispatch
import Foundation
import Glibc
import ProcessFacts
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import Threading

@testable import IdentityFacts

/// Below `hidepid`, where the user of a process is the one who is named with it.
@Suite("Users who share a helper", .timeLimit(.minutes(10)))
struct HelperTurnsTests {
    private typealias Helper = IdentityFacts.IdentityHelper

    /// No wait ends because the machine is busy.
    private static var patient: Helper.Patience {
        var patience = Helper.Patience()
        (patience.turn, patience.greeting, patience.answer) = (.seconds(600), .seconds(600), .seconds(600))
        return patience
    }

    /// - Parameter now: the time, which stands still in most tests.
    private func helper(
        _ running: RunningHelper, at now: @escaping @Sendable () -> ContinuousClock.Instant,
        turns: Turns<UInt32> = Turns()
    ) -> Helper {
        Helper(running.socket, patience: Self.patient, seeing: { _ in nil }, at: now, turns: turns)
    }

    private func look(_ helper: Helper, at processID: Int32 = getpid(), of userID: UInt32) throws(FactFailure) {
        _ = try HelperFacts(helper).hold(processID, nil, of: userID).executable()
    }

    private func search(_ helper: Helper, of userID: UInt32) throws(FactFailure) {
        _ = try helper.namesake(ofTerminal: 34816, besidesSession: 1, of: userID)
    }

    /// A look on a thread of its own.
    private func beginLook(_ helper: Helper, at processID: Int32, of userID: UInt32, in group: DispatchGroup) {
        group.enter()
        Thread.detachNewThread {
            do { try look(helper, at: processID, of: userID) } catch { Issue.record(error) }
            group.leave()
        }
    }

    @Test func `a look comes next, however many looks of another user wait`() throws {
        let folder = try TestFolder()
        let running = try RunningHelper(false: ["looks", PlayedAnswer().hexadecimal, folder.path("looks")])
        let (turns, done, time) = (Turns<UInt32>(), DispatchGroup(), ContinuousClock.now)
        let helper = helper(running, at: { time }, turns: turns)
        let process = try SpawnedProcess("/bin/sleep", ["600"])
        // A look of the first user runs.
        turns.take(for: 1000)
        for count in 1...50 {
            beginLook(helper, at: getpid(), of: 1000, in: done)
            try eventually("the look waits") { turns.waitingCount == count }
        }
        beginLook(helper, at: process.processID, of: 1001, in: done)
        try eventually("the other user's look waits") { turns.waitingCount == 51 }
        turns.passOn()
        #expect(done.wait(timeout: .now() + 300) == .success)
        let looks = try String(contentsOfFile: folder.path("looks"), encoding: .utf8).split(separator: "\n")
        #expect(looks.count == 51)
        #expect(looks.first == "/proc/\(process.processID)")
        withExtendedLifetime(running) {}
    }

    @Test func `a search that the helper did not survive counts for its user`() throws {
        let folder = try TestFolder()
        let running = try RunningHelper(false: ["looks", PlayedAnswer().hexadecimal, folder.path("looks")])
        let time = ContinuousClock.now
        let helper = helper(running, at: { time })
        #expect(throws: FactFailure.unreadable) { try search(helper, of: 1000) }
        #expect(throws: FactFailure.unreadable) { try look(helper, of: 1000) }
        // The next helper would have answered.
        try look(helper, of: 1001)
        withExtendedLifetime(running) {}
    }

    /// Whether the helper does nothing for the user any more, after a few questions.
    private func isPaused(after ask: () throws(FactFailure) -> Void) -> Bool {
        for _ in 1...10 {
            do throws(FactFailure) { try ask() } catch { return error == .unreadable }
        }
        return false
    }

    /// A clock on which each answer takes a second.
    private func slowHelper(_ running: RunningHelper) -> Helper {
        let time = Mutex(ContinuousClock.now)
        return helper(
            running,
            at: {
                time.withLock { time in
                    time += .seconds(1)
                    return time
                }
            })
    }

    @Test func `a user whose looks take long is not served for a while, and another one is`() throws {
        let running = try RunningHelper(false: ["answer", PlayedAnswer().hexadecimal])
        let helper = slowHelper(running)
        let isPaused = isPaused { () throws(FactFailure) in try look(helper, of: 1000) }
        #expect(isPaused)
        try look(helper, of: 1001)
        withExtendedLifetime(running) {}
    }

    @Test func `a user whose searches take long is not served for a while, and another one is`() throws {
        let running = try RunningHelper(false: ["answer", "6e000000SSSSSSSS00000000"])
        let helper = slowHelper(running)
        let isPaused = isPaused { () throws(FactFailure) in try search(helper, of: 1000) }
        #expect(isPaused)
        try search(helper, of: 1001)
        withExtendedLifetime(running) {}
    }

    @Test func `an answer in the usual time costs nothing, and slower ones are paid back`() {
        var holdUps = HoldUps()
        let begin = ContinuousClock.now
        for _ in 1...1000 { holdUps.charge(1000, HoldUps.usual, at: begin) }
        holdUps.charge(1000, HoldUps.usual + HoldUps.allowance, at: begin)
        #expect(!holdUps.isPaused(1000, at: begin), "one slow answer")
        holdUps.charge(1000, HoldUps.usual + .milliseconds(1), at: begin)
        #expect(holdUps.isPaused(1000, at: begin))
        #expect(!holdUps.isPaused(1001, at: begin))
        #expect(holdUps.isPaused(1000, at: begin + .milliseconds(9)))
        #expect(!holdUps.isPaused(1000, at: begin + .milliseconds(10)))
        // All is paid back then, and a slow answer costs no more than at first.
        let later = begin + HoldUps.allowance * (HoldUps.payback + 1)
        holdUps.charge(1000, HoldUps.usual + HoldUps.allowance, at: later)
        #expect(!holdUps.isPaused(1000, at: later))
    }
}

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

    @Test func `after a search that ended the helper its user's searches are refused, and looks are not`() throws {
        let folder = try TestFolder()
        let running = try RunningHelper(false: ["looks", PlayedAnswer().hexadecimal, folder.path("looks")])
        let time = ContinuousClock.now
        let helper = helper(running, at: { time })
        #expect(throws: FactFailure.unreadable) { try search(helper, of: 1000) }
        try look(helper, of: 1000)
        let next = try #require(running.process)
        #expect(throws: FactFailure.unreadable) { try search(helper, of: 1000) }
        try look(helper, of: 1000)
        #expect(running.process == next, "the second search did not reach the helper, which it would have ended")
        #expect(throws: FactFailure.unreadable) { try search(helper, of: 1001) }
        try look(helper, of: 1001)
        #expect(running.process != next, "another user's search did")
        withExtendedLifetime(running) {}
    }

    /// How many of 100 questions are answered before the helper does nothing for the user.
    private func answeredCount(_ ask: () throws(FactFailure) -> Void) -> Int {
        for count in 0..<100 {
            do throws(FactFailure) { try ask() } catch {
                #expect(error == .unreadable)
                return count
            }
        }
        return 100
    }

    /// A clock on which each answer takes this long, as does each other step of a question.
    private func slowHelper(_ running: RunningHelper, _ step: Duration = .seconds(1)) -> Helper {
        let time = Mutex(ContinuousClock.now)
        return helper(
            running,
            at: {
                time.withLock { time in
                    time += step
                    return time
                }
            })
    }

    private static let noNamesake = "6e000000SSSSSSSS00000000"

    @Test func `a user whose looks take long is not served for a while, and another one is`() throws {
        let running = try RunningHelper(false: ["answer", PlayedAnswer().hexadecimal])
        let helper = slowHelper(running)
        let count = answeredCount { () throws(FactFailure) in try look(helper, of: 1000) }
        #expect(count < 100)
        try look(helper, of: 1001)
        withExtendedLifetime(running) {}
    }

    @Test func `a user whose searches take long is not served for a while, and another one is`() throws {
        let running = try RunningHelper(false: ["answer", Self.noNamesake])
        // So short that little is paid back between two of them.
        let helper = slowHelper(running, .milliseconds(200))
        let count = answeredCount { () throws(FactFailure) in try search(helper, of: 1000) }
        #expect(count < 100)
        try search(helper, of: 1001)
        withExtendedLifetime(running) {}
    }

    /// Whoever has many processes, or keeps the processors busy, makes the searches of all others slow.
    @Test func `a user who asks now and then is asked, however long the searches take`() throws {
        let running = try RunningHelper(false: ["answer", Self.noNamesake])
        let helper = slowHelper(running)
        let count = answeredCount { () throws(FactFailure) in try search(helper, of: 1000) }
        #expect(count == 100)
        withExtendedLifetime(running) {}
    }

    @Test func `slow searches of a user are refused beyond ten at once and one every two seconds, and cost no look`() {
        var holdUps = HoldUps()
        var now = ContinuousClock.now
        for _ in 1...10 { holdUps.charge(.search, of: 1000, .seconds(2), at: now) }
        for _ in 1...100 {
            #expect(!holdUps.isPaused(.search, of: 1000, at: now))
            holdUps.charge(.search, of: 1000, .seconds(2), at: now)
            #expect(holdUps.isPaused(.search, of: 1000, at: now + .milliseconds(1999)))
            #expect(!holdUps.isPaused(.search, of: 1001, at: now))
            #expect(!holdUps.isPaused(.look, of: 1000, at: now))
            now += .seconds(2)
        }
    }

    @Test func `a look in the usual time costs nothing, and slower ones are paid back`() {
        var holdUps = HoldUps()
        let begin = ContinuousClock.now
        for _ in 1...1000 { holdUps.charge(.look, of: 1000, HoldUps.usual, at: begin) }
        holdUps.charge(.look, of: 1000, HoldUps.usual + HoldUps.allowance, at: begin)
        #expect(!holdUps.isPaused(.look, of: 1000, at: begin), "one slow answer")
        holdUps.charge(.look, of: 1000, HoldUps.usual + .milliseconds(1), at: begin)
        #expect(holdUps.isPaused(.look, of: 1000, at: begin))
        #expect(!holdUps.isPaused(.search, of: 1000, at: begin))
        #expect(!holdUps.isPaused(.look, of: 1001, at: begin))
        #expect(holdUps.isPaused(.look, of: 1000, at: begin + .milliseconds(9)))
        #expect(!holdUps.isPaused(.look, of: 1000, at: begin + .milliseconds(10)))
        // All is paid back then, and a slow answer costs no more than at first.
        let later = begin + HoldUps.allowance * (HoldUps.payback + 1)
        holdUps.charge(.look, of: 1000, HoldUps.usual + HoldUps.allowance, at: later)
        #expect(!holdUps.isPaused(.look, of: 1000, at: later))
    }
}

import ExactNames
import Foundation
import Glibc
import ProcessFacts
import PromptProtocol
import Prompting
import Settings
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing

/// One daemon that asks several users.
@Suite(.timeLimit(.minutes(10))) struct OwnerPromptersTests {
    /// Sensors may wait for every user but 7.
    private struct Sessions: SessionRecords {
        func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? {
            userID == 7 ? .sessionLocked : nil
        }

        func isAtMachine(_ userID: UInt32) -> Bool { true }
    }

    private static func prompter(of userID: UInt32) -> ProcessPrompter {
        ProcessPrompter(
            program: "/nonexistent/ostiary-prompt", configuration: PromptConfiguration(), userID: userID,
            buses: SessionBuses(system: "/nonexistent", user: "/nonexistent"), sessions: Sessions())
    }

    @Test func `a user's prompter is made at the first question to them, and once`() {
        let made = Mutex<[UInt32]>([])
        let prompters = OwnerPrompters { userID in
            made.withLock { $0.append(userID) }
            return Self.prompter(of: userID)
        }
        #expect(made.withLock { $0 }.isEmpty)
        for userID in [7, 8, 7, 8] as [UInt32] {
            #expect(prompters.sensorRefusal(ofProcess: 1, of: userID) == (userID == 7 ? .sessionLocked : nil))
            #expect(prompters.laterSensorRefusal(ofProcess: 1, of: userID)() == (userID == 7 ? .sessionLocked : nil))
        }
        #expect(made.withLock { $0 } == [7, 8])
    }

    @Test func `a user's prompter is forgotten with the account, and made again at the next question`() {
        let made = Mutex<[UInt32]>([])
        let prompters = OwnerPrompters { userID in
            made.withLock { $0.append(userID) }
            return Self.prompter(of: userID)
        }
        func look() { for userID in [7, 8] as [UInt32] { _ = prompters.sensorRefusal(ofProcess: 1, of: userID) } }
        look()
        PromptQueue(prompters).forget(7)
        #expect(made.withLock { $0 } == [7, 8])
        look()
        #expect(made.withLock { $0 } == [7, 8, 7])
    }

    @Test func `the prompter of one user asks no other one`() {
        let caller = PromptCaller(processID: 1, process: nil, userID: 8, program: "x", terminal: nil)
        func unavailability(_ prompter: any PlacingPrompter) -> PromptUnavailability? {
            guard case .failure(let reason) = prompter.place(.passcode, for: caller) else { return nil }
            return reason
        }
        #expect(unavailability(Self.prompter(of: 7)) == .otherUser)
        #expect(unavailability(Self.prompter(of: 8)) == .notInteractive)
        #expect(unavailability(OwnerPrompters { Self.prompter(of: $0) }) == .notInteractive)
    }

    /// It runs as the daemon's user, so the user who is asked may not be able to replace it.
    @Test func `a pinentry must be the daemon's user's or root's, for another user too`() throws {
        let folder = try TestFolder()
        let program = folder.path("pinentry")
        try Data("#!/bin/sh\n".utf8).write(to: URL(fileURLWithPath: program))
        try #require(chmod(program, 0o755) == 0)
        var configuration = PromptConfiguration()
        (configuration.frontEnds, configuration.pinentryPath, configuration.display) = ([.pinentry], program, ":7")
        let other: UInt32 = 12_345
        func isStarted() -> Bool {
            let prompter = ProcessPrompter(
                program: "/nonexistent/ostiary-prompt", configuration: configuration, userID: other,
                buses: SessionBuses(system: "/nonexistent", user: "/nonexistent"), sessions: Sessions())
            switch prompter.frontEndWithoutTerminal() {
            case .success(.pinentry): return true
            case .success: return false
            case .failure(let reason):
                #expect(reason == .untrusted(.otherOwner(program)))
                return false
            }
        }
        #expect(isStarted())
        guard geteuid() == 0 else { return }
        try #require(chown(program, other, other) == 0)
        #expect(!isStarted())
    }
}

extension RealPromptTests {
    /// Real sheets and terminals of two owners.
    @Suite struct TwoOwnersTests {
        private let stage: SheetStage

        init() throws { stage = try SheetStage() }

        private var sheets: [pid_t] { runningPrompts(named: "ostiary-sheet") }

        private func ask(
            _ prompter: any Prompter, of owner: UInt8, userID: UInt32 = getuid(), holdingSheet: Bool = false
        ) throws -> Asking {
            let caller = PromptCaller(
                processID: stage.process.processID, process: try KernelFacts().hold(stage.process.processID),
                userID: userID, owner: .numbered(owner), program: "/usr/bin/asker", terminal: nil)
            return try Asking(prompter, .passcode, on: caller, holdingSheet: holdingSheet)
        }

        @Test func `two owners are asked in two sheets at once, one owner in one after the other`() throws {
            let queue = PromptQueue(stage.prompters)
            let first = try ask(queue, of: 1)
            let second = try ask(queue, of: 2)
            try eventually("both are visible") { first.isShown && second.isShown }
            #expect(sheets.count == 2)
            let behind = try ask(queue, of: 1)
            try eventually("the third waits") { queue.waitingCount == 1 }
            #expect(!behind.isShown && sheets.count == 2)
            first.cancellation.cancel(because: .superseded)
            #expect(first.wait() == .interrupted(.superseded))
            try eventually("the third is visible") { behind.isShown }
            for asking in [second, behind] {
                #expect(asking.wait(seconds: 0) == .stillAsking)
                asking.cancellation.cancel(because: .superseded)
                #expect(asking.wait() == .interrupted(.superseded))
            }
        }

        /// The display is root's, so it is taken for the display of any user.
        @Test(.enabled(if: geteuid() == 0, "the display of another user is refused"))
        func `a question to one user leaves the held sheet of another alone`() throws {
            let prompters = stage.prompters
            let asking = try ask(prompters, of: 1, holdingSheet: true)
            try eventually("the sheet is visible") { asking.isShown }
            try stage.server.focusSheet()
            try stage.server.type("wrong")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("wrong", .passcode))
            let held = try #require(sheets.first)
            let other = try ask(prompters, of: 2, userID: 12_345)
            try eventually("the other user's is visible") { other.isShown }
            #expect(sheets.contains(held) && sheets.count == 2)
            let next = try ask(prompters, of: 1)
            try eventually("the next one of the first user is visible") { next.isShown }
            try eventually("their held sheet is gone") { !sheets.contains(held) }
            for asking in [other, next] {
                asking.cancellation.cancel(because: .superseded)
                #expect(asking.wait() == .interrupted(.superseded))
            }
            asking.dropSheet()
        }

        @Test func `two owners are asked on one terminal one after the other`() throws {
            let terminal = try PseudoTerminal()
            let process = try CallerProcess(on: terminal)
            let queue = PromptQueue(
                OwnerPrompters {
                    ProcessPrompter(program: Build.prompt, configuration: PromptConfiguration(), userID: $0)
                })
            let first = try Asking(queue, .passcode, on: process.caller(terminal.slave, owner: .numbered(1)))
            terminal.waitFor("Passcode: ")
            let second = try Asking(queue, .passcode, on: process.caller(terminal.slave, owner: .numbered(2)))
            try eventually("the second waits") { queue.waitingCount == 1 }
            terminal.clearScreen()
            terminal.type("first\r")
            #expect(first.wait() == .entered("first", .passcode))
            terminal.waitFor("Passcode: ")
            terminal.type("second\r")
            #expect(second.wait() == .entered("second", .passcode))
        }
    }
}

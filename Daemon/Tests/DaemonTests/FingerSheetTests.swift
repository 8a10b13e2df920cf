import FingerprintTestSupport
import Foundation
import Glibc
import TerminalTestSupport
import Testing

/// A finger while the real sheet asks for it: real daemon, real fprintd, real X server, and a program with Apple's calls.
@Suite(.timeLimit(.minutes(10))) struct FingerSheetTests {
    private let desk: FingerDesk

    init() throws {
        desk = try FingerDesk()
        try #require(try desk.run("current-set-make") == ["save: ok", "add: 0"])
    }

    private static let opened = ["authorize: ok", "sign: ok", "verify: ok"]

    private func expectNoSheet() throws {
        // After a proof nobody waits for the window's end.
        try eventually("the sheet is gone") { !desk.server.hasSheet && desk.sheets.isEmpty }
    }

    private func expectOpens(_ run: ScenarioRun, _ location: SourceLocation = #_sourceLocation) throws {
        try desk.touch()
        #expect(try Array(run.lines().prefix(3)) == Self.opened, sourceLocation: location)
        #expect(try !desk.stack.isArmed(), sourceLocation: location)
        try expectNoSheet()
    }

    @Test func `a touch opens, and the sheet goes`() throws {
        let run = try desk.start("current-set-sign")
        try desk.waitUntilArmed()
        #expect(desk.server.hasSheet && desk.sheets.count == 1)
        try expectOpens(run)
    }

    @Test func `a finger that is not recognised is told on the sheet, and the right one after it opens`() throws {
        let grants = try desk.grantCount()
        let run = try desk.start("current-set-sign")
        try desk.waitUntilArmed()
        let before = try desk.stillScreen()
        try desk.stack.play(.touch("stranger"))
        try eventually("the sheet changes") { try desk.screen() != before }
        #expect(desk.server.hasSheet && run.isRunning)
        #expect(try desk.grantCount() == grants)
        try expectOpens(run)
    }

    // MARK: faults

    /// The reader is free, the sheet is gone, nothing was granted since there were `grants`, and the next touch opens.
    private func expectFreeAndOpening(since grants: Int) throws {
        try eventually("the reader is off") { try !desk.stack.isArmed() }
        try expectNoSheet()
        try desk.stack.waitUntilFree()
        #expect(try desk.grantCount() == grants)
        try expectOpens(desk.start("current-set-sign"))
        #expect(try desk.grantCount() == grants + 1)
    }

    private static let promptEnded = ["authorize: LAError -4 prompt.promptEnded", "sign: LAError -1"]

    @Test func `the person cancels`() throws {
        let grants = try desk.grantCount()
        let run = try desk.start("current-set-sign")
        try desk.waitUntilArmed()
        try desk.server.focusSheet()
        try desk.server.press("Escape")
        #expect(try run.lines() == ["authorize: LAError -2 prompt.cancelled", "sign: LAError -1"])
        try expectFreeAndOpening(since: grants)
    }

    @Test func `the program that asks is killed`() throws {
        let grants = try desk.grantCount()
        let run = try desk.start("current-set-sign")
        try desk.waitUntilArmed()
        #expect(desk.server.hasSheet)
        run.end()
        try expectFreeAndOpening(since: grants)
    }

    @Test func `the sheet is killed`() throws {
        let grants = try desk.grantCount()
        let run = try desk.start("current-set-sign")
        try desk.waitUntilArmed()
        let sheet = try #require(desk.sheets.first)
        #expect(kill(sheet, SIGKILL) == 0)
        #expect(try run.lines() == Self.promptEnded)
        try expectFreeAndOpening(since: grants)
    }

    @Test func `the display ends`() throws {
        let grants = try desk.grantCount()
        let run = try desk.start("current-set-sign")
        try desk.waitUntilArmed()
        desk.server.end()
        #expect(try run.lines() == Self.promptEnded)
        try eventually("the reader is off and the sheet is gone") {
            try !desk.stack.isArmed() && desk.sheets.isEmpty
        }
        try desk.server.startAgain()
        try expectFreeAndOpening(since: grants)
    }
}

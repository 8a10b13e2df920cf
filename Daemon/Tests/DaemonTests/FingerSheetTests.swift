import FingerprintTestSupport
import Foundation
import Glibc
import TerminalTestSupport
import Testing

/// A finger while the real sheet asks for it: real daemon, real fprintd, real X server, and a program with Apple's calls.
@Suite(.timeLimit(.minutes(5))) struct FingerSheetTests {
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
}

import Foundation
import Glibc
import PromptProtocol
import StoreTestSupport
import TerminalTestSupport
import Testing

@testable import Prompting

extension RealPromptTests {
    /// The real sheet after an answer, while it is checked and when the same question comes again.
    @Suite struct HeldSheetTests {
        private let stage: SheetStage
        private var server: TestXServer { stage.server }

        init() throws { stage = try SheetStage() }

        private var sheets: [pid_t] { runningPrompts(named: "ostiary-sheet") }

        /// A question that was answered, with its sheet on the screen.
        private func answered(_ text: String = "wrong") throws -> Asking {
            let asking = try stage.ask(holdingSheet: true)
            try server.type(text)
            try server.press("Return")
            #expect(asking.wait() == .entered(text, .passcode))
            #expect(server.hasSheet && asking.sheet != nil)
            return asking
        }

        @Test func `after a wrong answer the same window asks again, and takes nothing from before`() throws {
            let asking = try answered()
            let (window, sheet) = (try server.sheetWindow(), try #require(sheets.first))
            // Keys that come while the answer is checked go nowhere.
            try server.type("lost")
            try server.press("Return")
            let again = try stage.askAgain(asking)
            #expect(again.shownCount == 1 && sheets == [sheet])
            #expect(try server.sheetWindow().number == window.number)
            try server.type("right")
            try server.press("Return")
            #expect(again.wait() == .entered("right", .passcode))
            again.dropSheet()
            try eventually("the window goes") { !server.hasSheet && sheets.isEmpty }
        }

        @Test func `a window goes as soon as nobody needs it`() throws {
            let asking = try answered()
            asking.dropSheet()
            try eventually("the window goes") { !server.hasSheet && sheets.isEmpty }
        }

        @Test func `another question never comes in the window of the first`() throws {
            let asking = try answered()
            let sheet = try #require(sheets.first)
            let other = PromptQuestion(
                .applicationPassword, objects: PromptObjects(DisplayText("GitHub token")),
                operation: DisplayText("read"), reason: DisplayText("to push"))
            let again = try stage.askAgain(asking, other)
            try eventually("the first window goes") { !sheets.contains(sheet) }
            try server.focusSheet()
            try server.type("other")
            try server.press("Return")
            #expect(again.wait() == .entered("other", .applicationPassword))
        }

        @Test func `the question of another program takes the window away`() throws {
            let prompter = stage.prompter()
            let asking = try Asking(prompter, .passcode, on: stage.caller, holdingSheet: true)
            try eventually("the sheet is visible") { asking.isShown }
            try server.focusSheet()
            try server.type("wrong")
            try server.press("Return")
            #expect(asking.wait() == .entered("wrong", .passcode))
            let held = try #require(sheets.first)
            let next = try Asking(prompter, .passcode, on: stage.caller)
            try eventually("the next one is visible") { next.isShown }
            try eventually("there is one window") { sheets.count == 1 && !sheets.contains(held) }
            let again = try Asking(prompter, .passcodeAgain, on: stage.caller, again: asking.sheet)
            try eventually("it is visible in a new window") { again.isShown }
            next.cancellation.cancel(because: .superseded)
            again.cancellation.cancel(because: .superseded)
            #expect(again.wait() == .interrupted(.superseded))
        }

        @Test func `a no while the answer is checked counts`() throws {
            let asking = try answered()
            let sheet = try #require(asking.sheet)
            #expect(!sheet.isCancelled)
            try server.press("Escape")
            try eventually("the person has cancelled") { sheet.isCancelled }
            try eventually("the window goes at once") { !server.hasSheet }
            let again = try Asking(stage.prompter(), .passcodeAgain, on: stage.caller, again: sheet)
            #expect(again.wait() == .cancelled)
        }

        @Test func `a sheet that is killed while it waits is replaced`() throws {
            let asking = try answered()
            let killed = try #require(sheets.first)
            kill(killed, SIGKILL)
            try eventually("the window goes") { !server.hasSheet }
            let again = try stage.askAgain(asking)
            #expect(!sheets.contains(killed))
            try server.type("right")
            try server.press("Return")
            #expect(again.wait() == .entered("right", .passcode))
        }

        @Test func `the time limit begins again with the question`() throws {
            let asking = try stage.ask(seconds: 5, holdingSheet: true)
            try server.type("wrong")
            try server.press("Return")
            #expect(asking.wait() == .entered("wrong", .passcode))
            // Longer than the limit: the check takes what it takes.
            sleep(6)
            #expect(server.hasSheet)
            let again = try Asking(
                stage.prompter(seconds: 5), .passcodeAgain, on: stage.caller, again: asking.sheet)
            try eventually("the question is visible again") { again.isShown }
            sleep(2)
            #expect(again.wait(seconds: 0) == .stillAsking)
            #expect(again.wait() == .timedOut)
        }
    }
}

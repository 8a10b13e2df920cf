import ExactNames
import Foundation
import Glibc
import ProcessFacts
import Prompting
import PromptProtocol
import Settings
import StoreTestSupport
import TerminalTestSupport
import Testing

extension RealPromptTests {
    /// The real sheet on small screens, with long questions.
    @Suite struct SheetLayoutTests {
        /// As much as a question can hold.
        private static let long = PromptQuestion(
            .enterPasscode, sensors: [PromptSensor(.finger, DisplayText("Touch the fingerprint reader."))],
            objects: PromptObjects(
                (1...12).map { ("a name of some length, number \($0)", DisplayText("")) }, noun: .item),
            operation: DisplayText("read keychain items"),
            consequence: DisplayText("The store is locked. Your passcode opens it for all your programs."),
            reason: DisplayText(String(repeating: "because ", count: 35)), notice: DisplayText("Wrong passcode."),
            triesLeft: 2, cancelTitle: DisplayText("Rather not now, but later perhaps"),
            fallbackTitle: DisplayText("Use the recovery key from the drawer"))

        @Test(arguments: [100, 200]) func `on 800 by 600 pixels the whole window is on the screen`(
            _ percent: Int
        ) throws {
            let stage = try SheetStage(size: "800x600")
            let asking = try stage.ask(Self.long) { $0.sheetTextPercent = percent }
            let window = try stage.server.sheetWindow()
            #expect(window.x >= 0 && window.y >= 0, "\(window)")
            #expect(window.x + window.width <= 800 && window.y + window.height <= 600, "\(window)")
            try stage.server.type("typed")
            try stage.server.press("Return")
            #expect(asking.wait() == .entered("typed", .passcode))
        }

        /// The buttons' colours stand in the picture: a window that is too high would lack its lower end.
        @Test(arguments: [100, 200]) func `on 800 by 600 pixels at scale 2 field and buttons are on the screen`(
            _ percent: Int
        ) throws {
            let compositor = try TestCompositor(mode: "800x600", scale: 2)
            let process = try SpawnedProcess("/bin/sleep", ["600"])
            var configuration = PromptConfiguration()
            configuration.frontEnds = [.sheet]
            configuration.waylandDisplay = compositor.display
            configuration.sheetTextPercent = percent
            let prompter = ProcessPrompter(
                program: Build.prompt, configuration: configuration, userID: geteuid(), sessions: SeatedPerson())
            let caller = PromptCaller(
                processID: process.processID, process: try? KernelFacts().hold(process.processID), userID: getuid(),
                program: "/usr/bin/asker", terminal: nil)
            let asking = try Asking(prompter, Self.long, on: caller)
            try eventually("the sheet is visible") { asking.isShown || asking.wait(seconds: 0) != .stillAsking }
            let window = try compositor.sheetWindow()
            #expect(window.x >= 0 && window.y >= 0, "\(window)")
            #expect(window.x + window.width <= 400 && window.y + window.height <= 300, "\(window)")
            // The compositor places the window before it draws its contents.
            try eventually("the button that continues is seen in its whole height") { try compositor.blueRows() >= 20 }
            try compositor.type("typed", "-k", "Return")
            #expect(asking.wait() == .entered("typed", .passcode))
        }

        @Test func `the title names the program and what it wants`() throws {
            let stage = try SheetStage()
            let asking = try stage.ask(
                PromptQuestion(
                    .enterPasscode, objects: PromptObjects(DisplayText("2fa")),
                    operation: DisplayText("sign once with the key of a right")))
            #expect(try stage.server.sheetWindow().title == "asker wants to sign with 2fa")
            try stage.server.press("Escape")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `what is typed is shown and hidden by a key, and hidden without the keyboard`() throws {
            let stage = try SheetStage()
            let asking = try stage.ask()
            try stage.server.type("typed text")
            for key in ["Tab", "Tab"] { try stage.server.press(key) }
            try stage.server.press("shift+Tab")
            let hidden = try stage.server.sheetWindow().height
            try stage.server.press("space")
            try eventually("the window grows by the text") { try stage.server.sheetWindow().height > hidden }
            try stage.server.press("space")
            let before = try stage.server.screen()
            try stage.server.press("space")
            try eventually("it is shown again") { try stage.server.screen() != before }
            let shown = try stage.server.screen()
            let cover = try stage.server.cover()
            cover.end()
            try stage.server.focusSheet()
            try eventually("it was hidden when the keyboard went") { try stage.server.screen() != shown }
            try stage.server.press("Escape")
            #expect(asking.wait() == .cancelled)
        }
    }
}

import Foundation
import Glibc
import OstiaryMessages
import TerminalTestSupport
import Testing

/// Answers in the real sheet of the real daemon, for a program without a terminal.
@Suite(.timeLimit(.minutes(10))) struct SheetAnswerTests {
    private let server: TestXServer
    private let stage: Stage

    init() throws {
        server = try TestXServer()
        stage = try Stage(configurationText: "prompt.display = \(server.display)\n")
    }

    private var sheets: [pid_t] { runningPrompts(of: stage.daemon.processID, named: "ostiary-sheet") }

    /// Asks for the right; the sheet is up and has the keyboard when this returns the request's id.
    private func begin(in context: UInt64) throws -> UInt64 {
        let id = try stage.client.send(.authorize(stage.right, in: context))
        try server.focusSheet()
        return id
    }

    private func enter(_ passcode: String) throws {
        try server.type(passcode)
        try server.press("Return")
    }

    /// The colour of a mistake in the sheet.
    private func waitForMistake() throws {
        let red: [UInt8] = [0xB3, 0x14, 0x1F]
        try eventually("the sheet tells the mistake") {
            // Data's own search takes many seconds for a screen.
            try server.screen().withUnsafeBytes { screen in
                (0..<screen.count - 2).contains {
                    screen[$0] == red[0] && screen[$0 + 1] == red[1] && screen[$0 + 2] == red[2]
                }
            }
        }
    }

    @Test func `after a wrong passcode the same sheet asks again, and the right one opens`() throws {
        let context = try stage.client.openContext()
        let id = try begin(in: context)
        let (sheet, window) = (try #require(sheets.first), try server.sheetWindow().number)
        try enter("not the passcode")
        try waitForMistake()
        #expect(try sheets == [sheet] && server.sheetWindow().number == window)
        try enter(Stage.passcode)
        #expect(try stage.client.answer(to: id).factors == ["passcode"])
        #expect(try stage.canSign(in: context))
        try eventually("the sheet goes") { !server.hasSheet && sheets.isEmpty }
    }

    @Test func `after the last wrong passcode the sheet goes, and nothing is granted`() throws {
        let context = try stage.client.openContext()
        let id = try begin(in: context)
        try enter("wrong 1")
        try waitForMistake()
        try enter("wrong 2")
        let attempts = { try stage.client.log().count { $0.event == "attempt" } }
        try eventually("the second is checked") { try attempts() == 2 }
        try waitForMistake()
        try enter("wrong 3")
        #expect(try stage.client.answer(to: id).refusal == .authenticationFailed)
        #expect(try !stage.canSign(in: context))
        try eventually("the sheet goes") { !server.hasSheet && sheets.isEmpty }
    }

    @Test func `a no while the right passcode is checked refuses`() throws {
        let context = try stage.client.openContext()
        let id = try begin(in: context)
        try server.type(Stage.passcode)
        try server.press(together: ["Return", "Escape"])
        #expect(try stage.client.answer(to: id).refusal == .userCancel)
        #expect(try !stage.canSign(in: context))
        #expect(sheets.isEmpty)
    }

    @Test func `the sheet dies with the daemon while the passcode is checked`() throws {
        _ = try begin(in: try stage.client.openContext())
        let sheet = try #require(sheets.first)
        try server.type(Stage.passcode)
        try server.press("Return")
        kill(stage.daemon.processID, SIGKILL)
        try eventually("the sheet is gone") { kill(sheet, 0) != 0 && !server.hasSheet }
    }
}

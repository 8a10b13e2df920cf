import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing

/// A user's own store on its way into the machine's, by a person at a terminal.
@Suite(.timeLimit(.minutes(10))) struct StoreExportCommandTests {
    private static let secret = Array("secret of the item".utf8)

    /// A stopped store with a right and an item.
    private func stage() throws -> TPMStage {
        let stage = try TPMStage(enclave: "software")
        try stage.setPasscode(TPMStage.passcode)
        _ = try stage.makeRight("2fa", .passcode, secret: "secret of the right")
        let added = try stage.client.ask(.addItem("item", in: nil), tail: Self.secret)
        try #require(added.items?.count == 1, "\(added.failure?.explanation ?? "")")
        #expect(stage.daemon.stop() == .exited(0))
        return stage
    }

    /// The daemon with `--export-store` on a terminal; its output goes through a pipe into a file.
    private func export(_ stage: TPMStage, on terminal: PseudoTerminal, into file: String) throws -> CallerProcess {
        let words = ([DaemonStart.program, "--export-store"] + stage.folders.options).map { "'\($0)'" }
        return try CallerProcess(
            on: terminal, script: "echo ready; \(words.joined(separator: " ")) | cat > '\(file)'")
    }

    @Test func `goes into a pipe after the passcode, and stays as it was`() throws {
        let stage = try stage()
        let file = stage.folders.root.path("parts")
        let terminal = try PseudoTerminal()
        let exporting = try export(stage, on: terminal, into: file)
        terminal.waitFor("Passcode: ")
        #expect(terminal.shows("right    2fa") && terminal.shows("These do not come along"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)).isEmpty, "nothing leaves the store before")
        terminal.type(TPMStage.passcode + "\r")
        try eventually("the program has ended") { !exporting.isRunning }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        #expect(bytes.first == 1)
        #expect(Array(bytes.suffix(41).prefix(9)) == [4, 0, 0, 0, 32, 0, 0, 0, 0], "the last part")
        #expect(bytes.range(of: Data(Self.secret)) != nil)
        #expect(bytes.range(of: Data("secret of the right".utf8)) == nil, "secrets of rights stay")
        try stage.restart(stopped: true)
        _ = try stage.authorize(stage.right("2fa"))
        #expect(try stage.client.log().contains { $0.event == "store.export" && $0.result == "done" })
    }

    @Test func `gives nothing without the passcode`() throws {
        let stage = try stage()
        let file = stage.folders.root.path("parts")
        let terminal = try PseudoTerminal()
        let exporting = try export(stage, on: terminal, into: file)
        terminal.answer("Passcode: ", with: "not the passcode")
        terminal.waitFor("Wrong passcode.")
        terminal.type("\u{3}")
        terminal.waitFor("Nothing was copied.")
        try eventually("the program has ended") { !exporting.isRunning }
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)).isEmpty)
    }

    @Test func `goes into no terminal and no file`() throws {
        let stage = try stage()
        let terminal = try PseudoTerminal()
        let exporting = try stage.startByHand(on: terminal, "--export-store")
        terminal.waitFor("standard output is no pipe")
        try eventually("the program has ended") { !exporting.isRunning }
    }

    @Test func `that was copied counts as copied no more when a daemon of the user's own starts`() throws {
        let folders = try DaemonFolders()
        let first = try DaemonProcess(in: folders)
        #expect(first.stop() == .exited(0))
        let mark = folders.state + "/copied"
        try Data("0 AAAAAAAAAAAAAAAAAAAAAA==\n".utf8).write(to: URL(fileURLWithPath: mark))
        let next = try DaemonProcess(in: folders)
        #expect(!FileManager.default.fileExists(atPath: mark))
        #expect(next.stop() == .exited(0))
        // What cannot go keeps the daemon from changing the store.
        try FileManager.default.createDirectory(atPath: mark, withIntermediateDirectories: false)
        let refused = try DaemonStart(in: folders)
        #expect(refused.ending == .exited(1))
        #expect(folders.standardError.contains("It must go before your own daemon changes anything"))
    }

    @Test func `that was moved keeps a daemon of the user's own from starting`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        #expect(daemon.stop() == .exited(0))
        try Data().write(to: URL(fileURLWithPath: daemon.folders.state + "/migrated"))
        let start = try DaemonStart(in: daemon.folders)
        #expect(start.ending == .exited(1))
        #expect(
            daemon.folders.standardError.contains(
                "ostiaryd: Your store was moved into the store of this machine, so no daemon of your own starts."))
        #expect(DaemonFolders.status(of: daemon.folders.socket).st_mode == 0)
    }
}

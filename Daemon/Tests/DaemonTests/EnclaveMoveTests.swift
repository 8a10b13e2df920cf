import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing

/// A store that is copied into another enclave, by a person at a terminal.
@Suite(.timeLimit(.minutes(10))) struct EnclaveMoveTests {
    private static let secret = Array("secret of the item".utf8)

    /// A stopped store with a right and an item.
    private func stage(in enclave: String, passcode: String? = TPMStage.passcode) throws -> TPMStage {
        let stage = try TPMStage(enclave: enclave)
        if let passcode { try stage.setPasscode(passcode) }
        _ = try stage.makeRight("2fa", passcode == nil ? .unrestricted : .passcode, secret: "secret of the right")
        let added = try stage.client.ask(.addItem("item", in: nil), tail: Self.secret)
        try #require(added.items?.count == 1, "\(added.failure?.explanation ?? "")")
        #expect(stage.daemon.stop() == .exited(0))
        return stage
    }

    private func newFolder(_ stage: TPMStage, _ kind: String) -> String { "\(stage.folders.state).\(kind)" }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Puts the new store in the place of the present one, or back.
    private func exchange(_ stage: TPMStage, _ other: String) throws {
        let aside = stage.folders.state + ".aside"
        for (from, to) in [(stage.folders.state, aside), (other, stage.folders.state), (aside, other)] {
            try #require(rename(from, to) == 0)
        }
    }

    @Test(arguments: [("software", "tpm"), ("tpm", "software")])
    func `items come along, keys do not, and the former store stays as it was`(from: String, to: String) throws {
        let stage = try stage(in: from)
        let terminal = try PseudoTerminal()
        let moving = try stage.startByHand(on: terminal, "--move-enclave", to)
        terminal.waitFor("Passcode: ")
        #expect(terminal.shows("right    2fa") && terminal.shows("These do not come along"))
        #expect(!exists(newFolder(stage, to)))
        terminal.type(TPMStage.passcode + "\r")
        terminal.waitFor("with 1 items and 0 registered programs")
        try eventually("the program has ended") { !moving.isRunning }
        #expect(exists(newFolder(stage, to)) && !exists(newFolder(stage, to) + ".unfinished"))

        try exchange(stage, newFolder(stage, to))
        try stage.restart(stopped: true)
        #expect(try stage.client.status().enclaveKind == to)
        #expect(try stage.client.ask(.findRight("2fa")).refusal == .notFound)
        let fresh = try stage.makeRight("new")
        _ = try stage.authorize(fresh)
        let found = try stage.client.ask(.findItems("item"))
        #expect(found.items?.count == 1 && Data(found.tail).range(of: Data(Self.secret)) != nil)
        #expect(stage.daemon.stop() == .exited(0))

        try exchange(stage, newFolder(stage, to))
        try stage.restart(stopped: true)
        #expect(try stage.client.status().enclaveKind == from)
        let right = try stage.right("2fa")
        let context = try stage.authorize(right)
        #expect(try stage.client.ask(.readSecret(right.rightID, in: context)).tail == Array("secret of the right".utf8))
    }

    @Test func `without the passcode nothing is moved`() throws {
        let stage = try stage(in: "software")
        let terminal = try PseudoTerminal()
        let moving = try stage.startByHand(on: terminal, "--move-enclave", "tpm")
        terminal.answer("Passcode: ", with: "not the passcode")
        terminal.waitFor("Wrong passcode.")
        terminal.type("\u{3}")
        terminal.waitFor("Nothing was moved.")
        try eventually("the program has ended") { !moving.isRunning }
        #expect(!exists(newFolder(stage, "tpm")) && !exists(newFolder(stage, "tpm") + ".unfinished"))
        try stage.restart(stopped: true)
        _ = try stage.authorize(stage.right("2fa"))
    }

    @Test func `a passcode that only a chip may have does not come into software`() throws {
        let stage = try stage(in: "tpm", passcode: "739155")
        let terminal = try PseudoTerminal()
        let moving = try stage.startByHand(on: terminal, "--move-enclave", "software")
        terminal.answer("Passcode: ", with: "739155")
        terminal.waitFor("Nothing was moved.")
        #expect(terminal.shows("ostiary passcode change"))
        try eventually("the program has ended") { !moving.isRunning }
        #expect(!exists(newFolder(stage, "software")))
    }

    @Test func `without a TPM nothing is moved, and with one the next try works`() throws {
        let stage = try stage(in: "software")
        stage.tpm.kill()
        for isThere in [false, true] {
            if isThere { try stage.tpm.start() }
            let terminal = try PseudoTerminal()
            let moving = try stage.startByHand(on: terminal, "--move-enclave", "tpm")
            terminal.answer("Passcode: ", with: TPMStage.passcode)
            terminal.waitFor(isThere ? "with 1 items" : "no TPM works at")
            try eventually("the program has ended") { !moving.isRunning }
            #expect(exists(newFolder(stage, "tpm")) == isThere)
        }
    }

    @Test(arguments: ["tpm", "tpm.unfinished"]) func `a folder in the way is left alone`(name: String) throws {
        let stage = try stage(in: "software")
        let path = "\(stage.folders.state).\(name)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let terminal = try PseudoTerminal()
        let moving = try stage.startByHand(on: terminal, "--move-enclave", "tpm")
        terminal.waitFor("already. Look at it")
        try eventually("the program has ended") { !moving.isRunning }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
    }

    private struct Fault: Decodable, Equatable {
        let code: Int
        let name: String
        let message: String
    }

    /// The lines of JSON that a daemon without a terminal writes on standard error.
    private func fault(
        of options: [String], in folders: DaemonFolders, endingWith status: CInt,
        _ location: SourceLocation = #_sourceLocation
    ) throws -> Fault {
        let before = folders.standardError
        let start = try DaemonStart(in: folders, options: options)
        #expect(start.ending == .exited(status), sourceLocation: location)
        let said = folders.standardError.dropFirst(before.count)
        #expect(said.split(separator: "\n").count == 1, "\(said)", sourceLocation: location)
        let document = try JSONDecoder().decode([String: Fault].self, from: Data(said.utf8))
        return try #require(document["error"], "\(said)", sourceLocation: location)
    }

    @Test func `with --json an error is JSON, without a log around it`() throws {
        let stage = try stage(in: "software")
        // The log tells of a file with a second name.
        try FileManager.default.linkItem(atPath: stage.folders.store, toPath: stage.folders.root.path("second"))
        let (folders, options) = (stage.folders, stage.folders.options + ["--json", "--move-enclave"])
        let unasked = try fault(of: options + ["tpm"], in: folders, endingWith: 1)
        #expect((unasked.code, unasked.name) == (-199, "failed"))
        #expect(unasked.message.hasPrefix("Nothing was moved. Nobody can be asked"))
        #expect(DaemonFolders.status(of: folders.store).st_nlink == 1, "the log had something to tell")
        let there = try fault(of: options + ["software"], in: folders, endingWith: 1)
        #expect(there.message.contains("are in the enclave `software` already"))
        try stage.restart(stopped: true)
        let other = try DaemonFolders()
        let places = ["--runtime-directory", other.runtime, "--state-directory", folders.state]
        let beside = try fault(of: places + ["--json", "--move-enclave", "tpm"], in: other, endingWith: 1)
        #expect(beside.message.hasPrefix("Another ostiaryd serves"))
    }

    @Test func `--json is for a move alone`() throws {
        let folders = try DaemonFolders()
        let alone = try fault(of: folders.options + ["--json"], in: folders, endingWith: 2)
        #expect(alone == Fault(code: -100, name: "usage", message: "--json goes with --move-enclave alone."))
        let options = folders.options + ["--json", "--move-enclave", "usb"]
        let unknown = try fault(of: options, in: folders, endingWith: 2)
        #expect(unknown == Fault(code: -100, name: "usage", message: "The enclave is software or tpm."))
    }

    @Test func `a store is not moved to where it is, and not beside a running daemon`() throws {
        let stage = try stage(in: "tpm")
        for isRunning in [false, true] {
            if isRunning { try stage.restart(stopped: true) }
            let terminal = try PseudoTerminal()
            let moving = try stage.startByHand(on: terminal, "--move-enclave", isRunning ? "software" : "tpm")
            terminal.waitFor(isRunning ? "already" : "are in the enclave")
            try eventually("the program has ended") { !moving.isRunning }
            #expect(!terminal.shows("Passcode:"))
        }
    }
}

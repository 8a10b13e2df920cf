import Foundation
import Glibc
import OstiaryMessages
import TPMTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Real daemons on a chip whose owner hierarchy has a password, and people at terminals.
@Suite(.timeLimit(.minutes(10))) struct TPMOwnerTests {
    private static let field = "Owner password of the TPM: "
    private let tpm: SoftwareTPM
    private let folders: DaemonFolders

    init() throws {
        tpm = try SoftwareTPM()
        folders = try DaemonFolders(configurationText: TPMStage.configuration(of: tpm))
    }

    private var isServing: Bool { (try? UnixSocket.connect(to: folders.socket)) != nil }

    private func end(_ daemon: CallerProcess) throws {
        daemon.signal(SIGTERM)
        try eventually("the daemon has ended") { !daemon.isRunning }
    }

    /// Makes the store: a daemon by hand, one question.
    private func makeStore() throws {
        let terminal = try PseudoTerminal()
        let daemon = try TPMStage.startByHand(in: folders, on: terminal)
        terminal.answer(Self.field, with: SoftwareTPM.ownerPassword)
        try eventually("the daemon serves") { isServing }
        #expect(!terminal.shows(SoftwareTPM.ownerPassword) && !terminal.shows(Self.field))
        try end(daemon)
    }

    // MARK: a new store

    @Test(arguments: [false, true])
    func `a store is made by hand with one question, and later starts ask nothing`(hasStorageKey: Bool) throws {
        if hasStorageKey { try tpm.keepStorageKey() }
        try tpm.setOwnerPassword()
        let terminal = try PseudoTerminal()
        let daemon = try TPMStage.startByHand(in: folders, on: terminal)
        terminal.waitFor(Self.field)
        #expect(terminal.shows("Ostiary asks for the TPM's owner password, not for your passcode."))
        terminal.clearScreen()
        terminal.type("wrong\r")
        terminal.waitFor("Wrong owner password.")
        terminal.answer(Self.field, with: SoftwareTPM.ownerPassword)
        try eventually("the daemon serves") { isServing }
        try end(daemon)

        let stage = try TPMStage(tpm, in: folders)
        #expect(try stage.client.status().enclaveKind == "tpm")
        let setting = try stage.client.send(.passcode(.set), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("New passcode: ", with: TPMStage.passcode)
        stage.terminal.answer("Repeat new passcode: ", with: TPMStage.passcode)
        stage.terminal.answer(Self.field, with: SoftwareTPM.ownerPassword)
        #expect(try stage.client.answer(to: setting).isDone)
        let right = try stage.makeRight("2fa", secret: "secret of the right")
        try stage.restart()
        let context = try stage.authorize(right)
        #expect(
            try stage.client.ask(.readSecret(right.rightID, in: context)).tail == Array("secret of the right".utf8))
        #expect(stage.daemon.stop() == .exited(0))
        #expect(!folders.standardError.contains(SoftwareTPM.ownerPassword))
    }

    @Test func `a start without a person says what to do, at once, and leaves nothing in the chip`() throws {
        try tpm.setOwnerPassword()
        for _ in 1...2 {
            let start = try DaemonStart(in: folders)
            #expect(start.ending == .exited(1))
            #expect(start.report.contains("has a password"), "\(start.report)")
            #expect(start.report.contains("Start the daemon once by hand in a terminal"), "\(start.report)")
            #expect(start.report.contains("tpm2_changeauth -c owner"), "\(start.report)")
        }
        #expect(try tpm.lastingHandles().isEmpty)
        try makeStore()
        #expect(try DaemonProcess(in: folders).stop() == .exited(0))
    }

    @Test(arguments: [false, true])
    func `a no, or three wrong passwords, leave nothing half-made`(hasStorageKey: Bool) throws {
        if hasStorageKey { try tpm.keepStorageKey() }
        try tpm.setOwnerPassword()
        let before = try tpm.lastingHandles()
        let terminal = try PseudoTerminal()
        let cancelled = try TPMStage.startByHand(in: folders, on: terminal)
        terminal.waitFor(Self.field)
        terminal.type("\u{3}")
        terminal.waitFor("Nobody entered the owner password")
        try eventually("the daemon has ended") { !cancelled.isRunning }
        #expect(try tpm.lastingHandles() == before)

        let other = try PseudoTerminal()
        let refused = try TPMStage.startByHand(in: folders, on: other)
        for _ in 1...3 { other.answer(Self.field, with: "wrong") }
        other.waitFor("is not that of the TPM's owner hierarchy")
        try eventually("the daemon has ended") { !refused.isRunning }
        #expect(try tpm.lastingHandles() == before)
        #expect(try tpm.handles() == [0, 0, 0])
        try makeStore()
        #expect(try DaemonProcess(in: folders).stop() == .exited(0))
    }

    // MARK: a password that comes later

    @Test func `a password that comes later is asked for at one start, where the machine has no storage key`() throws {
        let stage = try TPMStage(tpm, in: folders)
        try stage.setPasscode()
        let right = try stage.makeRight("2fa")
        try tpm.setOwnerPassword()
        _ = try stage.authorize(right)
        #expect(try stage.client.status().passcode.failedAttempts == 0)
        #expect(stage.daemon.stop() == .exited(0))
        let start = try DaemonStart(in: folders)
        #expect(start.ending == .exited(1))
        #expect(start.report.contains("Start the daemon once by hand"), "\(start.report)")
        try makeStore()
        for _ in 1...2 {
            try stage.restart(stopped: true)
            _ = try stage.authorize(right)
            #expect(stage.daemon.stop() == .exited(0))
        }
    }

    @Test func `with the machine's storage key a password that comes later is never asked for`() throws {
        try tpm.keepStorageKey()
        let stage = try TPMStage(tpm, in: folders)
        try stage.setPasscode()
        let right = try stage.makeRight("2fa")
        try tpm.setOwnerPassword()
        try stage.restart()
        _ = try stage.authorize(right)
        let id = try stage.client.send(
            .authorize(right.rightID, in: stage.client.openContext()), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Passcode: ", with: SoftwareTPM.ownerPassword)
        stage.terminal.waitFor("Wrong passcode.")
        stage.terminal.type("\u{3}")
        #expect(try stage.client.answer(to: id).refusal == .userCancel)
        #expect(try stage.client.status().passcode.failedAttempts == 1)
    }

    @Test func `after a removal the former passcode opens no older copy either`() throws {
        try tpm.keepStorageKey()
        let stage = try TPMStage(tpm, in: folders)
        try stage.setPasscode()
        try tpm.setOwnerPassword()
        #expect(stage.daemon.stop() == .exited(0))
        let older = try folders.snapshot()
        try stage.restart(stopped: true)
        let removing = try stage.client.send(.passcode(.remove), descriptor: stage.terminal.slave.number)
        stage.terminal.answer("Passcode: ", with: TPMStage.passcode)
        stage.terminal.answer("Type yes to go on: ", with: "yes")
        #expect(try stage.client.answer(to: removing).isDone)
        #expect(stage.daemon.stop() == .exited(0))
        try folders.restore(older)
        let terminal = try PseudoTerminal()
        let daemon = try TPMStage.startByHand(in: folders, on: terminal, "--accept-older-store")
        terminal.answer("Passcode: ", with: TPMStage.passcode)
        terminal.waitFor("Wrong passcode.")
        terminal.type("\u{3}")
        terminal.waitFor("It was not accepted")
        try eventually("the daemon has ended") { !daemon.isRunning }
    }

    // MARK: moving

    @Test func `a move into the chip asks once, after the passcode`() throws {
        try tpm.setOwnerPassword()
        let stage = try TPMStage(tpm, enclave: "software")
        try stage.setPasscode()
        #expect(stage.daemon.stop() == .exited(0))
        let before = try tpm.lastingHandles()
        let new = "\(stage.folders.state).tpm"

        let first = try PseudoTerminal()
        let cancelled = try stage.startByHand(on: first, "--move-enclave", "tpm")
        first.answer("Passcode: ", with: TPMStage.passcode)
        first.waitFor(Self.field)
        first.type("\u{3}")
        first.waitFor("Nothing was moved.")
        try eventually("the program has ended") { !cancelled.isRunning }
        for path in [new, new + ".unfinished"] { #expect(!FileManager.default.fileExists(atPath: path)) }
        #expect(try tpm.lastingHandles() == before)

        let second = try PseudoTerminal()
        let moving = try stage.startByHand(on: second, "--move-enclave", "tpm")
        second.answer("Passcode: ", with: TPMStage.passcode)
        second.answer(Self.field, with: SoftwareTPM.ownerPassword)
        second.waitFor("To use it:")
        #expect(!second.shows(Self.field))
        try eventually("the program has ended") { !moving.isRunning }
        // The storage key, the counter, and the index of the passcode.
        #expect(try tpm.lastingHandles().count == 3)
        try #require(rename(stage.folders.state, stage.folders.state + ".former") == 0)
        try #require(rename(new, stage.folders.state) == 0)
        try stage.restart(stopped: true)
        _ = try stage.authorize(stage.makeRight("2fa"))
    }
}

import Foundation
import OstiaryMessages
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing

/// A mount namespace with files of the test in `/etc`.
private enum OwnEtc {
    static let mounting = ["/usr/bin/unshare", "--mount"]
    static let needed: Comment =
        "only root can mount over /etc and stay the same user, and must have no ostiaryd.conf of its own"

    static func with(_ folder: String) -> [String] {
        let script = "mount -t overlay overlay -o 'lowerdir=\(folder):/etc' /etc && exec \"$@\""
        return mounting + ["/bin/sh", "-c", script, "sh"]
    }

    static let isPossible: Bool = {
        let own = FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(
            ".config/ostiary/ostiaryd.conf")
        guard Account.isRoot, !FileManager.default.fileExists(atPath: own.path), let folder = try? TestFolder(),
            let process = try? SpawnedProcess(
                mounting[0], with(folder.path("")).dropFirst() + ["/bin/true"])
        else { return false }
        return process.wait() == .exited(0)
    }()
}

/// `ostiary enclave move` as a person runs it. The daemon's program that it becomes takes the machine's configuration, so each
/// run sees an `/etc` of its own.
@Suite(.timeLimit(.minutes(10)), .enabled(if: OwnEtc.isPossible, OwnEtc.needed))
struct EnclaveMoveCommandTests {
    private let stage: TPMStage
    private let command: CommandStage
    private let wrapper: [String]

    /// A stopped store in software with a right and an item, and a TPM.
    init() throws {
        stage = try TPMStage(enclave: "software")
        try stage.setPasscode()
        _ = try stage.makeRight("2fa")
        let added = try stage.client.ask(.addItem("item", in: nil), tail: Array("secret of the item".utf8))
        try #require(added.items?.count == 1)
        command = try CommandStage(in: stage.folders, withVerifier: false)
        let machine = stage.folders.root.path("etc")
        try FileManager.default.createDirectory(atPath: machine + "/ostiary", withIntermediateDirectories: true)
        try stage.folders.write(
            TPMStage.configuration(of: stage.tpm), to: machine + "/ostiary/ostiaryd.conf", mode: 0o644)
        wrapper = OwnEtc.with(machine)
    }

    private func stop() throws { try #require(stage.daemon.stop() == .exited(0)) }

    private func move(to kind: String, doing acts: [CommandStage.Act] = []) throws -> CommandStage.Run {
        try command.atTerminal("enclave", "move", kind, doing: acts, under: wrapper)
    }

    private func folder(_ kind: String) -> String { "\(stage.folders.state).\(kind)" }

    private var folders: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: stage.folders.root.path("state")).sorted() }
    }

    @Test func `a store is moved into the TPM, once`() throws {
        try stop()
        let moved = try move(to: "tpm", doing: [.passcode])
        #expect(moved.status == 0, "\(moved.shown)")
        #expect(moved.text.contains("right    2fa") && moved.text.contains("with 1 items and 0 registered programs"))
        #expect(try folders == ["ostiary", "ostiary.tpm"])
        #expect(FileManager.default.fileExists(atPath: folder("tpm") + "/vault.sqlite"))

        // The new store is not touched by another move onto it.
        let chip = try stage.tpm.permanentState()
        let before = try FileManager.default.attributesOfItem(atPath: folder("tpm") + "/vault.sqlite")[
            .modificationDate]
        expect(try move(to: "tpm"), 1, "There is \(folder("tpm")) already. Look at it, and move it away.")
        let after = try FileManager.default.attributesOfItem(atPath: folder("tpm") + "/vault.sqlite")[.modificationDate]
        #expect(before as? Date == after as? Date)
        #expect(try stage.tpm.permanentState() == chip)

        // The present store works as before, and so does the new one in its place.
        try stage.restart(stopped: true)
        _ = try stage.authorize(stage.right("2fa"))
        #expect(try stage.client.status().enclaveKind == "software")
        try stop()
        let places = FileManager.default
        try places.moveItem(atPath: stage.folders.state, toPath: folder("former"))
        try places.moveItem(atPath: folder("tpm"), toPath: stage.folders.state)
        try stage.restart(stopped: true)
        #expect(try stage.client.status().enclaveKind == "tpm")
        _ = try stage.authorize(stage.makeRight("new"))
        #expect(try stage.client.ask(.findItems("item")).items?.count == 1)
        try stop()
        expect(try move(to: "tpm"), 1, "The keys of this store are in the enclave `tpm` already.")
    }

    @Test func `without the person's passcode nothing is moved`() throws {
        try stop()
        expect(try move(to: "tpm", doing: [.cancel]), 1, "Nothing was moved. Nobody entered the passcode.")
        let wrong = try move(
            to: "tpm", doing: [.type("wrong one 1"), .type("wrong one 2"), .type("wrong one 3")])
        expect(wrong, 1, "Nothing was moved.")
        expect(
            try command.alone("enclave", "move", "tpm", under: wrapper), 1, "Nothing was moved. Nobody can be asked")
        let json = try command.alone("enclave", "move", "tpm", "--json", under: wrapper)
        expect(json, 1, #""message":"Nothing was moved. Nobody can be asked"#)
        #expect(json.shown.hasPrefix(#"{"error":{"code":-199,"#))
        #expect(try folders == ["ostiary"])
        #expect(try stage.tpm.handles() == [0, 0, 0])
    }

    @Test func `a chip that is gone takes no store`() throws {
        try stop()
        stage.tpm.kill()
        expect(try move(to: "tpm", doing: [.passcode]), 1, "no TPM works at")
        #expect(try folders == ["ostiary"])
        try stage.tpm.start()
        expect(try move(to: "tpm", doing: [.passcode]), 0)
        #expect(try folders == ["ostiary", "ostiary.tpm"])
    }

    @Test func `a store whose chip is gone is not moved out of it`() throws {
        try stop()
        expect(try move(to: "tpm", doing: [.passcode]), 0)
        let places = FileManager.default
        try places.moveItem(atPath: stage.folders.state, toPath: folder("former"))
        try places.moveItem(atPath: folder("tpm"), toPath: stage.folders.state)
        let before = try stage.folders.snapshot()
        stage.tpm.kill()
        expect(try move(to: "software"), 1, "no TPM works at")
        #expect(try folders == ["ostiary", "ostiary.former"])
        #expect(try stage.folders.snapshot() == before)
    }

    @Test func `beside a running daemon, and to an unknown place, nothing is moved`() throws {
        expect(try move(to: "tpm"), 1, "Another ostiaryd serves")
        expect(try move(to: "usb"), 2, "one of 'software' and 'tpm'")
        expect(try command.alone("enclave", "move", under: wrapper), 2)
        #expect(try folders == ["ostiary"])
    }
}

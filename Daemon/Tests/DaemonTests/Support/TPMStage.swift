import AccessControl
import Foundation
import GRDB
import OstiaryMessages
import StoreTestSupport
import TPMTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A daemon whose new store is made in a TPM of its own, and a caller on a terminal.
final class TPMStage {
    let tpm: SoftwareTPM
    let folders: DaemonFolders
    private(set) var daemon: DaemonProcess
    private(set) var terminal: PseudoTerminal
    private(set) var caller: Caller

    var client: RawClient { caller.client }

    static let passcode = "correct horse 7d1f"

    /// - Parameters:
    ///   - enclave: where the new store's keys are.
    ///   - proxy: stands between the daemon and the TPM.
    init(_ tpm: SoftwareTPM? = nil, enclave: String = "tpm", through proxy: HostileProxy? = nil) throws {
        self.tpm = try tpm ?? SoftwareTPM()
        let place = proxy?.configuration ?? self.tpm.configuration
        folders = try DaemonFolders(configurationText: Self.configuration(at: place, enclave: enclave))
        (daemon, terminal, caller) = try Self.started(in: folders)
    }

    /// A daemon in folders of the test's own, whose configuration names the chip.
    init(_ tpm: SoftwareTPM, in folders: DaemonFolders) throws {
        (self.tpm, self.folders) = (tpm, folders)
        (daemon, terminal, caller) = try Self.started(in: folders)
    }

    static func configuration(of tpm: SoftwareTPM, enclave: String = "tpm") -> String {
        configuration(at: tpm.configuration, enclave: enclave)
    }

    private static func configuration(at place: String, enclave: String) -> String {
        "enclave = \(enclave)\ntpm.tcti = \(place)\n"
    }

    /// A daemon that a person starts by hand on a terminal.
    func startByHand(on terminal: PseudoTerminal, _ options: String...) throws -> CallerProcess {
        try Self.startByHand(in: folders, on: terminal, options)
    }

    static func startByHand(
        in folders: DaemonFolders, on terminal: PseudoTerminal, _ options: String...
    ) throws -> CallerProcess {
        try startByHand(in: folders, on: terminal, options)
    }

    private static func startByHand(
        in folders: DaemonFolders, on terminal: PseudoTerminal, _ options: [String]
    ) throws -> CallerProcess {
        let words = ([DaemonStart.program] + options + folders.options).map { "'\($0)'" }
        return try CallerProcess(on: terminal, script: "echo ready; exec \(words.joined(separator: " "))")
    }

    private static func started(in folders: DaemonFolders) throws -> (DaemonProcess, PseudoTerminal, Caller) {
        let (daemon, terminal) = (try DaemonProcess(in: folders), try PseudoTerminal())
        return (daemon, terminal, try Caller(at: folders, on: terminal).greeted())
    }

    /// - Parameter stopped: whether the daemon was stopped before.
    func restart(stopped: Bool = false) throws {
        if !stopped { try #require(daemon.stop() == .exited(0)) }
        (daemon, terminal, caller) = try Self.started(in: folders)
    }

    // MARK: steps

    func setPasscode(_ passcode: String = TPMStage.passcode) throws {
        let setting = try client.send(.passcode(.set), descriptor: terminal.slave.number)
        terminal.answer("New passcode: ", with: passcode)
        terminal.answer("Repeat new passcode: ", with: passcode)
        let answer = try client.answer(to: setting)
        try #require(answer.isDone, "\(answer.failure?.explanation ?? "")")
    }

    func makeRight(_ name: String, _ requirement: Requirement? = nil, secret: String = "") throws -> WireRight {
        let answer = try client.ask(
            .createRight(name, requirement ?? .passcode, hasSecret: !secret.isEmpty), tail: Array(secret.utf8))
        return try #require(answer.right, "\(answer.failure?.explanation ?? "")")
    }

    /// Makes a right that confirms each signature, with the passcode.
    func makeConfirmingRight(_ name: String) throws -> WireRight {
        let control = try AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: .passcode)
        let answer = try client.ask(
            .createRight(
                .with {
                    $0.identifier = name
                    $0.accessControl = Data(control.canonicalBytes)
                }))
        return try #require(answer.right, "\(answer.failure?.explanation ?? "")")
    }

    func right(_ name: String) throws -> WireRight { try #require(try client.ask(.findRight(name)).right) }

    /// Opens a context in which the right is authorized with the passcode.
    func authorize(_ right: WireRight, with passcode: String = TPMStage.passcode) throws -> UInt64 {
        let context = try client.openContext()
        let id = try client.send(
            .authorize(right.rightID, in: context), descriptor: terminal.slave.number)
        terminal.answer("Passcode: ", with: passcode)
        let answer = try client.answer(to: id)
        try #require(answer.factors == ["passcode"], "\(answer.failure?.explanation ?? "")")
        return context
    }

    /// A column of the object's row in the database.
    func column(_ name: String, of right: WireRight) throws -> Data {
        let database = try DatabaseQueue(path: folders.store)
        return try #require(
            try database.read { database in
                try Data.fetchOne(
                    database, sql: "SELECT \(name) FROM objects WHERE public_key = ?", arguments: [right.publicKey])
            })
    }
}

import ArgumentParser
import CommandFailures
import DetachedThreads
import DoorSupport
import UnitCredentials

/// `ostiary-credentials`: gives systemd's units secrets, by rule.
package enum CredentialsProgram {
    /// The whole program. Returns when its work is done.
    package static func main() {
        DoorProgram.begin()
        Program.main(nil)
    }
}

struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: DoorProgram.unitCredentials.name,
        abstract: "Give units of systemd secrets of items, by rule.",
        discussion: """
            A unit asks with LoadCredential=NAME:%t/ostiary/credentials.sock. The file of rules has a line for each unit and \
            credential: UNIT CREDENTIAL = ITEM. An item is the service of a password, ACCOUNT@SERVICE, an id, or attributes such as \
            server=example.com,account=me. It lies in the access group \(DoorProgram.accessGroup).

            A unit without a rule does not start, and nobody but systemd may ask. The socket is the service manager's, or $XDG_RUNTIME_DIR/ostiary/credentials.sock.

            Exit status: 0 done, 1 failed, 3 refused, 64 wrong usage.
            """)

    @Option(
        help: ArgumentHelp(
            "The file of rules (default: ~/.config/ostiary/credentials.conf, or root's /etc/ostiary/credentials.conf).",
            valueName: "file"), completion: .file())
    var rules: String?

    @Option(
        name: .customLong("manager"),
        help: ArgumentHelp(
            "The program of a service manager that may ask, in place of systemd's usual ones; may be given several times.",
            valueName: "file"), completion: .file())
    var managers: [String] = []

    @Flag(help: "Check the file of rules, and serve nobody.") var check = false
    @Flag(help: "Print an error as JSON, on standard error.") var json = false

    func run() throws {
        do throws(DoorFailure) {
            let path = if let rules { rules } else { try CredentialRules.usualPath() }
            if check { return Self.note("\(path) has \(try CredentialRules(at: path).count) rules.") }
            let signals = try DoorSignals()
            let listener = try DoorListener.open(Self.socket)
            let server = CredentialServer(
                rules: path, managers: managers.isEmpty ? .usual : ServiceManagers(managers), note: { Self.note($0) })
            let isWaiting = DetachedThread.start {
                signals.waitForEnd()
                listener.stop()
            }
            guard isWaiting else {
                throw .unusable("The system gives no thread to wait for signals with. Try again later.")
            }
            try server.serve(at: listener)
        } catch {
            throw ExitCode(DoorReport.failed(error, program: DoorProgram.unitCredentials.name, json: json).rawValue)
        }
    }

    private static let socket = "credentials"

    private static func note(_ text: String) { DoorReport.note(text, program: DoorProgram.unitCredentials.name) }
}

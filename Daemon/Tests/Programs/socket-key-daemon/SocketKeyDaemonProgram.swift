import Broker
import Foundation
import Glibc
import HelperProcesses
import Logging
import Opening
import OwnerKeys
import Owners
import Passcodes
import ProcessFacts
import Prompting
import SecurityKeys
import Sessions
import Settings

/// The parts of `ostiaryd`, with security keys in software behind the sockets of a folder: no setting of the shipped daemon
/// leads to such keys.
///
///     socket-key-daemon RUNTIME-FOLDER STATE-FOLDER KEYS-FOLDER SECONDS
///
/// It prints a line when it serves, and serves until it is killed. SECONDS is how long a security key is waited for. The person
/// counts as sitting at the machine, because logind knows nothing of the processes of a test.
@main
struct SocketKeyDaemonProgram {
    private struct PersonAtMachine: SessionRecords {
        func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? { nil }
        func isAtMachine(_ userID: UInt32) -> Bool { true }
    }

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let seconds = Int(arguments[4]) else { exit(2) }
        umask(0o077)
        let (user, prompts) = (try SystemUser.current(), prompts())
        let (helpers, facts) = (HelperRoads.beside(program: program), KernelFacts())
        let prompter = ProcessPrompter(
            helpers, configuration: prompts, userID: user.id, facts: facts, buses: .standard(of: user.id),
            sessions: PersonAtMachine())
        let keys = SecurityKeys(
            helpers.securityKey, ports: SocketPorts(folder: arguments[3]), limit: .seconds(seconds))
        let broker = try Broker.open(
            BrokerConfiguration(
                runsAs: user, stateDirectory: arguments[2], helpers: helpers, facts: facts,
                sessionRecords: PersonAtMachine(), prompts: prompts, version: "test",
                applicationsDirectory: arguments[2] + "/apps.d",
                systemBus: arguments[1] + "/no-bus"),
            log: Logger(label: "socket-key-daemon") { _ in SwiftLogNoOpLogHandler() }, stretching: .argon2id,
            prompter: PromptQueue(prompter),
            authenticators: CredentialAuthenticators(securityKeys: keys, factorKeys: keys))
        let server = try Server(listeningAt: arguments[1] + "/ostiaryd.socket", broker: broker)
        try FileHandle.standardOutput.write(contentsOf: Data("serving\n".utf8))
        server.run()
    }

    /// Terminals alone: a display of the machine is not the test's.
    private static func prompts() -> PromptConfiguration {
        var prompts = PromptConfiguration()
        prompts.frontEnds = [.terminal]
        return prompts
    }

    private static var program: String { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path }
}

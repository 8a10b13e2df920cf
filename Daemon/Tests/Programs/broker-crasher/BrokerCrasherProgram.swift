import AccessControl
import BrokerTestSupport
import Glibc
import OstiaryWire
import StoreTestSupport
import Synchronization
import Vault

/// Carries out one operation on an existing state folder and is killed at one exact commit of it.
///
///     broker-crasher STATE-FOLDER OPERATION before|after N
///
/// N counts the commits from the operation's first; "before" kills when the changes are made and not committed, "after" when
/// they are on disk. It prints "acknowledged" when the operation was answered. Passcodes are stretched cheaply.
@main
struct BrokerCrasherProgram {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let operation = CrashOperation(rawValue: arguments[2]), let number = Int(arguments[4])
        else { exit(2) }
        let executioner = Executioner(killsBeforeCommit: arguments[3] == "before", number: number)
        let fixture = try BrokerFixture(stateDirectory: arguments[1], observer: executioner)
        fixture.prompter.prepare(operation.answers)
        let client = try fixture.client()
        executioner.arm()
        try operation.run(client)
        print("acknowledged")
        // The daemon's orderly end would commit once more.
        fflush(nil)
        _exit(0)
    }
}

/// Kills the process at one exact commit.
final class Executioner: WriteObserver {
    private let killsBeforeCommit: Bool
    private let number: Int
    private let state = Mutex((isArmed: false, count: 0))

    init(killsBeforeCommit: Bool, number: Int) {
        self.killsBeforeCommit = killsBeforeCommit
        self.number = number
    }

    func arm() { state.withLock { $0.isArmed = true } }

    func willCommit(_ label: String) { if killsBeforeCommit { count() } }
    func didCommit(_ label: String) { if !killsBeforeCommit { count() } }

    private func count() {
        let isDue = state.withLock { state in
            guard state.isArmed else { return false }
            state.count += 1
            return state.count == number
        }
        if isDue { kill(getpid(), SIGKILL) }
    }
}

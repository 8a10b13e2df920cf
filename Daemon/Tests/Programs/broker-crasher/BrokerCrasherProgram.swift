import BrokerTestSupport
import Foundation
import Glibc
import StoreTestSupport
import Synchronization
import Vault

/// Serves an existing state folder, answers its own questions, and is killed at one exact commit.
///
///     broker-crasher FOLDER OPERATION before|after N
///
/// FOLDER holds the folder `state`. OPERATION says how the person answers. N counts commits from the first request on:
/// "before" kills when the changes are made and not committed, "after" when they are on disk. It prints its socket's
/// path when it serves, and serves until it is killed. Passcodes are stretched cheaply.
@main
struct BrokerCrasherProgram {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let operation = CrashOperation(rawValue: arguments[2]),
            let number = Int(arguments[4])
        else { exit(2) }
        let executioner = Executioner(killsBeforeCommit: arguments[3] == "before", number: number)
        let fixture = try BrokerFixture(in: TestFolder(of: arguments[1]), observer: executioner)
        fixture.prompter.prepare(operation.answers)
        executioner.arm()
        try FileHandle.standardOutput.write(contentsOf: Data((fixture.socketPath + "\n").utf8))
        while true { pause() }
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

    /// Counts from now on.
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

import Foundation
import Glibc
import StoreTestSupport
import Vault

/// Commits attempt counters and objects until it is killed or done, and says after each commit what is now stored.
///
///     vault-writer FOLDER COUNT [die-before-commit N | die-after-commit N]
///
/// It prints "ready" when the store is open, then one line per committed number.
@main
struct VaultWriterProgram {
    static func main() throws {
        umask(0o077)
        let arguments = CommandLine.arguments
        let observer = arguments.count > 4 ? Executioner(when: arguments[3], commit: arguments[4]) : nil
        let vault = try Vault(folder: arguments[1], create: true, protector: TestProtector(), observer: observer)
        let owner = try vault.write("user") { try CrashTestData.owner(in: $0) }
        say("ready")
        let start = try vault.read { try $0.attempts(owner: owner, subject: CrashTestData.subject)?.failedCount ?? 0 }
        for number in start + 1...start + UInt32(arguments[2])! {
            try vault.write("\(number)") { try CrashTestData.write(number, owner: owner, to: $0) }
            say("\(number)")
        }
    }

    /// One write(2) per line: a line that was read was written whole.
    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        precondition(write(STDOUT_FILENO, bytes, bytes.count) == bytes.count)
    }
}

/// Kills the process at one exact commit.
struct Executioner: WriteObserver {
    let when: String
    let commit: String

    func willCommit(_ label: String) { if when == "die-before-commit" { die(at: label) } }
    func didCommit(_ label: String) { if when == "die-after-commit" { die(at: label) } }

    private func die(at label: String) {
        if label == commit { kill(getpid(), SIGKILL) }
    }
}

import Foundation
import Glibc
import StoreTestSupport
import Vault

/// Commits attempt counters and objects until it is killed or done, and says after each commit what is now stored.
///
///     vault-writer FOLDER COUNT [die-before-commit N | die-after-commit N]
///     vault-writer FOLDER COUNT threads THREADS [die-before-commit LABEL | die-after-commit LABEL]
///     vault-writer FOLDER COUNT rate THREADS
///
/// It prints "ready" when the store is open, then one line per committed number. With "threads", each thread commits for a
/// user of its own and prints "USER NUMBER", which is also the label of the commit. "rate" prints how many items a second
/// the threads add, COUNT each.
@main
struct VaultWriterProgram {
    static func main() throws {
        umask(0o077)
        var arguments = CommandLine.arguments
        let mode = arguments.count > 4 && ["threads", "rate"].contains(arguments[3]) ? arguments.remove(at: 3) : nil
        let threadCount = mode == nil ? 1 : Int(arguments.remove(at: 3))!
        let observer = arguments.count > 4 ? Executioner(when: arguments[3], commit: arguments[4]) : nil
        let vault = try Vault(
            folder: arguments[1], ownedBy: geteuid(), create: true, protector: TestProtector(), observer: observer)
        let owner = try vault.write("user") { try CrashTestData.owner(in: $0) }
        say("ready")
        switch mode {
        case "threads"?: return try writeInThreads(threadCount, UInt32(arguments[2])!, vault)
        case "rate"?: return measure(threadCount, UInt64(arguments[2])!, vault, owner)
        default: break
        }
        let start = try vault.read { try $0.attempts(owner: owner, subject: CrashTestData.subject)?.failedCount ?? 0 }
        for number in start + 1...start + UInt32(arguments[2])! {
            try vault.write("\(number)") { try CrashTestData.write(number, owner: owner, to: $0) }
            say("\(number)")
        }
    }

    private static func writeInThreads(_ threadCount: Int, _ count: UInt32, _ vault: Vault) throws {
        let results = concurrently(threadCount) { thread in
            let user = UInt32(thread)
            let owner = try vault.write("user") { try CrashTestData.owner(number: user, in: $0) }
            for number in 1...count {
                try vault.write("\(user) \(number)") { try CrashTestData.write(number, owner: owner, to: $0) }
                say("\(user) \(number)")
            }
        }
        for result in results { try result.get() }
    }

    private static func measure(_ threadCount: Int, _ count: UInt64, _ vault: Vault, _ owner: VaultID) {
        let start = ContinuousClock.now
        concurrently(threadCount) { thread in
            for number in 0..<count {
                let item = CrashTestData.smallItem(UInt64(thread) << 32 | number, owner: owner)
                try vault.write("") { try $0.insertItem(item) }
            }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        say("\(threadCount) threads: \(Int(Double(threadCount) * Double(count) / seconds)) items a second")
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

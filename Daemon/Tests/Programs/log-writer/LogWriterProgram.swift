import AuditLog
import Foundation
import Glibc
import StoreTestSupport
import Synchronization

/// Appends records until it is killed or done, and says after each one how many there are.
///
///     log-writer FOLDER COUNT before-use|soon|linger [SIZE-LIMIT]
///     log-writer FOLDER COUNT steps DEADLY-STEP
///     log-writer FOLDER COUNT parts
///
/// Every tenth record moves the anchor. "steps" changes the store before each record, moves the anchor at every second and
/// begins an epoch at every fifth, and kills itself at the step with that number: before and after each replacement of the
/// store's file, each record, each anchor. With a SIZE-LIMIT, the kernel ends each write at that many bytes of file, as on
/// a full disk in the middle of a record; the program then prints "refused", lifts the limit and goes on. "linger" is
/// "soon" with two seconds of life after the last record. "parts" is "before-use" with a part closed after every fourth record.
@main
struct LogWriterProgram {
    static func main() throws {
        umask(0o077)
        let arguments = CommandLine.arguments
        if arguments[3] == "steps" {
            return try Steps(deadly: Int(arguments[4])!).run(folder: arguments[1], count: Int(arguments[2])!)
        }
        let anchors = try FileAnchorStore(path: arguments[1] + "/anchor")
        let log = try open(folder: arguments[1], anchors: anchors)
        if arguments.count > 4 { limitFiles(to: rlim_t(arguments[4])!) }
        say("ready")
        for _ in 0..<Int(arguments[2])! {
            try append(to: log, durability: ["before-use", "parts"].contains(arguments[3]) ? .beforeUse : .soon)
            if arguments[3] == "parts", log.recordCount.isMultiple(of: 5) { try log.cut(time: 9) }
            if log.recordCount % 10 == 0 { try log.anchor() }
            say("\(log.recordCount)")
        }
        if arguments[3] == "linger" { sleep(2) }
    }

    fileprivate static func open(folder: String, anchors: FileAnchorStore) throws -> AuditLog {
        do {
            return try AuditLog(folder: folder, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer())
        } catch AuditLogError.missing {
            return try AuditLog.create(
                folder: folder, ownedBy: geteuid(), anchors: anchors, sealer: TestSealer(), epoch: 1,
                seed: testSeed(epoch: 1), time: 0)
        }
    }

    fileprivate static func append(to log: AuditLog, durability: AuditLog.Durability) throws {
        let entry = AuditEntry(
            time: 1, event: "authorize", result: "granted", program: "/usr/bin/program", processID: 7, object: "right",
            operation: "use", factors: ["passcode"], strength: "key-bound")
        do {
            try log.append(entry, durability: durability)
        } catch {
            say("refused")
            limitFiles(to: rlim_t.max)
            try log.append(entry, durability: durability)
        }
    }

    /// The signal that comes with it must not end the program. Only the soft limit moves, so it can be lifted.
    private static func limitFiles(to size: rlim_t) {
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        limit.rlim_cur = min(size, limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        precondition(write(STDOUT_FILENO, bytes, bytes.count) == bytes.count)
    }
}

/// A life of store and log that ends at a step.
private final class Steps: Sendable {
    private let deadly: Int
    private let count = Atomic<Int>(0)

    init(deadly: Int) { self.deadly = deadly }

    private func pass() {
        if count.add(1, ordering: .relaxed).newValue == deadly { kill(getpid(), SIGKILL) }
    }

    func run(folder: String, count: Int) throws {
        let anchors = try FileAnchorStore(path: folder + "/anchor") { [self] _ in pass() }
        let log = try LogWriterProgram.open(folder: folder, anchors: anchors)
        for number in 1...count {
            try anchors.change()
            try LogWriterProgram.append(to: log, durability: .soon)
            pass()
            if number.isMultiple(of: 2) { try log.anchor() }
            guard number.isMultiple(of: 5), let epoch = log.epoch else { continue }
            try log.startEpoch(epoch + 1, seed: testSeed(epoch: epoch + 1), time: 0)
        }
        try log.close()
    }
}

import CLinuxShims
import CommandFailures
import DetachedThreads
import DoorSupport

/// What `ostiary-secrets` does as every door.
public enum SecretsProgram {
    public static var name: String { DoorProgram.secrets.name }

    /// The first thing that it does, before it opens anything or starts a thread. Ends the process if that fails.
    public static func begin() {
        DoorProgram.begin()
        // Secrets pass through messages of sd-bus, which are moved while they grow.
        ostiary_overwrite_freed_memory()
    }

    /// Calls `ended`, on a thread of its own, when SIGTERM, SIGINT or SIGHUP comes. To be called before there is a second thread.
    public static func whenEnded(_ ended: @escaping @Sendable () -> Void) throws(StoreRefusal) {
        let signals: DoorSignals
        do throws(DoorFailure) { signals = try DoorSignals() } catch { throw StoreRefusal(any: error) }
        let isWaiting = DetachedThread.start {
            signals.waitForEnd()
            ended()
        }
        guard isWaiting else { throw .failed("The system gives no thread to wait for signals with. Try again later.") }
    }

    /// Gives memory back that only the start needed.
    public static func settle() { ostiary_release_code() }

    /// Writes a line to standard error.
    public static func note(_ words: String) { DoorReport.note(words, program: name) }

    /// Writes why it cannot go on; returns its exit status.
    public static func fail(_ words: String) -> Int32 {
        DoorReport.failed(.unusable(words), program: name).rawValue
    }
}

import Logging
import Synchronization

/// Keeps the warnings that a part of the daemon writes into its log.
struct WarningLog: LogHandler {
    private final class Lines: Sendable {
        let warnings = Mutex<[String]>([])
    }

    private let lines = Lines()
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    var warnings: [String] { lines.warnings.withLock { $0 } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.warnings.withLock { $0.append("\(event.message)") } }
}

package import Logging
import Synchronization

/// Keeps the lines of a log.
package struct RecordedLog: LogHandler {
    private final class Events: Sendable {
        let all = Mutex<[(message: String, metadata: [String: String])]>([])
    }

    private let events = Events()
    package var metadata: Logger.Metadata = [:]
    package var logLevel = Logger.Level.trace

    package init() {}

    /// A logger that writes into this one.
    package var logger: Logger { Logger(label: "test") { _ in self } }

    package var lines: [(message: String, metadata: [String: String])] { events.all.withLock { $0 } }

    package func count(of message: String) -> Int { lines.count { $0.message == message } }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let line = ("\(event.message)", (event.metadata ?? [:]).mapValues { "\($0)" })
        events.all.withLock { $0.append(line) }
    }
}

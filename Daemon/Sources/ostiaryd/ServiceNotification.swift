import CSystemd
import Logging
import Threading

/// What the daemon tells the service manager (sd_notify(3)). Where there is none, nobody is told.
enum ServiceNotification: String {
    case ready = "READY=1\nSTATUS=serving"
    case stopping = "STOPPING=1\nSTATUS=ending"
    case well = "WATCHDOG=1\nSTATUS=serving"

    func send() { Self.send(rawValue) }

    static func send(status: String) { send("STATUS=\(status)") }

    private static func send(_ text: String) { _ = unsafe sd_notify(0, text) }
}

/// Tells the service manager again and again that the daemon is well. While it is not, or the look at it does not end, nothing is told,
/// and the service manager ends the daemon (`WatchdogSec=`) and starts another one.
final class Watchdog: Sendable {
    private let thread = WorkThread(name: "ostiary-watchdog")
    private let pause: Duration
    private let trouble: @Sendable () -> String?
    private let log: Logger

    /// Nil where the service manager does not want to hear.
    ///
    /// - Parameter trouble: what is wrong with the daemon; nil if nothing is.
    init?(log: Logger, trouble: @escaping @Sendable () -> String?) {
        var microseconds: UInt64 = 0
        guard unsafe sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        // Two of three messages may come too late.
        pause = .microseconds(Int64(clamping: microseconds / 3))
        self.trouble = trouble
        self.log = log
    }

    /// Begins. Ends with this value.
    func begin() {
        thread.run(after: pause) { [weak self] in
            guard let self else { return }
            tell()
            begin()
        }
    }

    private func tell() {
        guard let trouble = trouble() else { return ServiceNotification.well.send() }
        ServiceNotification.send(status: trouble)
        log.error("the daemon is not well", metadata: ["cause": "\(trouble)"])
    }
}

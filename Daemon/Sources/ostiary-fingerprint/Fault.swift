import FingerprintReader
import UnixSocket

/// Why the program did not do what it was asked for. Codes and names stand in Documentation/command.md, and never change their
/// meaning.
struct Fault: Error, Equatable {
    /// The exit statuses of `ostiary`.
    enum Status: Int32 {
        case done = 0
        case failed = 1
        case usage = 2
        case refused = 3
    }

    let code: Int
    let name: String
    let status: Status
    let message: String

    private init(_ code: Int, _ name: String, _ message: String, _ status: Status = .failed) {
        (self.code, self.name, self.status, self.message) = (code, name, status, message)
    }

    static func usage(_ message: String) -> Fault { Fault(-100, "usage", message, .usage) }

    static func unwritable(_ error: SystemCallError) -> Fault {
        Fault(-102, "unwritableOutput", "The output cannot be written (\(error)).")
    }

    static func system(_ error: SystemCallError) -> Fault {
        Fault(-199, "failed", "The system refused to help (\(error)); nothing was done.")
    }

    static func alreadyEnrolled(_ finger: Finger) -> Fault {
        Fault(
            -128, "fingerAlreadyEnrolled",
            "Your \(finger.title) is enrolled already. Name another finger, or give --replace to enrol it again.")
    }

    static let timedOut = Fault(
        -132, "fingerTimedOut", "The reader was not touched in time. Try again.", .refused)
}

extension Fault {
    /// - Parameter changesFingers: whether a finger was to be enrolled or deleted, for which polkit wants more.
    init(_ failure: ReaderFailure, changesFingers: Bool) {
        let (code, name) = Self.number(of: failure)
        var message = "\(failure.explanation) \(failure.advice)"
        if failure == .denied, changesFingers {
            message +=
                " To enrol or delete, polkit may want your login password, which only a desktop asks for. Without a "
                + "desktop an administrator can do it: `sudo fprintd-enroll USER`, `sudo fprintd-delete USER`."
        }
        self.init(code, name, message, failure == .denied ? .refused : .failed)
    }

    private static func number(of failure: ReaderFailure) -> (code: Int, name: String) {
        switch failure {
        case .withoutReader: (-120, "readerMissing")
        case .withoutBus, .withoutService, .serviceNotStarted, .untrustedService, .silent, .stopped, .unexpected:
            (-121, "fingerprintServiceUnavailable")
        case .serviceEnded: (-122, "fingerprintServiceEnded")
        case .busy: (-123, "readerBusy")
        case .disconnected: (-124, "readerDisconnected")
        case .readerFault: (-125, "readerFault")
        case .denied, .deniedForOthers: (-126, "fingerprintDenied")
        case .nothingEnrolled: (-127, "fingerNotEnrolled")
        }
    }

    /// Nil for a finger that was enrolled.
    init?(_ result: ClaimedReader.EnrollmentResult, of finger: Finger) {
        switch result {
        case .completed: return nil
        case .duplicate:
            self.init(
                -129, "fingerDuplicate",
                "The reader knows this finger already, under another name or of another user. Use another finger, or "
                    + "delete the former one with `ostiary fingerprint delete`.")
        case .full:
            self.init(
                -130, "readerFull",
                "The reader has no room for another finger. Make room with `ostiary fingerprint delete`.")
        case .failed:
            self.init(
                -131, "touchesUnusable",
                "The touches did not fit together, so your \(finger.title) was not enrolled. Try again with one finger, "
                    + "on a clean reader.")
        case .timedOut: self = .timedOut
        }
    }
}

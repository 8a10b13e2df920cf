/// What a claimed reader uses touches for.
enum ScanAction {
    case verification, enrollment

    var start: String { self == .verification ? "VerifyStart" : "EnrollStart" }
    var stop: String { self == .verification ? "VerifyStop" : "EnrollStop" }
    var statusSignal: String { self == .verification ? "VerifyStatus" : "EnrollStatus" }
    /// The prefix of its results' names.
    var prefix: String { self == .verification ? "verify-" : "enroll-" }

    static let fingerSelected = "VerifyFingerSelected"
}

/// Why a touch was not good enough. It is no failed try: the reader keeps waiting.
public enum ScanHint: String, CaseIterable, Sendable {
    case scanAgain = "retry-scan"
    case swipeTooShort = "swipe-too-short"
    case notCentered = "finger-not-centered"
    case removeAndScanAgain = "remove-and-retry"

    /// A result that does not end the scan. Throws for an error that ends the scan, and for an unknown result.
    init(_ status: String, of action: ScanAction) throws(ReaderFailure) {
        let name = status.hasPrefix(action.prefix) ? String(status.dropFirst(action.prefix.count)) : ""
        switch name {
        case "disconnected": throw .disconnected
        case "unknown-error": throw .readerFault
        default:
            guard let hint = ScanHint(rawValue: name) else {
                throw .unexpected("the result \(status.debugDescription)")
            }
            self = hint
        }
    }
}

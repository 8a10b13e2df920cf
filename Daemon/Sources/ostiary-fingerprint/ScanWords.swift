import FingerprintReader

/// What the person is told while a finger is enrolled.
struct EnrollmentWords {
    private let finger: Finger
    private let scanType: ReaderDescription.ScanType?
    private var touchCount: Int?
    private var badTouches = BadTouches()

    init(_ finger: Finger, _ scanType: ReaderDescription.ScanType?) {
        (self.finger, self.scanType) = (finger, scanType)
    }

    mutating func progress(for event: ClaimedReader.EnrollmentEvent) -> ProgressDocument {
        switch event {
        case .armed(let count):
            touchCount = count
            let times = count.map { " \($0) times" } ?? " again and again"
            return ProgressDocument(
                "armed", finger, touches: 0, of: count,
                message: "\(scanType.invitation(for: "your \(finger.title)"))\(times). Lift it after each touch.")
        case .stagePassed(let number):
            let total = touchCount.map { " of \($0)" } ?? ""
            return ProgressDocument(
                "touch", finger, touches: number, of: touchCount, message: "Good: \(number)\(total).")
        case .hint(let hint): return ProgressDocument(hint, words: badTouches.words(for: hint))
        }
    }
}

/// What the person is told while a finger is verified.
struct VerificationWords {
    private let scanType: ReaderDescription.ScanType?
    private var badTouches = BadTouches()

    init(_ scanType: ReaderDescription.ScanType?) { self.scanType = scanType }

    mutating func progress(for event: ClaimedReader.VerificationEvent) -> ProgressDocument {
        switch event {
        case .armed:
            ProgressDocument("armed", message: "\(scanType.invitation(for: "your finger")).")
        case .expects(let finger):
            ProgressDocument("expects", finger, message: "The reader compares with your \(finger.title).")
        case .hint(let hint): ProgressDocument(hint, words: badTouches.words(for: hint))
        }
    }
}

extension ReaderDescription.ScanType? {
    /// What to do with the finger, without an end.
    fileprivate func invitation(for finger: String) -> String {
        self == .swipe ? "Swipe \(finger) over the fingerprint reader" : "Touch the fingerprint reader with \(finger)"
    }
}

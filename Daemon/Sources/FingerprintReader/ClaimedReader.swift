import MessageBus

/// A reader that this process has claimed. Only the claiming thread may use it; ``FingerprintReader`` lends it.
public struct ClaimedReader: ~Copyable {
    private let connection: ReaderConnection
    private let path: String

    init(_ path: String, for user: String?, through connection: ReaderConnection) throws(ReaderFailure) {
        self.connection = connection
        self.path = path
        try connection.receive(ScanAction.verification.statusSignal, of: path)
        try connection.receive(ScanAction.enrollment.statusSignal, of: path)
        try connection.receive(ScanAction.fingerSelected, of: path)
        try connection.begin(
            path, "Claim", user ?? FprintName.callingUser, endedBy: "Release", within: connection.limits.answer)
    }

    /// Ignores errors: either the reader is gone, or fprintd releases it when the connection is closed.
    func release() {
        try? connection.finish(path, "Release", until: .now.advanced(by: connection.limits.ending))
    }

    // MARK: verification

    /// News for the person while a finger is verified.
    public enum VerificationEvent: Equatable, Sendable {
        /// The reader waits for a touch.
        case armed
        /// The reader compares with this finger alone.
        case expects(Finger)
        case hint(ScanHint)
    }

    public enum VerificationResult: Equatable, Sendable {
        /// The reader recognised the finger.
        case match
        /// The reader saw a finger that it did not recognise.
        case noMatch
        /// Nobody touched the reader in time.
        case timedOut
    }

    /// Waits until no finger lies on the reader, where the reader knows.
    ///
    /// - Parameter report: called once if a finger lies there, on this thread.
    public func waitUntilFingerIsOff(_ report: () -> Void) throws(ReaderFailure) {
        var isReported = false
        while try isFingerPresent() {
            if !isReported { report() }
            isReported = true
            // A signal ends the wait sooner.
            _ = try connection.nextSignal(of: path, until: .now.advanced(by: .milliseconds(100)))
        }
    }

    /// False where fprintd does not tell.
    private func isFingerPresent() throws(ReaderFailure) -> Bool {
        let answer: BusMessage
        do throws(ReaderFailure) {
            answer = try connection.call(path, FprintName.properties, "Get", FprintName.device, "finger-present")
        } catch {
            guard case .unexpected = error else { throw error }
            return false
        }
        return try read { () throws(BusError) in try answer.enter(.variant, "b") ? answer.readBool() : false }
    }

    /// Arms the reader and waits for one touch. The reader is disarmed when this returns.
    ///
    /// A match counts only if fprintd sent it for this reader, after its answer to the start and before the stop was
    /// sent. fprintd must also answer the stop.
    ///
    /// - Parameters:
    ///   - finger: the finger to compare with; nil for all fingers, or the first one if the reader cannot tell fingers
    ///     apart.
    ///   - report: tells the person, on this thread.
    /// - Throws: ``ReaderFailure/stopped`` when it was cancelled. This is no failed try.
    public func verify(
        _ finger: Finger? = nil, within duration: Duration, _ report: (VerificationEvent) -> Void
    ) throws(ReaderFailure) -> VerificationResult {
        var result = VerificationResult.timedOut
        let name = finger?.rawValue ?? FprintName.anyFinger
        try scan(.verification, name, within: duration, { report(.armed) }) { (signal) throws(ReaderFailure) in
            switch signal {
            case .fingerSelected(let finger): report(.expects(finger))
            case .status("verify-match"): result = .match
            case .status("verify-no-match"): result = .noMatch
            case .status(let status): report(.hint(try ScanHint(status, of: .verification)))
            }
            return result != .timedOut
        }
        return result
    }

    // MARK: enrolment

    /// News for the person while a finger is enrolled.
    public enum EnrollmentEvent: Equatable, Sendable {
        /// The reader waits for the first of so many touches; nil if it does not know how many.
        case armed(stageCount: Int?)
        /// So many touches were good.
        case stagePassed(Int)
        case hint(ScanHint)
    }

    public enum EnrollmentResult: Equatable, Sendable {
        case completed
        /// The touches did not fit together.
        case failed
        /// The reader has no room for another finger.
        case full
        /// The finger is enrolled already, for this user or another one.
        case duplicate
        /// The touches did not come in time.
        case timedOut
    }

    /// Enrols a finger, with as many touches as the reader wants. Replaces an enrolled finger of the same name.
    ///
    /// Before the first touch, polkit may ask the person for a password.
    ///
    /// - Parameter duration: the time for all touches together.
    public func enroll(
        _ finger: Finger, within duration: Duration, _ report: (EnrollmentEvent) -> Void
    ) throws(ReaderFailure) -> EnrollmentResult {
        let stageCount = try stageCount()
        var (result, passed) = (EnrollmentResult.timedOut, 0)
        let armed = { report(.armed(stageCount: stageCount)) }
        try scan(.enrollment, finger.rawValue, within: duration, armed) { (signal) throws(ReaderFailure) in
            switch signal {
            case .fingerSelected: break
            case .status("enroll-stage-passed"):
                passed += 1
                report(.stagePassed(passed))
            case .status("enroll-completed"): result = .completed
            case .status("enroll-failed"): result = .failed
            case .status("enroll-data-full"): result = .full
            case .status("enroll-duplicate"): result = .duplicate
            case .status(let status): report(.hint(try ScanHint(status, of: .enrollment)))
            }
            return result != .timedOut
        }
        return result
    }

    private func stageCount() throws(ReaderFailure) -> Int? {
        let answer = try connection.call(path, FprintName.properties, "Get", FprintName.device, "num-enroll-stages")
        let count = try read { () throws(BusError) in try answer.enter(.variant, "i") ? answer.readInt32() : -1 }
        return count > 0 ? Int(count) : nil
    }

    /// Deletes an enrolled finger of the user for whom the reader is claimed.
    public func delete(_ finger: Finger) throws(ReaderFailure) {
        try connection.call(
            path, FprintName.device, "DeleteEnrolledFinger", finger.rawValue, within: connection.limits.permission)
    }

    // MARK: scans

    /// A signal of fprintd during a scan.
    private enum Signal {
        case fingerSelected(Finger)
        case status(String)
    }

    /// Starts an action, passes its signals to `take` until that returns true, and stops the action in every case.
    private func scan(
        _ action: ScanAction, _ finger: String, within duration: Duration, _ armed: () -> Void,
        _ take: (Signal) throws(ReaderFailure) -> Bool
    ) throws(ReaderFailure) {
        // Signals before the answer to the start are dropped here, and signals after the stop are dropped in `stop`.
        let patience = action == .enrollment ? connection.limits.permission : connection.limits.answer
        try connection.begin(path, action.start, finger, endedBy: action.stop, within: patience)
        let deadline = ContinuousClock.now.advanced(by: duration)
        do throws(ReaderFailure) {
            armed()
            while let signal = try connection.nextSignal(of: path, until: deadline) {
                if let known = try decode(signal, action), try take(known) { break }
            }
        } catch {
            // If this fails, fprintd stops the action when the connection is closed.
            try? stop(action, within: connection.limits.ending)
            throw error
        }
        // The result counts only with this answer. Some readers take half a second for it.
        try stop(action, within: connection.limits.answer)
    }

    private func stop(_ action: ScanAction, within duration: Duration) throws(ReaderFailure) {
        try connection.finish(path, action.stop, until: .now.advanced(by: duration))
    }

    private func decode(_ signal: BusMessage, _ action: ScanAction) throws(ReaderFailure) -> Signal? {
        if signal.isSignal(FprintName.device, action.statusSignal) {
            return .status(try read { () throws(BusError) in try signal.readText() })
        }
        guard signal.isSignal(FprintName.device, ScanAction.fingerSelected) else { return nil }
        let name = try read { () throws(BusError) in try signal.readText() }
        // Other names are "any": the reader compares with every finger.
        return Finger(rawValue: name).map { .fingerSelected($0) }
    }
}

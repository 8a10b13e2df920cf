import Cancellations
import FingerprintReader

/// The fingers of the user as whom the program runs.
struct Fingers {
    let reader: FingerprintReader
    let stop: PollableCancellation
    let output: Output

    /// The time for all touches of an enrolment. A reader wants five to fifteen.
    private static let enrollmentPatience: Duration = .seconds(180)
    /// The time for the one touch of a verification.
    private static let verificationPatience: Duration = .seconds(60)

    init(reader: FingerprintReader, until stop: PollableCancellation, output: Output) {
        (self.reader, self.stop, self.output) = (reader, stop, output)
    }

    /// The default reader, and the fingers that are enrolled there.
    private func enrolled() throws(ReaderFailure) -> (reader: ReaderDescription, fingers: [Finger]) {
        switch reader.state(until: stop) {
        case .ready(let reader, let fingers): (reader, fingers)
        case .nothingEnrolled(let reader): (reader, [])
        case .unusable(let failure): throw failure
        }
    }

    // MARK: list and delete

    func list() throws(ReaderFailure) -> Result<Fault.Status, Fault> {
        let (reader, fingers) = try enrolled()
        let names = fingers.map(\.title).joined(separator: ", ")
        let words = fingers.isEmpty ? "No finger is enrolled." : "Enrolled: \(names)."
        return output.result(
            .init("listed", fingers, reader), "\(Output.line(reader.name)). \(words)")
    }

    /// - Parameter finger: nil for all of them.
    func delete(_ finger: Finger?) throws(ReaderFailure) -> Result<Fault.Status, Fault> {
        let wanted: [Finger]
        if let finger { wanted = [finger] } else { wanted = try enrolled().fingers }
        guard !wanted.isEmpty else { throw .nothingEnrolled }
        try reader.withClaim(until: stop) { (claimed) throws(ReaderFailure) in
            for finger in wanted {
                guard !stop.isCancelled else { throw .stopped }
                try claimed.delete(finger)
                output.progress(.init("deleted", finger, message: "Deleted: \(finger.title)."))
            }
        }
        output.notice(Self.restsAfterChange)
        return output.result(.init("deleted", wanted), nil)
    }

    private static let restsAfterChange =
        "Ostiary uses fingers again after you have entered your passcode once, for example with `ostiary unlock`."

    // MARK: enroll

    func enroll(_ finger: Finger, replacing: Bool) throws(ReaderFailure) -> Result<Fault.Status, Fault> {
        let (description, fingers) = try enrolled()
        guard replacing || !fingers.contains(finger) else { return .failure(.alreadyEnrolled(finger)) }
        var words = EnrollmentWords(finger, description.scanType)
        let result = try reader.withClaim(of: description.path, until: stop) { (claimed) throws(ReaderFailure) in
            try claimed.enroll(finger, within: Self.enrollmentPatience) { output.progress(words.progress(for: $0)) }
        }
        if let fault = Fault(result, of: finger) { return .failure(fault) }
        output.notice("Enrolled: \(finger.title). \(Self.restsAfterChange)")
        return output.result(.init("enrolled", [finger], description), nil)
    }

    // MARK: verify

    /// Shows whether the reader recognises a finger. It is a diagnosis: the daemon does not hear of it.
    ///
    /// - Parameter finger: nil for any of those that are enrolled.
    func verify(_ finger: Finger?) throws(ReaderFailure) -> Result<Fault.Status, Fault> {
        let (description, fingers) = try enrolled()
        guard !fingers.isEmpty else { throw .nothingEnrolled }
        var words = VerificationWords(description.scanType)
        let result = try reader.withClaim(of: description.path, until: stop) { (claimed) throws(ReaderFailure) in
            try claimed.verify(finger, within: Self.verificationPatience) { output.progress(words.progress(for: $0)) }
        }
        switch result {
        case .match:
            return output.result(
                .init("match"), "The reader recognised the finger. This was a test and opened nothing.")
        case .noMatch:
            return output.result(.init("no-match"), "The reader did not recognise the finger.", .failed)
        case .timedOut: return .failure(.timedOut)
        }
    }
}

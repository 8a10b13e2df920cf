package import Cancellations
package import EnrolledTemplates
package import FingerprintReader

/// Compares the fingers of one owner. In the daemon this is fprintd's reader.
package protocol FingerSensor: Sendable {
    /// Whether a finger can be verified now. Claims nothing and arms nothing.
    func readerState() -> ReaderState

    /// How long the reader is left alone after a touch, before it waits for another question's.
    var pauseBetweenQuestions: Duration { get }

    /// Claims the reader, lends `body` a way to wait for touches, and releases the reader in every case.
    ///
    /// - Parameter stop: ends every wait in this call.
    func withTouches<Result>(
        until stop: PollableCancellation, _ body: (TouchWait) throws(ReaderFailure) -> Result
    ) throws(ReaderFailure) -> Result
}

/// Arms the reader and waits for one touch, at most for a duration, as ``ClaimedReader/verify(_:within:_:)`` does.
package typealias TouchWait = (
    Duration, (ClaimedReader.VerificationEvent) -> Void
) throws(ReaderFailure) -> ClaimedReader.VerificationResult

/// fprintd's reader, for the fingers of one owner.
package struct OwnerReader: FingerSensor {
    private let reader: FingerprintReader
    private let user: String?

    /// - Parameter user: the owner's name; nil for the user of this process, whom fprintd knows without a name.
    package init(_ reader: FingerprintReader, for user: String?) { (self.reader, self.user) = (reader, user) }

    package func readerState() -> ReaderState { reader.state(for: user) }

    /// The time in which a person lifts the finger. Few readers say when it is gone.
    package var pauseBetweenQuestions: Duration { .seconds(1) }

    package func withTouches<Result>(
        until stop: PollableCancellation, _ body: (TouchWait) throws(ReaderFailure) -> Result
    ) throws(ReaderFailure) -> Result {
        try reader.withClaim(for: user, until: stop) { (claimed) throws(ReaderFailure) in
            try body { (duration, report) throws(ReaderFailure) in
                try claimed.waitUntilFingerIsOff { report(.hint(.removeAndScanAgain)) }
                return try claimed.verify(within: duration, report)
            }
        }
    }
}

/// Tells the set of enrolled fingers. In the daemon this is `ostiary-templates`.
package protocol EnrolledSetSource: Sendable {
    /// The set of now. Blocks for the answer.
    func enrolledSet() -> EnrolledSet

    /// Has `tell` called with the present set and with each changed one, on any thread, until the result is stopped or released.
    func followEnrolledSet(_ tell: @escaping @Sendable (EnrolledSet) -> Void) -> any EnrolledSetFollower
}

/// Reports changes of the enrolled set until it is stopped or released.
package protocol EnrolledSetFollower: AnyObject, Sendable {
    func stop()
}

extension EnrolledTemplates: EnrolledSetSource {
    package func enrolledSet() -> EnrolledSet { current() }

    package func followEnrolledSet(
        _ tell: @escaping @Sendable (EnrolledSet) -> Void
    ) -> any EnrolledSetFollower { follow(tell) }
}

extension TemplatesFollower: EnrolledSetFollower {}

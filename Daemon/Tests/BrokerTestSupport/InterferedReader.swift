import Cancellations
import FingerprintReader
import Synchronization

@testable import Authenticators

/// The real reader, with something done at moments that neither a person nor a program can choose.
final class InterferedReader: FingerSensor {
    enum Moment {
        /// The set was looked at, and fprintd has not been told to start.
        case beforeArming
        /// The evaluation wants nothing more of the reader.
        case beforeRelease
    }

    private let reader: OwnerReader
    private let actions = Mutex<[Moment: @Sendable () -> Void]>([:])

    init(_ reader: OwnerReader) { self.reader = reader }

    /// Does this the next time.
    func once(_ moment: Moment, _ action: @escaping @Sendable () -> Void) { actions.withLock { $0[moment] = action } }

    private func act(_ moment: Moment) { actions.withLock { $0.removeValue(forKey: moment) }?() }

    func readerState() -> ReaderState { reader.readerState() }

    var pauseBetweenQuestions: Duration { reader.pauseBetweenQuestions }

    func withTouches<Result>(
        until stop: PollableCancellation, _ body: (TouchWait) throws(ReaderFailure) -> Result
    ) throws(ReaderFailure) -> Result {
        try reader.withTouches(until: stop) { (wait) throws(ReaderFailure) in
            defer { act(.beforeRelease) }
            // The compiler forbids a closure that does not escape in another one.
            return try withoutActuallyEscaping(wait) { (wait) throws(ReaderFailure) in
                try body { (duration, report) throws(ReaderFailure) in
                    act(.beforeArming)
                    return try wait(duration, report)
                }
            }
        }
    }
}

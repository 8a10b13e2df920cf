public import OstiaryMessages

/// The reason why Ostiary did not carry out a request.
///
/// Two errors are equal when their codes are. The explanation says what happened and what to do next. It is for people,
/// may change, and never holds a secret.
public struct OstiaryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A stable number. Positive codes come from the daemon (`FailureCode` of the wire format), negative ones from the
    /// client; a code that this version does not know is kept and means a refusal.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        /// The daemon's code for a failure.
        public init(_ failure: WireFailureCode) { rawValue = failure.rawValue }

        /// No daemon answers and none could be started.
        public static let daemonUnavailable = Code(rawValue: -1)
        /// The daemon ended while the request was under way; all grants ended with it.
        public static let connectionLost = Code(rawValue: -2)
        /// The program that listens at the socket belongs to another user.
        public static let foreignServer = Code(rawValue: -3)
        /// The daemon answered with something that is no answer to the request.
        public static let unexpectedAnswer = Code(rawValue: -4)
        /// The environment or a configuration file cannot be used.
        public static let invalidConfiguration = Code(rawValue: -5)
    }

    public let code: Code
    public let explanation: String
    /// The time left of a lock-out.
    public let retryAfter: Duration?
    /// A machine-readable cause, for example `biometry.no-sensor`; empty when there is none.
    public let cause: String

    public init(_ code: Code, _ explanation: String, retryAfter: Duration? = nil, cause: String = "") {
        self.code = code
        self.explanation = explanation
        self.retryAfter = retryAfter
        self.cause = cause
    }

    /// A year in seconds: no delay is longer.
    private static let longestWait = 31_536_000.0

    init(_ failure: WireFailure) {
        code = Code(rawValue: Int(failure.code))
        explanation = failure.explanation
        // A number that is no plausible wait would trap in `Duration`.
        retryAfter =
            (0...Self.longestWait).contains(failure.retryAfterSeconds) && failure.retryAfterSeconds > 0
            ? .seconds(failure.retryAfterSeconds) : nil
        cause = failure.cause
    }

    /// Whether this is the daemon's answer `failure`.
    public func isFailure(_ failure: WireFailureCode) -> Bool { code == Code(failure) }

    /// Whether the daemon has refused the request, and the connection goes on.
    var isOfDaemon: Bool { code.rawValue > 0 }

    public static func == (left: OstiaryError, right: OstiaryError) -> Bool { left.code == right.code }

    public var description: String { explanation.isEmpty ? "Ostiary error \(code.rawValue)" : explanation }
}

package import OstiaryMessages

/// A request that is not carried out: the code for the caller, words for the person, and a cause for programs.
///
/// The words never hold a secret or bytes that a caller sent.
package struct Refusal: Error, Equatable, Sendable {
    package let code: WireFailureCode
    package let explanation: String
    var retryAfter: Duration?
    package var cause: String = ""
    /// The lease that refused, for the log; nil for none.
    package var leaseID: UInt64?

    package init(_ code: WireFailureCode, _ explanation: String, retryAfter: Duration? = nil, cause: String = "") {
        self.code = code
        self.explanation = explanation
        self.retryAfter = retryAfter
        self.cause = cause
    }

    package var message: WireFailure {
        var failure = WireFailure()
        failure.code = UInt32(code.rawValue)
        failure.explanation = explanation
        failure.retryAfterSeconds = retryAfter.map { $0 / .seconds(1) } ?? 0
        failure.cause = cause
        return failure
    }
}

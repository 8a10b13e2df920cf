import OstiaryWire

/// A request that is not carried out: the code for the caller, words for the person, and a cause for programs.
///
/// The words never hold a secret or bytes that a caller sent.
struct Refusal: Error, Equatable, Sendable {
    let code: WireFailureCode
    let explanation: String
    var retryAfter: Duration?
    var cause: String = ""

    init(_ code: WireFailureCode, _ explanation: String, retryAfter: Duration? = nil, cause: String = "") {
        self.code = code
        self.explanation = explanation
        self.retryAfter = retryAfter
        self.cause = cause
    }

    var message: WireFailure {
        var failure = WireFailure()
        failure.code = UInt32(code.rawValue)
        failure.explanation = explanation
        failure.retryAfterSeconds = retryAfter.map { $0 / .seconds(1) } ?? 0
        failure.cause = cause
        return failure
    }
}

import CAuthenticationServices
import Foundation
import OstiaryClient
import OstiaryMessages

/// How a refusal of the daemon looks to a program written for Apple's systems: every code, in one place.
enum ErrorTranslation {
    /// - Parameter relyingParty: the domain that the request was about.
    static func error(for error: any Error, relyingParty: String) -> ASAuthorizationError {
        switch error {
        case let error as ASAuthorizationError: error
        case let error as OstiaryError: translate(error, relyingParty)
        default:
            ASAuthorizationError(
                .unknown, userInfo: [ASAuthorizationError.causeKey: "internal", NSUnderlyingErrorKey: error])
        }
    }

    /// A refusal that this side of the connection makes itself.
    static func refusal(
        _ code: ASAuthorizationError.Code, cause: String, _ explanation: String
    ) -> ASAuthorizationError {
        ASAuthorizationError(code, userInfo: userInfo(cause, explanation))
    }

    /// The program itself ended the request.
    static var cancelled: ASAuthorizationError {
        refusal(.canceled, cause: "app.cancel", "The program cancelled the request.")
    }

    private static func translate(_ error: OstiaryError, _ relyingParty: String) -> ASAuthorizationError {
        let cause = error.cause.isEmpty ? "ostiary.\(error.code.rawValue)" : error.cause
        var userInfo = userInfo(cause, error.description)
        if let delay = error.retryAfter { userInfo[ASAuthorizationError.retryAfterKey] = delay / .seconds(1) }
        if error.isFailure(.notAssociated) {
            // Apple's systems name program and domain here.
            userInfo[NSLocalizedFailureReasonErrorKey] =
                "Application with identifier \(ProcessInfo.processInfo.processName) is not associated with domain "
                + "\(relyingParty). \(error.explanation)"
        }
        return ASAuthorizationError(code(of: error), userInfo: userInfo)
    }

    private static func code(of error: OstiaryError) -> ASAuthorizationError.Code {
        guard error.code.rawValue >= 0 else { return .failed }
        return switch WireFailureCode(rawValue: error.code.rawValue) {
        case .userCancel, .appCancel, .systemCancel, .userFallback, .noCredential: .canceled
        case .notInteractive: .notInteractive
        case .credentialExcluded: .matchedExcludedCredential
        case .invalidAuthenticatorAnswer: .invalidResponse
        case .passcodeNotSet: .deviceNotConfiguredForPasskeyCreation
        case nil, .unspecified: .unknown
        default: .failed
        }
    }

    private static func userInfo(_ cause: String, _ explanation: String) -> [String: Any] {
        [
            NSLocalizedDescriptionKey: explanation, "NSDebugDescription": "\(explanation) (\(cause))",
            ASAuthorizationError.causeKey: cause,
        ]
    }
}

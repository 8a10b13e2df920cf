public import CAuthenticationServices
public import Foundation

/// The domain of ``ASAuthorizationError`` (Apple's `ASAuthorizationErrorDomain`).
public let ASAuthorizationErrorDomain = "com.apple.AuthenticationServices.AuthorizationError"

/// Why an authorization was not given (Apple's `ASAuthorizationError`).
///
/// The same value travels as this structure and as an `NSError` of ``ASAuthorizationErrorDomain``, and each casts to the other:
/// `as? ASAuthorizationError`, `catch ASAuthorizationError.canceled` and `catch let error as NSError` work on both. A code that
/// this version does not name is kept.
public struct ASAuthorizationError: _BridgedStoredNSError, Sendable {
    /// The codes (Apple's `ASAuthorizationError.Code`).
    public typealias Code = ASAuthorizationErrorCode

    /// The error as Foundation stores it.
    public let _nsError: NSError

    /// The error that an `NSError` of ``ASAuthorizationErrorDomain`` stands for.
    public init(_nsError error: NSError) { _nsError = error }

    /// The same as ``ASAuthorizationErrorDomain``.
    public static var errorDomain: String { ASAuthorizationErrorDomain }

    /// The same as ``ASAuthorizationErrorDomain``.
    public static var _nsErrorDomain: String { ASAuthorizationErrorDomain }
}

extension ASAuthorizationErrorCode: @retroactive _ErrorCodeProtocol {
    public typealias _ErrorType = ASAuthorizationError
}

/// Foundation on Linux casts only its own errors; this makes `as?` and `catch` find an `ASAuthorizationError` inside an
/// `NSError`, and an `NSError` inside an `ASAuthorizationError`.
extension ASAuthorizationError: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout ASAuthorizationError?) {
        guard _conditionallyBridgeFromObjectiveC(source, result: &result) else {
            preconditionFailure("An NSError of domain \(source.domain) was cast to ASAuthorizationError with as!")
        }
    }

    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout ASAuthorizationError?
    ) -> Bool {
        guard source.domain == ASAuthorizationErrorDomain else { return false }
        result = ASAuthorizationError(_nsError: source)
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> ASAuthorizationError {
        var result: ASAuthorizationError?
        if let source { _forceBridgeFromObjectiveC(source, result: &result) }
        return result ?? ASAuthorizationError(.unknown)
    }
}

// MARK: the codes, for patterns such as `catch ASAuthorizationError.canceled`

extension ASAuthorizationError {
    /// No reason is known (1000).
    public static var unknown: Code { .unknown }
    /// The person or the program cancelled, or nothing was at hand that could answer (1001).
    public static var canceled: Code { .canceled }
    /// The authenticator gave an answer that cannot be used (1002).
    public static var invalidResponse: Code { .invalidResponse }
    /// Nothing here handles such a request (1003).
    public static var notHandled: Code { .notHandled }
    /// It failed, for example because the domain does not confirm the program (1004).
    public static var failed: Code { .failed }
    /// A question would be needed, and none may or can be shown (1005).
    public static var notInteractive: Code { .notInteractive }
    /// The authenticator holds one of the excluded credentials (1006).
    public static var matchedExcludedCredential: Code { .matchedExcludedCredential }
    /// Credentials could not be imported (1007).
    public static var credentialImport: Code { .credentialImport }
    /// Credentials could not be exported (1008).
    public static var credentialExport: Code { .credentialExport }
    /// The person prefers Sign in with Apple (1009).
    public static var preferSignInWithApple: Code { .preferSignInWithApple }
    /// This machine cannot make a passkey (1010).
    public static var deviceNotConfiguredForPasskeyCreation: Code { .deviceNotConfiguredForPasskeyCreation }
}

// MARK: beyond Apple's error

extension ASAuthorizationError {
    /// Key of `userInfo`: why, as a stable name of lower-case words, for example `association.not-listed`.
    public static let causeKey = "OstiaryCause"

    /// Key of `userInfo`: after how many seconds another attempt is allowed, as `TimeInterval`.
    public static let retryAfterKey = "OstiaryRetryAfter"

    /// Why, as a stable name; the code alone does not tell a person who cancelled from a key without a credential.
    public var cause: String? { userInfo[Self.causeKey] as? String }

    /// After how many seconds another attempt is allowed, where the refusal has such an end.
    public var retryAfter: TimeInterval? { userInfo[Self.retryAfterKey] as? TimeInterval }
}

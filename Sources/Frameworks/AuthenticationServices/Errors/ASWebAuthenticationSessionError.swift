public import CAuthenticationServices
public import Foundation

/// The domain of ``ASWebAuthenticationSessionError`` (Apple's `ASWebAuthenticationSessionErrorDomain`).
public let ASWebAuthenticationSessionErrorDomain = "com.apple.AuthenticationServices.WebAuthenticationSession"

/// Why a sign-in in the browser ended (Apple's `ASWebAuthenticationSessionError`). As ``ASAuthorizationError``, it casts to an
/// `NSError` and back.
public struct ASWebAuthenticationSessionError: _BridgedStoredNSError, Sendable {
    /// The codes (Apple's `ASWebAuthenticationSessionError.Code`).
    public typealias Code = ASWebAuthenticationSessionErrorCode

    /// The error as Foundation stores it.
    public let _nsError: NSError

    /// The error that an `NSError` of ``ASWebAuthenticationSessionErrorDomain`` stands for.
    public init(_nsError error: NSError) { _nsError = error }

    /// The same as ``ASWebAuthenticationSessionErrorDomain``.
    public static var errorDomain: String { ASWebAuthenticationSessionErrorDomain }

    /// The same as ``ASWebAuthenticationSessionErrorDomain``.
    public static var _nsErrorDomain: String { ASWebAuthenticationSessionErrorDomain }

    /// The program cancelled (1).
    public static var canceledLogin: Code { .canceledLogin }
    /// Apple's for a session without a window; never here (2).
    public static var presentationContextNotProvided: Code { .presentationContextNotProvided }
    /// The session cannot run here; the description says why (3).
    public static var presentationContextInvalid: Code { .presentationContextInvalid }
}

extension ASWebAuthenticationSessionErrorCode: @retroactive _ErrorCodeProtocol {
    public typealias _ErrorType = ASWebAuthenticationSessionError
}

extension ASWebAuthenticationSessionError: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(
        _ source: NSError, result: inout ASWebAuthenticationSessionError?
    ) {
        guard _conditionallyBridgeFromObjectiveC(source, result: &result) else {
            preconditionFailure(
                "An NSError of domain \(source.domain) was cast to ASWebAuthenticationSessionError with as!")
        }
    }

    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout ASWebAuthenticationSessionError?
    ) -> Bool {
        guard source.domain == ASWebAuthenticationSessionErrorDomain else { return false }
        result = ASWebAuthenticationSessionError(_nsError: source)
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> ASWebAuthenticationSessionError {
        var result: ASWebAuthenticationSessionError?
        if let source { _forceBridgeFromObjectiveC(source, result: &result) }
        return result ?? ASWebAuthenticationSessionError(.presentationContextInvalid)
    }
}

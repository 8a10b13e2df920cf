public import CLocalAuthentication
public import Foundation
import Security

/// Why an evaluation or authorization was refused (Apple's `LAError`).
///
/// The same value travels as this structure and as an `NSError` of ``LAErrorDomain``, and each casts to the other:
/// `as? LAError`, `catch LAError.userCancel` and `catch let error as NSError` work on both. A code that this version
/// does not name is kept.
///
/// `userInfo` has a description for people under `NSLocalizedDescriptionKey`, one for developers under
/// `NSDebugDescription`, and on Linux a machine-readable cause: ``cause``.
public struct LAError: _BridgedStoredNSError, Sendable {
    /// The codes (Apple's `LAError.Code`).
    public typealias Code = LAErrorCode

    /// The error as Foundation stores it.
    public let _nsError: NSError

    /// The error that an `NSError` of ``LAErrorDomain`` stands for.
    public init(_nsError error: NSError) { _nsError = error }

    /// The same as ``LAErrorDomain``.
    public static var errorDomain: String { LAErrorDomain }

    /// The same as ``LAErrorDomain``.
    public static var _nsErrorDomain: String { LAErrorDomain }
}

extension LAErrorCode: @retroactive _ErrorCodeProtocol {
    public typealias _ErrorType = LAError
}

/// Foundation on Linux casts only its own errors; this makes `as?` and `catch` find an `LAError` inside an `NSError`,
/// and an `NSError` inside an `LAError`.
extension LAError: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        guard _conditionallyBridgeFromObjectiveC(source, result: &result) else {
            preconditionFailure("An NSError of domain \(source.domain) was cast to LAError with as!")
        }
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) -> Bool {
        guard source.domain == LAErrorDomain else { return false }
        result = LAError(_nsError: source)
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        var result: LAError?
        if let source { _forceBridgeFromObjectiveC(source, result: &result) }
        return result ?? LAError(.authenticationFailed)
    }
}

// MARK: the codes, for patterns such as `catch LAError.userCancel`

extension LAError {
    /// The person did not prove to be the owner, or the right is not authorized (-1).
    public static var authenticationFailed: Code { .authenticationFailed }
    /// The person cancelled (-2).
    public static var userCancel: Code { .userCancel }
    /// The person chose the fallback of a policy that has none of its own (-3).
    public static var userFallback: Code { .userFallback }
    /// The system ended the evaluation, or could not carry it out (-4).
    public static var systemCancel: Code { .systemCancel }
    /// The owner has set no passcode (-5).
    public static var passcodeNotSet: Code { .passcodeNotSet }
    /// There is no usable biometric sensor (-6).
    public static var biometryNotAvailable: Code { .biometryNotAvailable }
    /// The older name of ``biometryNotAvailable``.
    public static var touchIDNotAvailable: Code { .touchIDNotAvailable }
    /// There is a sensor, and nothing is enrolled (-7).
    public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
    /// The older name of ``biometryNotEnrolled``.
    public static var touchIDNotEnrolled: Code { .touchIDNotEnrolled }
    /// Too many attempts failed; biometry rests until the passcode is entered (-8).
    public static var biometryLockout: Code { .biometryLockout }
    /// The older name of ``biometryLockout``.
    public static var touchIDLockout: Code { .touchIDLockout }
    /// The program ended the evaluation (-9).
    public static var appCancel: Code { .appCancel }
    /// The context was invalidated before the call (-10).
    public static var invalidContext: Code { .invalidContext }
    /// No companion is in reach (-11).
    public static var companionNotAvailable: Code { .companionNotAvailable }
    /// The older name of ``companionNotAvailable``.
    public static var watchNotAvailable: Code { .watchNotAvailable }
    /// Only removable sensors are supported, and none is paired (-12).
    public static var biometryNotPaired: Code { .biometryNotPaired }
    /// The sensor was unplugged during the evaluation (-13).
    public static var biometryDisconnected: Code { .biometryDisconnected }
    /// The embedded view is too small (-14).
    public static var invalidDimensions: Code { .invalidDimensions }
    /// A prompt would be needed, and none may or can be shown (-1004).
    public static var notInteractive: Code { .notInteractive }
}

// Additions to Apple's LAError. The keys also stand in the userInfo of the `NSError`s of `NSOSStatusErrorDomain`
// that rights, keys and the right store report.
extension LAError {
    /// Key of `userInfo`: why, as a stable name of lower-case words, for example `passcode.locked-out`.
    public static let causeKey = ErrorSurface.causeKey

    /// Key of `userInfo`: after how many seconds another attempt is allowed, as `TimeInterval`.
    public static let retryAfterKey = ErrorSurface.retryAfterKey

    /// Why, as a stable name; the code alone does not tell a wrong passcode from one that is locked out.
    public var cause: String? { userInfo[Self.causeKey] as? String }

    /// After how many seconds another attempt is allowed, where the refusal has such an end.
    public var retryAfter: TimeInterval? { userInfo[Self.retryAfterKey] as? TimeInterval }
}

package import Foundation
package import OstiaryClient
import OstiaryMessages

/// How a refusal of the daemon or the client looks to a program written for Apple's systems: every code, in one place.
///
/// Problems of the person are errors of LocalAuthentication. Problems of the object, the algorithm or the machine are
/// statuses of the Security framework.
package enum ErrorSurface: Equatable, Sendable {
    case authentication(AuthenticationCode)
    case status(OSStatus)

    /// Apple's codes of `LAErrorDomain`, those that occur here. LocalAuthentication has them all, from a C header, which Security
    /// must not need: a package that finds this module without depending on it is not shown the C modules behind it.
    package enum AuthenticationCode: Int, Sendable {
        case authenticationFailed = -1
        case userCancel = -2
        case userFallback = -3
        case systemCancel = -4
        case passcodeNotSet = -5
        case biometryNotAvailable = -6
        case biometryNotEnrolled = -7
        case biometryLockout = -8
        case appCancel = -9
        case invalidContext = -10
        case companionNotAvailable = -11
        case biometryDisconnected = -13
        case notInteractive = -1004
    }

    /// The surface of a code and the cause that is named where the daemon names none. An unknown code is a refusal.
    package static func entry(for code: OstiaryError.Code) -> (surface: ErrorSurface, cause: String) {
        switch code {
        case .daemonUnavailable: (.status(errSecNotAvailable), "daemon.unavailable")
        case .connectionLost: (.authentication(.systemCancel), "daemon.connection-lost")
        case .foreignServer: (.status(errSecNotAvailable), "daemon.foreign")
        case .unexpectedAnswer: (.status(errSecInternalComponent), "daemon.unexpected-answer")
        case .invalidConfiguration: (.status(errSecNotAvailable), "client.invalid-configuration")
        default: entry(for: WireFailureCode(rawValue: code.rawValue) ?? .unspecified)
        }
    }

    /// The same for an error. Only its cause tells a reader that was unplugged while it was asked from one that cannot be used.
    private static func entry(for error: OstiaryError) -> (surface: ErrorSurface, cause: String) {
        guard error.isFailure(.biometryNotAvailable), error.cause == unplugged else { return entry(for: error.code) }
        return (.authentication(.biometryDisconnected), unplugged)
    }

    /// The daemon's cause where the reader was unplugged.
    private static let unplugged = "biometry.disconnected"

    private static func entry(for failure: WireFailureCode) -> (surface: ErrorSurface, cause: String) {
        switch failure {
        case .unspecified: (.authentication(.authenticationFailed), "unknown")

        case .malformed: (.status(errSecBadReq), "request.malformed")
        case .outOfOrder: (.status(errSecBadReq), "request.out-of-order")
        case .tooLarge: (.status(errSecParam), "request.too-large")
        case .tooMany: (.status(errSecAllocate), "request.too-many")
        case .unknownContext: (.authentication(.invalidContext), "context.unknown")
        case .versionMismatch: (.status(errSecNotAvailable), "daemon.version")
        case .invalidParameter: (.status(errSecParam), "request.invalid-parameter")
        case .invalidRule: (.status(errSecParam), "request.invalid-rule")
        case .emptyReason: (.authentication(.authenticationFailed), "reason.empty")

        case .notAuthorized: (.authentication(.authenticationFailed), "right.not-authorized")
        case .authenticationFailed: (.authentication(.authenticationFailed), "authentication.failed")
        case .userCancel: (.authentication(.userCancel), "user.cancel")
        case .userFallback: (.authentication(.userFallback), "user.fallback")
        case .systemCancel: (.authentication(.systemCancel), "system.cancel")
        case .appCancel: (.authentication(.appCancel), "app.cancel")
        case .notInteractive: (.authentication(.notInteractive), "prompt.not-possible")
        case .lockedOut: (.authentication(.authenticationFailed), "passcode.locked-out")
        case .operationNotPermitted: (.status(errSecAuthFailed), "right.operation-not-permitted")
        case .callerChanged: (.authentication(.authenticationFailed), "caller.changed")
        case .cooldown: (.authentication(.systemCancel), "prompt.cooldown")
        case .timedOut: (.authentication(.systemCancel), "prompt.timed-out")
        case .questionNeeded: (.status(errSecInternalComponent), "question.needed")
        case .clientChanged: (.authentication(.authenticationFailed), "client.changed")
        case .clientRefused: (.status(errSecAuthFailed), "client.refused")
        case .notPermitted: (.status(errSecAuthFailed), "admin.not-permitted")

        case .passcodeNotSet: (.authentication(.passcodeNotSet), "passcode.not-set")
        case .passcodeAlreadySet: (.status(errSecDuplicateItem), "passcode.already-set")
        case .passcodeTooWeak: (.status(errSecParam), "passcode.too-weak")
        case .passcodeMismatch: (.authentication(.authenticationFailed), "passcode.mismatch")
        case .biometryNotAvailable: (.authentication(.biometryNotAvailable), "biometry.not-available")
        case .biometryNotEnrolled: (.authentication(.biometryNotEnrolled), "biometry.not-enrolled")
        case .biometryLockout: (.authentication(.biometryLockout), "biometry.locked-out")
        case .companionNotAvailable: (.authentication(.companionNotAvailable), "companion.not-available")
        case .locked: (.status(errSecInteractionNotAllowed), "store.locked")

        case .notFound: (.status(errSecItemNotFound), "right.not-found")
        case .duplicate: (.status(errSecDuplicateItem), "right.duplicate")
        case .noSecret: (.status(errSecItemNotFound), "right.no-secret")
        case .itemUnreadable: (.status(errSecDecode), "right.unreadable")
        case .storeUnreadable: (.status(errSecNotAvailable), "store.unreadable")
        case .storeTooNew: (.status(errSecNotAvailable), "store.too-new")
        case .diskFull: (.status(errSecDiskFull), "store.disk-full")
        case .logUnwritable: (.status(errSecIO), "log.unwritable")
        case .internal: (.status(errSecInternalComponent), "internal")
        case .missingEntitlement: (.status(errSecMissingEntitlement), "application.missing-entitlement")
        case .noSuchAttribute: (.status(errSecNoSuchAttr), "item.no-such-attribute")
        case .noSuchClass: (.status(errSecNoSuchClass), "item.no-such-class")
        case .programChanged: (.status(errSecMissingEntitlement), "application.changed")
        case .programUnverified: (.status(errSecMissingEntitlement), "application.unverified")

        case .notAssociated: (.status(errSecMissingEntitlement), "association.missing")
        case .credentialExcluded: (.status(errSecDuplicateItem), "credential.excluded")
        case .noCredential: (.status(errSecItemNotFound), "credential.none")
        case .authenticatorFailed: (.status(errSecNotAvailable), "credential.failed")
        case .invalidAuthenticatorAnswer: (.status(errSecDecode), "credential.malformed-answer")

        case .unsupportedAlgorithm: (.status(errSecParam), "key.unsupported-algorithm")
        case .decryptionFailed: (.status(errSecParam), "key.decryption-failed")
        case .invalidPeerKey: (.status(errSecParam), "key.invalid-peer-key")
        }
    }

    // MARK: as errors

    /// Key of `userInfo`: why, as a stable name of lower-case words, for example `passcode.locked-out`.
    package static let causeKey = "OstiaryCause"
    /// Key of `userInfo`: after how many seconds another attempt is allowed, as `TimeInterval`.
    package static let retryAfterKey = "OstiaryRetryAfter"
    /// Key of `userInfo`: details for a developer.
    package static let debugDescriptionKey = "NSDebugDescription"
    /// Apple's `LAErrorDomain`.
    package static let authenticationDomain = "com.apple.LocalAuthentication"

    /// `error` as an `NSError` of its surface's domain, with a description for people and one for developers.
    package static func error(for error: OstiaryError) -> NSError {
        let (surface, cause) = entry(for: error)
        var userInfo: [String: Any] = [
            NSLocalizedDescriptionKey: error.description,
            debugDescriptionKey: "Ostiary error \(error.code.rawValue) (\(cause)). \(error.explanation)",
            causeKey: error.cause.isEmpty ? cause : error.cause,
        ]
        if let delay = error.retryAfter { userInfo[retryAfterKey] = delay / .seconds(1) }
        return switch surface {
        case .authentication(let code): NSError(domain: authenticationDomain, code: code.rawValue, userInfo: userInfo)
        case .status(let status): NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: userInfo)
        }
    }
}

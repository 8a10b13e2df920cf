package import OstiaryClient
import OstiaryMessages

/// The class of a failure for callers of the command: a stable name for programs, and the exit status.
package struct FailureClass: Equatable {
    package let name: String
    package let exitStatus: ExitStatus

    package init(_ name: String, _ exitStatus: ExitStatus) {
        self.name = name
        self.exitStatus = exitStatus
    }

    /// A number that this version does not know, or none: a refusal.
    package static let unknown = FailureClass("unknown", .refused)
}

extension OstiaryError.Code {
    /// The one table from codes to names and exit statuses.
    package var failureClass: FailureClass {
        switch self {
        case .daemonUnavailable: FailureClass("daemonUnavailable", .failed)
        case .connectionLost: FailureClass("connectionLost", .failed)
        case .foreignServer: FailureClass("foreignServer", .failed)
        case .unexpectedAnswer: FailureClass("unexpectedAnswer", .failed)
        case .invalidConfiguration: FailureClass("invalidConfiguration", .failed)
        default: WireFailureCode(rawValue: rawValue)?.failureClass ?? .unknown
        }
    }
}

extension WireFailureCode {
    fileprivate var failureClass: FailureClass {
        switch self {
        case .unspecified: .unknown
        case .malformed: FailureClass("malformed", .failed)
        case .outOfOrder: FailureClass("outOfOrder", .failed)
        case .tooLarge: FailureClass("tooLarge", .failed)
        case .tooMany: FailureClass("tooMany", .failed)
        case .unknownContext: FailureClass("unknownContext", .failed)
        case .versionMismatch: FailureClass("versionMismatch", .failed)
        case .invalidParameter: FailureClass("invalidParameter", .failed)
        case .invalidRule: FailureClass("invalidRule", .failed)
        case .emptyReason: FailureClass("emptyReason", .failed)

        case .notAuthorized: FailureClass("notAuthorized", .refused)
        case .authenticationFailed: FailureClass("authenticationFailed", .refused)
        case .userCancel: FailureClass("userCancel", .refused)
        case .userFallback: FailureClass("userFallback", .refused)
        case .systemCancel: FailureClass("systemCancel", .refused)
        case .appCancel: FailureClass("appCancel", .refused)
        case .notInteractive: FailureClass("notInteractive", .refused)
        case .lockedOut: FailureClass("lockedOut", .refused)
        case .operationNotPermitted: FailureClass("operationNotPermitted", .refused)
        case .callerChanged: FailureClass("callerChanged", .refused)
        case .cooldown: FailureClass("cooldown", .refused)
        case .timedOut: FailureClass("timedOut", .refused)
        case .questionNeeded: FailureClass("questionNeeded", .failed)
        case .clientChanged: FailureClass("clientChanged", .refused)
        case .clientRefused: FailureClass("clientRefused", .refused)
        case .notPermitted: FailureClass("notPermitted", .refused)

        case .passcodeNotSet: FailureClass("passcodeNotSet", .failed)
        case .passcodeAlreadySet: FailureClass("passcodeAlreadySet", .failed)
        case .passcodeTooWeak: FailureClass("passcodeTooWeak", .failed)
        case .passcodeMismatch: FailureClass("passcodeMismatch", .failed)
        case .biometryNotAvailable: FailureClass("biometryNotAvailable", .failed)
        case .biometryNotEnrolled: FailureClass("biometryNotEnrolled", .failed)
        case .biometryLockout: FailureClass("biometryLockout", .refused)
        case .companionNotAvailable: FailureClass("companionNotAvailable", .failed)
        case .locked: FailureClass("locked", .refused)

        case .notFound: FailureClass("notFound", .failed)
        case .duplicate: FailureClass("duplicate", .failed)
        case .noSecret: FailureClass("noSecret", .failed)
        case .itemUnreadable: FailureClass("itemUnreadable", .failed)
        case .storeUnreadable: FailureClass("storeUnreadable", .failed)
        case .storeTooNew: FailureClass("storeTooNew", .failed)
        case .diskFull: FailureClass("diskFull", .failed)
        case .logUnwritable: FailureClass("logUnwritable", .failed)
        case .internal: FailureClass("internal", .failed)
        case .missingEntitlement: FailureClass("missingEntitlement", .refused)
        case .noSuchAttribute: FailureClass("noSuchAttribute", .failed)
        case .noSuchClass: FailureClass("noSuchClass", .failed)
        case .programChanged: FailureClass("programChanged", .refused)
        case .programUnverified: FailureClass("programUnverified", .refused)

        case .notAssociated: FailureClass("notAssociated", .refused)
        case .credentialExcluded: FailureClass("credentialExcluded", .failed)
        case .noCredential: FailureClass("noCredential", .failed)
        case .authenticatorFailed: FailureClass("authenticatorFailed", .failed)
        case .invalidAuthenticatorAnswer: FailureClass("invalidAuthenticatorAnswer", .failed)

        case .unsupportedAlgorithm: FailureClass("unsupportedAlgorithm", .failed)
        case .decryptionFailed: FailureClass("decryptionFailed", .failed)
        case .invalidPeerKey: FailureClass("invalidPeerKey", .failed)
        }
    }
}

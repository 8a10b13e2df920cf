import KeyAlgorithms
import OstiaryClient
import OstiaryMessages
import SSHAgent

extension TokenRefusal {
    /// What the host learns of a failure. The reason goes to standard error of the door.
    package init(_ error: any Error) {
        switch error {
        case let refusal as TokenRefusal: self = refusal
        case let error as OstiaryError: self.init(of: error)
        case let error as KeyAlgorithmError: self.init(of: error)
        // The item's private half is another key, or has other limits, than its entry in the list.
        case is KeyRefusal: self = .keyFunctionNotPermitted
        default: self = .failed
        }
    }

    private init(of error: OstiaryError) {
        guard let code = WireFailureCode(rawValue: error.code.rawValue) else {
            // Of the connection, or of a newer daemon, which refused.
            self = error.code.rawValue < 0 ? .deviceError : .rejected
            return
        }
        switch code {
        case .authenticationFailed, .userCancel, .userFallback, .notInteractive, .cooldown, .notAuthorized, .locked,
            .passcodeNotSet, .biometryNotAvailable, .biometryNotEnrolled, .companionNotAvailable, .questionNeeded:
            self = .rejected
        case .appCancel, .systemCancel, .timedOut: self = .canceled
        case .lockedOut, .biometryLockout: self = .pinLocked
        case .notFound: self = .keyHandleInvalid
        case .operationNotPermitted, .notPermitted: self = .keyFunctionNotPermitted
        case .unsupportedAlgorithm: self = .mechanismInvalid
        case .invalidPeerKey: self = .mechanismParameterInvalid
        case .decryptionFailed: self = .encryptedDataInvalid
        case .tooLarge: self = .dataLength
        case .tooMany: self = .deviceMemory
        case .callerChanged, .clientChanged, .clientRefused, .missingEntitlement, .programChanged, .programUnverified,
            .versionMismatch, .storeUnreadable, .storeTooNew, .itemUnreadable:
            self = .deviceError
        default: self = .failed
        }
    }

    private init(of error: KeyAlgorithmError) {
        self =
            switch error {
            case .unsupportedAlgorithm: .mechanismInvalid
            case .invalidParameter(.digestLength): .dataLength
            case .invalidParameter(.publicKey): .mechanismParameterInvalid
            case .decryptionFailed: .encryptedDataInvalid
            default: .failed
            }
    }
}

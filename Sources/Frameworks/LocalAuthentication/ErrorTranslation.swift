import CLocalAuthentication
import Foundation
import KeyAlgorithms
package import OstiaryClient
import OstiaryWire
package import Security

/// How a refusal looks to a program written for Apple's systems: every code of the daemon, the client and the key
/// algorithms, in one place.
///
/// What concerns the person becomes an ``LAError``. What concerns the object, the algorithm or the machine becomes an
/// `NSError` of `NSOSStatusErrorDomain`, as the keychain reports it, except from ``LAContext``, which knows one domain.
package enum ErrorTranslation {
    /// The surface of one code.
    package enum Surface: Equatable, Sendable {
        case authentication(LAError.Code)
        case status(OSStatus)
    }

    /// Throws what `operation` throws, translated once.
    static func translating<Result>(_ operation: () throws -> Result) throws -> Result {
        do { return try operation() } catch { throw Self.error(for: error) }
    }

    /// What rights, keys and the right store throw for `error`, an error of the layers below.
    package static func error(for error: any Error) -> any Error {
        switch error {
        case let error as OstiaryError: translate(error)
        case let error as KeyAlgorithmError: statusError(error.status, userInfo(error))
        case let error as LAError: error
        default: statusError(errSecInternalComponent, [LAError.causeKey: "internal", NSUnderlyingErrorKey: error])
        }
    }

    /// What ``LAContext`` reports for `error`: an ``LAError`` always. A status becomes `systemCancel` with that status
    /// beneath it, since neither the person nor the program ended the evaluation.
    package static func authenticationError(for error: any Error) -> LAError {
        let translated = Self.error(for: error)
        if let error = translated as? LAError { return error }
        let beneath = translated as NSError
        return LAError(.systemCancel, userInfo: beneath.userInfo.merging([NSUnderlyingErrorKey: beneath]) { $1 })
    }

    /// A refusal that this side of the connection makes itself.
    static func refusal(_ code: LAError.Code, cause: String, _ explanation: String) -> LAError {
        LAError(
            code,
            userInfo: [
                NSLocalizedDescriptionKey: explanation, debugDescriptionKey: explanation, LAError.causeKey: cause,
            ])
    }

    /// The program itself ended an evaluation or authorization.
    static var cancelled: LAError { refusal(.appCancel, cause: "app.cancel", "The program ended the authentication.") }

    /// Apple's classes raise an exception, which Linux does not have.
    static var emptyReason: LAError {
        refusal(
            .authenticationFailed, cause: "reason.empty", "A prompt must say why it asks; give a localizedReason.")
    }

    // MARK: the table

    /// The surface of a code and the cause that is named where the daemon names none. An unknown code is a refusal.
    package static func entry(for code: OstiaryError.Code) -> (surface: Surface, cause: String) {
        switch code {
        case .daemonUnavailable: (.status(errSecNotAvailable), "daemon.unavailable")
        case .connectionLost: (.authentication(.systemCancel), "daemon.connection-lost")
        case .foreignServer: (.status(errSecNotAvailable), "daemon.foreign")
        case .unexpectedAnswer: (.status(errSecInternalComponent), "daemon.unexpected-answer")
        case .invalidConfiguration: (.status(errSecNotAvailable), "client.invalid-configuration")
        default: entry(for: WireFailureCode(rawValue: code.rawValue) ?? .unspecified)
        }
    }

    private static func entry(for failure: WireFailureCode) -> (surface: Surface, cause: String) {
        switch failure {
        case .unspecified, .UNRECOGNIZED: (.authentication(.authenticationFailed), "unknown")

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
        case .diskFull: (.status(diskFull), "store.disk-full")
        case .logUnwritable: (.status(inputOutputError), "log.unwritable")
        case .internal: (.status(errSecInternalComponent), "internal")

        case .unsupportedAlgorithm: (.status(errSecParam), "key.unsupported-algorithm")
        case .decryptionFailed: (.status(errSecParam), "key.decryption-failed")
        case .invalidPeerKey: (.status(errSecParam), "key.invalid-peer-key")
        }
    }

    /// `errSecDiskFull`.
    private static let diskFull: OSStatus = -34
    /// `errSecIO`.
    private static let inputOutputError: OSStatus = -36

    // MARK: what it is made of

    private static let debugDescriptionKey = "NSDebugDescription"

    private static func translate(_ error: OstiaryError) -> any Error {
        let (surface, cause) = entry(for: error.code)
        var userInfo: [String: Any] = [
            NSLocalizedDescriptionKey: error.description,
            debugDescriptionKey: "Ostiary error \(error.code.rawValue) (\(cause)). \(error.explanation)",
            LAError.causeKey: error.cause.isEmpty ? cause : error.cause,
        ]
        if let delay = error.retryAfter { userInfo[LAError.retryAfterKey] = delay / .seconds(1) }
        return switch surface {
        case .authentication(let code): LAError(code, userInfo: userInfo)
        case .status(let status): statusError(status, userInfo)
        }
    }

    private static func statusError(_ status: OSStatus, _ userInfo: [String: Any]) -> NSError {
        NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: userInfo)
    }

    private static func userInfo(_ error: KeyAlgorithmError) -> [String: Any] {
        let (cause, explanation) =
            switch error {
            case .unsupportedAlgorithm:
                ("key.unsupported-algorithm", "The algorithm does not fit the key or the operation; ask can… first.")
            case .invalidParameter(let parameter):
                ("key.invalid-parameter", "The key operation was given an unusable \(parameter).")
            case .decryptionFailed: ("key.decryption-failed", "The ciphertext does not belong to this key and algorithm.")
            case .signatureMismatch: ("key.signature-mismatch", "The signature is not one of this key over this data.")
            case .computationFailed: ("key.computation-failed", "The key operation gave no result.")
            }
        return [
            NSLocalizedDescriptionKey: explanation, debugDescriptionKey: explanation, LAError.causeKey: cause,
        ]
    }
}

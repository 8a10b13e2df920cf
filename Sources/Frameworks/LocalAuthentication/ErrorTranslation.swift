import CLocalAuthentication
import Foundation
import KeyAlgorithms
import OstiaryClient
import Security

/// How a refusal looks to a program written for Apple's systems.
///
/// Problems of the person become an ``LAError``. Problems of the object, the algorithm or the machine become an
/// `NSError` of `NSOSStatusErrorDomain`, as the keychain reports them. ``LAContext`` reports only ``LAError``.
/// ``ErrorSurface`` has the table of codes.
package enum ErrorTranslation {
    /// Throws what `operation` throws, translated once.
    static func translating<Result>(_ operation: () throws -> Result) throws -> Result {
        do { return try operation() } catch { throw Self.error(for: error) }
    }

    /// The error that rights, keys and the right store throw for `error`, an error of the layers below.
    package static func error(for error: any Error) -> any Error {
        switch error {
        case let error as OstiaryError: translate(error)
        case let error as KeyAlgorithmError: statusError(error.status, userInfo(error))
        case let error as LAError: error
        case let error as StatusError: statusError(error.status, userInfo("request.refused", error.reason))
        default: statusError(errSecInternalComponent, [LAError.causeKey: "internal", NSUnderlyingErrorKey: error])
        }
    }

    /// The error that ``LAContext`` reports for `error`: always an ``LAError``, with the status as the underlying
    /// error. `errSecAuthFailed`, of an operation that is permitted to nobody, is `authenticationFailed`: trying again
    /// does not help. Any other status is `systemCancel`, since neither the person nor the program ended the
    /// evaluation.
    package static func authenticationError(for error: any Error) -> LAError {
        let translated = Self.error(for: error)
        if let error = translated as? LAError { return error }
        let beneath = translated as NSError
        let isRefusal = beneath.domain == NSOSStatusErrorDomain && beneath.code == Int(errSecAuthFailed)
        return LAError(
            isRefusal ? .authenticationFailed : .systemCancel,
            userInfo: beneath.userInfo.merging([NSUnderlyingErrorKey: beneath]) { $1 })
    }

    /// A refusal that this side of the connection makes itself.
    static func refusal(_ code: LAError.Code, cause: String, _ explanation: String) -> LAError {
        LAError(code, userInfo: userInfo(cause, explanation))
    }

    /// The program itself ended an evaluation or authorization.
    static var cancelled: LAError { refusal(.appCancel, cause: "app.cancel", "The program ended the authentication.") }

    /// Apple's classes raise an exception, which Linux does not have.
    static var emptyReason: LAError {
        refusal(
            .authenticationFailed, cause: "reason.empty", "A prompt must say why it asks; give a localizedReason.")
    }

    // MARK: parts of an error

    private static let debugDescriptionKey = ErrorSurface.debugDescriptionKey

    private static func translate(_ error: OstiaryError) -> any Error {
        let translated = ErrorSurface.error(for: error)
        return translated.domain == LAErrorDomain ? LAError(_nsError: translated) : translated
    }

    private static func statusError(_ status: OSStatus, _ userInfo: [String: Any]) -> NSError {
        NSError(domain: NSOSStatusErrorDomain, code: Int(status), userInfo: userInfo)
    }

    private static func userInfo(_ error: KeyAlgorithmError) -> [String: Any] {
        let (cause, explanation) =
            switch error {
            case .unsupportedAlgorithm:
                ("key.unsupported-algorithm", "The algorithm does not fit the key or the operation; call can… first.")
            case .invalidParameter(let parameter):
                ("key.invalid-parameter", "The key operation cannot use this \(parameter).")
            case .decryptionFailed:
                ("key.decryption-failed", "The ciphertext does not belong to this key and algorithm.")
            case .signatureMismatch: ("key.signature-mismatch", "The signature does not belong to this key and data.")
            case .computationFailed: ("key.computation-failed", "The key operation gave no result.")
            }
        return userInfo(cause, explanation)
    }

    private static func userInfo(_ cause: String, _ explanation: String) -> [String: Any] {
        [NSLocalizedDescriptionKey: explanation, debugDescriptionKey: explanation, LAError.causeKey: cause]
    }
}

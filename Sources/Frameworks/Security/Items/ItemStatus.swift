import Foundation
import OstiaryClient
import OstiaryMessages

/// The status that the keychain's calls return for an error.
package enum ItemStatus {
    package static func status(of error: any Error) -> OSStatus {
        switch error {
        case let error as StatusError: error.status
        case let error as OstiaryError: status(of: error)
        default: (error as NSError).status
        }
    }

    /// The keychain knows two outcomes of authentication beside success, failure and cancellation, and one for a prompt that
    /// may not come.
    private static func status(of error: OstiaryError) -> OSStatus {
        if error.isFailure(.tooLarge) { return errSecDataTooLarge }
        return switch ErrorSurface.entry(for: error.code).surface {
        case .status(let status): status
        case .authentication(.userCancel): errSecUserCanceled
        case .authentication(.notInteractive): errSecInteractionNotAllowed
        case .authentication: errSecAuthFailed
        }
    }
}

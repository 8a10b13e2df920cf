public import Foundation
import Security

// What Apple's LAError does not have. The keys also stand in the userInfo of the `NSError`s of `NSOSStatusErrorDomain`
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

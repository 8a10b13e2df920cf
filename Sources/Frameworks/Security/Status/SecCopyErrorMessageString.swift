public import Foundation

/// A text that says what `status` means (Apple's `SecCopyErrorMessageString`, SecBase.h). The wording is this project's own.
///
/// Every public code has one; for any other the text is `OSStatus` and the number. Never nil. `reserved` is nil.
@discardableResult
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    statusMessage(status) as CFString
}

/// The text of ``SecCopyErrorMessageString(_:_:)``.
func statusMessage(_ status: OSStatus) -> String {
    StatusMessages.all[status] ?? StatusNames.sentence(for: status) ?? "OSStatus \(status)"
}

public import Foundation

/// A domain of error codes.
public typealias CFErrorDomain = CFString

/// The domain of `OSStatus` codes, which the calls of this framework report.
public var kCFErrorDomainOSStatus: CFErrorDomain! { NSOSStatusErrorDomain as CFString }
/// The domain of `errno` codes.
public var kCFErrorDomainPOSIX: CFErrorDomain! { NSPOSIXErrorDomain as CFString }
/// The domain of Foundation's codes.
public var kCFErrorDomainCocoa: CFErrorDomain! { NSCocoaErrorDomain as CFString }

/// Entry of a user info: what happened, for a developer.
public var kCFErrorDescriptionKey: CFString! { "NSDescription" }
/// Entry of a user info: what happened, for a person.
public var kCFErrorLocalizedDescriptionKey: CFString! { NSLocalizedDescriptionKey as CFString }
/// Entry of a user info: why it happened, for a person.
public var kCFErrorLocalizedFailureReasonKey: CFString! { NSLocalizedFailureReasonErrorKey as CFString }
/// Entry of a user info: advice for a person.
public var kCFErrorLocalizedRecoverySuggestionKey: CFString! { NSLocalizedRecoverySuggestionErrorKey as CFString }
/// Entry of a user info: the error that caused this one.
public var kCFErrorUnderlyingErrorKey: CFString! { NSUnderlyingErrorKey as CFString }

/// An error of `domain`.
@discardableResult
public func CFErrorCreate(
    _ allocator: CFAllocator?, _ domain: CFErrorDomain?, _ code: CFIndex, _ userInfo: CFDictionary?
) -> CFError! {
    NSError(domain: (domain ?? "") as String, code: code, userInfo: userInfo as? [String: Any])
}

/// The domain of an error.
@discardableResult
public func CFErrorGetDomain(_ error: CFError?) -> CFErrorDomain! { error?.domain as CFErrorDomain? }

/// The code of an error; 0 of none.
@discardableResult
public func CFErrorGetCode(_ error: CFError?) -> CFIndex { error?.code ?? 0 }

/// The user info of an error.
@discardableResult
public func CFErrorCopyUserInfo(_ error: CFError?) -> CFDictionary! { error?.userInfo as CFDictionary? }

/// The error's description for a person. If the error has none, it is composed from domain and code.
@discardableResult
public func CFErrorCopyDescription(_ error: CFError?) -> CFString! { error?.localizedDescription as CFString? }

/// Why it happened, for a person, if the error says.
@discardableResult
public func CFErrorCopyFailureReason(_ error: CFError?) -> CFString! { error?.localizedFailureReason as CFString? }

/// The error's advice for a person, if it has one.
@discardableResult
public func CFErrorCopyRecoverySuggestion(_ error: CFError?) -> CFString! {
    error?.localizedRecoverySuggestion as CFString?
}

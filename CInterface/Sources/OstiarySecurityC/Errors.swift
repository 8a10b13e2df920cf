import Foundation
public import Security

/// Returns the result of `call` as a handle that the caller owns. An error of `call`, returned or thrown, goes to
/// `place`.
func reporting(
    to place: HandlePlace, _ call: (UnsafeMutablePointer<Unmanaged<CFError>?>) throws(UnusableArgument) -> NSObject?
) -> Handle? {
    var reported: Unmanaged<CFError>?
    let failure: NSError?
    do {
        let result = try call(&reported)
        failure = reported?.takeRetainedValue()
        if let result { return Handle(owning: result.forC) }
    } catch {
        failure = error.forFoundation
    }
    if let failure { place?.pointee = Handle(owning: failure.forC) }
    return nil
}

@c(ostiary_CFErrorCreate)
public func createError(_ allocator: Handle?, _ domain: Handle?, _ code: Int, _ userInfo: Handle?) -> Handle? {
    guard let domain = domain.object(NSString.self) else { return nil }
    guard userInfo != nil else { return Handle(owning: CFErrorCreate(nil, domain, code, nil)?.forC) }
    return userInfo.dictionary.flatMap { Handle(owning: CFErrorCreate(nil, domain, code, $0)?.forC) }
}

@c(ostiary_CFErrorGetCode)
public func errorCode(_ error: Handle?) -> Int { CFErrorGetCode(error.object(ObjectError.self)?.foundation) }

@c(ostiary_CFErrorGetDomain)
public func errorDomain(_ error: Handle?) -> Handle? {
    error.object(ObjectError.self).map { Handle(borrowing: $0.domain) }
}

@c(ostiary_CFErrorCopyUserInfo)
public func copyErrorUserInfo(_ error: Handle?) -> Handle? {
    Handle(owning: CFErrorCopyUserInfo(error.object(ObjectError.self)?.foundation)?.forC)
}

@c(ostiary_CFErrorCopyDescription)
public func copyErrorDescription(_ error: Handle?) -> Handle? {
    Handle(owning: CFErrorCopyDescription(error.object(ObjectError.self)?.foundation))
}

@c(ostiary_CFErrorCopyFailureReason)
public func copyErrorFailureReason(_ error: Handle?) -> Handle? {
    Handle(owning: CFErrorCopyFailureReason(error.object(ObjectError.self)?.foundation))
}

@c(ostiary_CFErrorCopyRecoverySuggestion)
public func copyErrorRecoverySuggestion(_ error: Handle?) -> Handle? {
    Handle(owning: CFErrorCopyRecoverySuggestion(error.object(ObjectError.self)?.foundation))
}

@c(SecCopyErrorMessageString)
public func copyErrorMessage(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> Handle? {
    Handle(owning: SecCopyErrorMessageString(status, nil))
}

/// The error of C programs.
///
/// Foundation's error does not serve: on Linux it makes a new text for its domain at each access, but the domain that a
/// C program gets must live as long as the error.
final class ObjectError: NSObject {
    let foundation: NSError
    let domain: NSString

    init(_ error: NSError) {
        foundation = error
        domain = error.domain as NSString
        super.init()
    }
}

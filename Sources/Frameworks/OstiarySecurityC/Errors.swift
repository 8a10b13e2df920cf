import Foundation
import Security

/// Where a function puts an error that the caller owns; nil if the caller wants none.
typealias ErrorPlace = UnsafeMutablePointer<Handle?>?

/// What `call` returns, as a handle that the caller owns; its error goes to `place`. A call that returns nil without an error
/// was given a handle of a wrong kind.
func reporting(
    to place: ErrorPlace, _ call: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> AnyObject?
) -> Handle? {
    var error: Unmanaged<CFError>?
    let result = call(&error)
    let reported = error?.takeRetainedValue()
    guard let result else {
        place?.pointee = Handle(
            owning: reported ?? NSError(domain: NSOSStatusErrorDomain, code: Int(errSecParam)))
        return nil
    }
    return Handle(owning: result)
}

@c(ostiary_CFErrorGetCode)
func errorCode(_ error: Handle?) -> Int { CFErrorGetCode(error.object(NSError.self)) }

@c(ostiary_CFErrorCopyDomain)
func copyErrorDomain(_ error: Handle?) -> Handle? { Handle(owning: CFErrorGetDomain(error.object(NSError.self))) }

@c(ostiary_CFErrorCopyDescription)
func copyErrorDescription(_ error: Handle?) -> Handle? {
    Handle(owning: CFErrorCopyDescription(error.object(NSError.self)))
}

@c(SecCopyErrorMessageString)
func copyErrorMessage(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> Handle? {
    Handle(owning: SecCopyErrorMessageString(status, nil))
}

import Foundation

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

import Foundation

/// The error of C programs.
///
/// Not Foundation's: on Linux that one makes the text of its domain anew at each access, and a domain that a C program
/// gets has to live as long as the error.
final class ObjectError: NSObject {
    let foundation: NSError
    let domain: NSString

    init(_ error: NSError) {
        foundation = error
        domain = error.domain as NSString
        super.init()
    }
}

import Glibc

/// A system call that failed: which one, on what, and the `errno`.
public struct SystemCallError: Error, Equatable, CustomStringConvertible {
    /// The call's name, for example `connect`.
    public let call: String
    /// `errno` right after the call.
    public let code: CInt
    /// A path or other name of the object of the call; never a secret.
    public let subject: String

    /// The error of a call that has just failed: reads `errno`.
    public init(_ call: String, subject: String = "") {
        self.init(call, subject: subject, code: errno)
    }

    public init(_ call: String, subject: String, code: CInt) {
        self.call = call
        self.code = code
        self.subject = subject
    }

    public var description: String {
        let on = subject.isEmpty ? "" : " \(subject)"
        return "\(call)\(on): \(String(cString: strerror(code)))"
    }
}

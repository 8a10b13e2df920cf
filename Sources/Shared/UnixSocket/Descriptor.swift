@_implementationOnly import CLinuxShims
import Glibc

/// An open file descriptor with one owner; closed when the owner goes away.
public struct Descriptor: ~Copyable, Sendable {
    /// The number. Borrow it for a call; never close it elsewhere.
    public let number: CInt

    /// Takes ownership of an open descriptor.
    public init(owning number: CInt) {
        precondition(number >= 0, "a descriptor must be open")
        self.number = number
    }

    /// Takes ownership of the result of `call`, or throws its `errno`.
    public init(_ number: CInt, from call: String, subject: String = "") throws(SystemCallError) {
        guard number >= 0 else { throw SystemCallError(call, subject: subject) }
        self.init(owning: number)
    }

    deinit { close(number) }

    /// Gives up ownership: the caller closes.
    public consuming func release() -> CInt {
        let number = number
        discard self
        return number
    }

    /// A second descriptor for the same open file, close-on-exec.
    public borrowing func duplicate() throws(SystemCallError) -> Descriptor {
        try Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 3), from: "fcntl")
    }
}

/// A descriptor that several parts of a program hold; closed when the last one lets go.
public final class SharedDescriptor: Sendable {
    private let descriptor: Descriptor
    public var number: CInt { descriptor.number }
    public init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Takes ownership of a descriptor that another process passed, if it is of a character device, as a terminal is.
    ///
    /// Nil for -1 and for any other file. Closes such a file, unless it is a ``GuardedFile``.
    public convenience init?(passedDevice number: CInt) {
        guard number >= 0, ostiary_take_device(number) == 1 else { return nil }
        self.init(Descriptor(owning: number))
    }
}

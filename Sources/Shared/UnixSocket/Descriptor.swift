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
}

/// A descriptor that another process passed, and the kind of its file as the kernel says it.
public struct PassedDescriptor: Sendable {
    public enum Kind: Equatable, Sendable {
        /// A character device, as a terminal is.
        case device
        case socket
        /// A pidfd.
        case process
        /// A regular file.
        case file
    }

    /// What is taken besides terminals.
    public struct Others: OptionSet, Sendable {
        public let rawValue: CInt
        public init(rawValue: CInt) { self.rawValue = rawValue }

        /// Sockets and pidfds: those of a client.
        public static let client = Others(rawValue: CInt(OSTIARY_TAKES_CLIENT))
        /// Regular files: a program's own.
        public static let file = Others(rawValue: CInt(OSTIARY_TAKES_FILE))
    }

    public let kind: Kind
    public let descriptor: SharedDescriptor

    public init(_ kind: Kind, _ descriptor: SharedDescriptor) { (self.kind, self.descriptor) = (kind, descriptor) }

    /// Takes ownership of a passed descriptor. Nil for any other file, which it closes, unless it is a ``GuardedFile``.
    ///
    /// - Parameter others: what is taken besides devices.
    public init?(taking number: CInt, or others: Others = []) {
        switch ostiary_take_passed(number, others.rawValue) {
        case OSTIARY_PASSED_DEVICE: kind = .device
        case OSTIARY_PASSED_SOCKET: kind = .socket
        case OSTIARY_PASSED_PROCESS: kind = .process
        case OSTIARY_PASSED_FILE: kind = .file
        default: return nil
        }
        descriptor = SharedDescriptor(Descriptor(owning: number))
    }
}

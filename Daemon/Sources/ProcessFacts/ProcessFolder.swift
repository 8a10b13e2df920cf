import CLinuxShims
import Glibc
package import UnixSocket

/// The folder of one process below `/proc`, held by a handle. After the end of the process nothing can be read through it, also when
/// another process has got its number.
package struct ProcessFolder: Sendable {
    package let processID: Int32
    /// The handle. Nothing can be read from it, and it can be passed to a process that may look at more.
    package let handle: SharedDescriptor
    private let pidfd: SharedDescriptor?

    /// - Parameters:
    ///   - pidfd: of the process that is meant; nil where there is none.
    ///   - root: where the folders of processes lie.
    package init(
        of processID: Int32, _ pidfd: SharedDescriptor?, below root: String = "/proc"
    ) throws(FactFailure) {
        guard processID > 0 else { throw .absent }
        let number = unsafe ostiary_open_directory_handle("\(root)/\(processID)")
        guard number >= 0 else { throw Self.failure(errno, of: processID, pidfd) }
        handle = SharedDescriptor(Descriptor(owning: number))
        // The handle was opened by number. While the pidfd's process is alive, the number cannot be another's.
        if let pidfd, !KernelFacts.isAlive(pidfd) { throw .absent }
        (self.processID, self.pidfd) = (processID, pidfd)
    }

    /// Why a process has no folder. With the mount option `hidepid`, the folder of a living process is not there.
    private static func failure(_ code: CInt, of processID: Int32, _ pidfd: SharedDescriptor?) -> FactFailure {
        let failure = FactFailure(code: code)
        guard failure == .absent, let pidfd = pidfd ?? pidfdOfProcess(processID), KernelFacts.isAlive(pidfd) else {
            return failure
        }
        return .refused
    }

    private static func pidfdOfProcess(_ processID: Int32) -> SharedDescriptor? {
        let number = ostiary_open_process(processID)
        return number < 0 ? nil : SharedDescriptor(Descriptor(owning: number))
    }

    /// A descriptor that becomes readable when the process ends.
    package func exit() throws(FactFailure) -> SharedDescriptor {
        try exit { () throws(FactFailure) in _ = try text("stat", shorterThan: Self.statusByteCount) }
    }

    /// The same where the folder does not answer this process.
    ///
    /// - Parameter confirm: throws unless the process of the folder is there.
    package func exit(confirmedBy confirm: () throws(FactFailure) -> Void) throws(FactFailure) -> SharedDescriptor {
        if let pidfd { return pidfd }
        guard let pidfd = Self.pidfdOfProcess(processID) else { throw FactFailure(code: errno) }
        // The number is this process's own as long as its folder answers.
        try confirm()
        return pidfd
    }

    // MARK: what lies in it

    package static let statusByteCount = 4096
    package static let controlGroupsByteCount = 16_384
    /// A process may be in many groups.
    private static let groupsByteCount = 65_536

    /// The text of a file, which must be shorter than `byteCount`.
    package func text(_ name: String, shorterThan byteCount: Int) throws(FactFailure) -> [UInt8] {
        let number = unsafe openat(handle.number, name, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw FactFailure(code: errno) }
        return try Self.text(of: SharedDescriptor(Descriptor(owning: number)), shorterThan: byteCount)
    }

    /// The same of an open file, from its beginning: below `/proc` that is its present text.
    package static func text(of file: SharedDescriptor, shorterThan byteCount: Int) throws(FactFailure) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: byteCount)
        let count = unsafe pread(file.number, &text, byteCount, 0)
        guard count >= 0 else { throw FactFailure(code: errno) }
        guard count > 0, count < byteCount else { throw .unreadable }
        return Array(text[..<count])
    }

    /// The real user of the process.
    package func realUserID() throws(FactFailure) -> UInt32 { try realNumber("Uid:\t") }

    /// The real group of the process.
    package func realGroupID() throws(FactFailure) -> UInt32 { try realNumber("Gid:\t") }

    /// The first number behind `Uid:` or `Gid:` (proc_pid_status(5)), which is the real one. The kernel writes no line end of the process's
    /// name into that file.
    private func realNumber(_ key: String) throws(FactFailure) -> UInt32 {
        let text = String(decoding: try text("status", shorterThan: Self.groupsByteCount), as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix(key) }
        guard let number = line?.split(separator: "\t").dropFirst().first.flatMap({ UInt32($0) }) else {
            throw .unreadable
        }
        return number
    }

    /// The user whose login began the process; nil for none.
    package func loginUserID() throws(FactFailure) -> UInt32? {
        guard Self.keepsLogins else { return nil }
        return try Self.loginUserID(try text("loginuid", shorterThan: Self.loginByteCount))
    }

    private static let loginByteCount = 32

    /// - Parameter text: as the kernel has it. All ones are "no login".
    static func loginUserID(_ text: [UInt8]) throws(FactFailure) -> UInt32? {
        let digits = text.last == UInt8(ascii: "\n") ? text.dropLast() : text[...]
        guard let number = UInt32(String(decoding: digits, as: UTF8.self)) else { throw .unreadable }
        return number == .max ? nil : number
    }

    /// Whether the kernel keeps logins: some are built without. A process always sees its own.
    package static let keepsLogins = unsafe access("/proc/self/loginuid", F_OK) == 0 || errno != ENOENT

    /// The target of a link.
    func link(_ name: String) throws(FactFailure) -> String {
        var text = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlinkat(handle.number, name, &text, text.count)
        guard count >= 0 else { throw FactFailure(code: errno) }
        guard count < text.count else { throw .unreadable }
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What a link leads to.
    func identity(_ name: String) throws(FactFailure) -> ostiary_file_identity {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify(handle.number, name, &identity) == 0 else { throw FactFailure(code: errno) }
        return identity
    }

    /// The effective user of the process, also of one that lets nobody look at it.
    func userID() throws(FactFailure) -> UInt32 {
        var identity = ostiary_file_identity()
        guard unsafe ostiary_identify_open(handle.number, &identity) == 0 else { throw FactFailure(code: errno) }
        // The folder of a process that has ended is root's.
        _ = try text("stat", shorterThan: Self.statusByteCount)
        return identity.owner
    }
}

/// A namespace of this process.
package enum OwnNamespace {
    case processes, users

    /// Its inode, which tells it from every other namespace; nil when it cannot be read.
    package var inode: UInt64? {
        switch self {
        case .processes: Self.processNamespace
        case .users: Self.userNamespace
        }
    }

    private static let processNamespace = inode(of: "pid")
    private static let userNamespace = inode(of: "user")

    private static func inode(of name: String) -> UInt64? {
        var identity = ostiary_file_identity()
        return unsafe ostiary_identify(AT_FDCWD, "/proc/self/ns/\(name)", &identity) == 0 ? identity.inode : nil
    }
}

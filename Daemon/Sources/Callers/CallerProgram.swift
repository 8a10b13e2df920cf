package import ExactNames
import Foundation
import Glibc
import UnixSocket

/// The program that a caller runs, as prompts, the log and the store name it.
///
/// In user mode this is advisory: another program of the same user can inject code into a program and act under its
/// name. The name keeps programs apart that mean no harm, and prompts show it to the person.
package struct CallerProgram: Equatable, Sendable {
    /// How far the name can be trusted; user mode knows only this label.
    package static let label = "advisory"
    /// The name of programs that cannot be named: deleted executables, interpreters, whose scripts are not told apart,
    /// and programs in another pid namespace.
    package static let unknown: ExactName = "unknown program"

    /// The name of a program without a registration: the executable's path, or ``unknown``.
    package let application: ExactName
    /// The name for a person, for example `/usr/bin/ostiary` or `unknown program (/usr/bin/python3.11)`.
    package let displayName: ExactName
    package let processID: Int32
    /// The user whose program it is; nil for the daemon itself.
    package let owner: OwnerID?

    /// The program as it is counted where programs share something.
    package var ofOwner: ProgramOfOwner { ProgramOfOwner(owner: owner, program: displayName) }

    /// The name in the log when the user's session caused a lock, and not a program.
    package static let sessionLock = CallerProgram(
        application: unknown, displayName: "session lock (systemd-logind)", processID: getpid())

    /// The name in the log for acts of the person who started the daemon by hand.
    package static let daemonStart = CallerProgram(
        application: unknown, displayName: "start of ostiaryd", processID: getpid())

    private init(application: ExactName, displayName: ExactName, processID: Int32, owner: OwnerID? = nil) {
        self.application = application
        self.displayName = displayName
        self.processID = processID
        self.owner = owner
    }

    init(processID: Int32, executable: ExecutableIdentity, owner: OwnerID) {
        self.processID = processID
        self.owner = owner
        let link = "/proc/\(processID)/exe"
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) ?? ""
        application = Self.application(path: path, executable: executable)
        displayName = application == Self.unknown && !path.isEmpty ? "\(Self.unknown) (\(path))" : application
    }

    /// A process of a pid namespace other than the daemon's. The namespace's owner can give it any name.
    package init(inOtherNamespace processID: Int32, owner: OwnerID) {
        self.init(
            application: Self.unknown, displayName: "\(Self.unknown) (in a container)", processID: processID,
            owner: owner)
    }

    private static func application(path: String, executable: ExecutableIdentity) -> ExactName {
        // The link's text can lie (a mount namespace of the caller's own); the file behind the path must be the same.
        guard PathName.isAbsolute(path), !executable.isDeleted, ExecutableIdentity(path: path) == executable,
            !isInterpreter(path)
        else { return unknown }
        return ExactName(path)
    }

    /// The names of common interpreters. The list is not complete.
    private static let interpreters = [
        "ash", "awk", "bash", "busybox", "dash", "deno", "env", "fish", "gawk", "gdb", "guile", "java", "julia", "ksh",
        "lua", "luajit", "mawk", "node", "original-awk", "perl", "php", "pwsh", "pypy", "python", "qemu", "ruby", "sh",
        "tclsh", "wine", "zsh",
    ]

    /// The suffixes, besides versions, that tell builds of one interpreter apart (`python3.11-dbg`, `php-cgi8.2`).
    private static let variants: Set = [
        "aarch64", "arm64", "cgi", "dbg", "debug", "gnu", "i386", "i686", "linux", "multiarch", "static", "x86_64",
    ]

    /// Whether the file is named like an interpreter, with or without a version and a variant behind (`python3.11`).
    static func isInterpreter(_ path: String) -> Bool {
        let name = PathName.last(of: path)
        // The dynamic loader and the emulators run any program that they get as an argument.
        if ["ld-", "ld.so", "qemu-"].contains(where: name.hasPrefix) { return true }
        return interpreters.contains { name.hasPrefix($0) && isVariant(name.dropFirst($0.count)) }
    }

    /// Whether `rest` of a name, behind that of an interpreter, says no more than which build it is.
    private static func isVariant(_ rest: Substring) -> Bool {
        let parts = rest.split(separator: "-", omittingEmptySubsequences: false)
        return !parts[0].contains(where: \.isLetter)
            && parts.dropFirst().allSatisfy { part in
                let word = part.prefix(while: \.isLetter)
                return variants.contains(String(part))
                    || (word.isEmpty || variants.contains(String(word)))
                        && !part.dropFirst(word.count).contains(where: \.isLetter)
            }
    }
}

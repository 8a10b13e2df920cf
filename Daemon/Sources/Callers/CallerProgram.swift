package import ExactNames
import Glibc
import ProcessFacts
import PromptProtocol
import UnixSocket

/// The program that a caller runs, as prompts, the log and the store name it.
///
/// In user mode this is advisory: another program of the same user can inject code into a program and act under its
/// name. The name keeps programs apart that mean no harm, and prompts show it to the person.
package struct CallerProgram: Equatable, Sendable {
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

    /// The door that makes requests for the program; nil for a program that is connected itself.
    package let through: ExactName?
    /// How far the name can be trusted; nil where nothing is said of that, as in user mode.
    private(set) var label: ProgramLabel?

    /// The program's name for lists, with its door's. No program's own name holds the words between them.
    package var logName: String { name(before: "") }

    /// The same in the log. Where something is said of trust, each name has a label behind it: no path can seem to have one.
    package var recordedName: String { name(before: label.map { " (\($0.rawValue))" } ?? "") }

    private func name(before label: String) -> String {
        var end = label
        if let through { end += Self.throughWords + through.text.cut(toByteCount: Self.logNameByteCount / 2) }
        guard !end.isEmpty else { return displayName.text }
        // A long name is cut in the log. None of the parts must push another one out of it.
        return displayName.text.cut(toByteCount: Self.logNameByteCount - end.utf8.count) + end
    }

    /// The same program with another label.
    func labelled(_ label: ProgramLabel) -> CallerProgram {
        var program = self
        program.label = label
        return program
    }

    private static let throughWords = ", through "
    /// As many bytes as the log keeps of a program's name.
    private static let logNameByteCount = 256

    /// Whether it may pass on what another machine asks its SSH agent for: ssh, or a program that nobody can name.
    package var mayForwardAgent: Bool { application == Self.unknown || PathName.last(of: application.text) == "ssh" }

    /// The program as it is counted where programs share something.
    package var ofOwner: ProgramOfOwner { ProgramOfOwner(owner: owner, program: displayName) }

    /// The name in the log when the user's session caused a lock, and not a program.
    package static let sessionLock = CallerProgram(
        application: unknown, displayName: "session lock (systemd-logind)", processID: getpid())

    /// The name in the log when the end of the user's last session caused a lock.
    package static let sessionEnd = CallerProgram(
        application: unknown, displayName: "session end (systemd-logind)", processID: getpid())

    /// The name in the log for acts of the person who started the daemon by hand.
    package static let daemonStart = CallerProgram(
        application: unknown, displayName: "start of ostiaryd", processID: getpid())

    private init(
        application: ExactName, displayName: ExactName, processID: Int32, owner: OwnerID? = nil,
        through: ExactName? = nil
    ) {
        self.application = application
        self.displayName = displayName
        self.processID = processID
        self.owner = owner
        self.through = through
    }

    /// - Parameter executable: the file that it executed a moment ago.
    init(
        _ process: any HeldProcess, executable: ExecutedFile, owner: OwnerID, through: ExactName? = nil
    ) {
        let name = try? process.name(of: executable)
        let application = Self.application(name, executable)
        let path = name?.path ?? ""
        let isShown = application == Self.unknown && !path.isEmpty && !path.utf8.contains(Self.throughWords.utf8)
        self.init(
            application: application, displayName: isShown ? "\(Self.unknown) (\(path))" : application,
            processID: process.id, owner: owner, through: through)
    }

    /// A process of a pid namespace other than the daemon's. The namespace's owner can give it any name.
    package init(inOtherNamespace processID: Int32, owner: OwnerID, through: ExactName? = nil) {
        self.init(
            application: Self.unknown, displayName: "\(Self.unknown) (in a container)", processID: processID,
            owner: owner, through: through)
    }

    private static func application(_ name: ExecutedName?, _ executable: ExecutedFile) -> ExactName {
        guard let name, name.isTrue, PathName.isAbsolute(name.path), !executable.isDeleted, !isInterpreter(name.path),
            !name.path.utf8.contains(throughWords.utf8)
        else { return unknown }
        return ExactName(name.path)
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
    package static func isInterpreter(_ path: String) -> Bool {
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

extension String {
    /// The longest beginning of at most so many bytes that ends with a character.
    fileprivate func cut(toByteCount limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var count = 0
        return String(
            prefix { character in
                count += String(character).utf8.count
                return count <= limit
            })
    }
}

import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// Registers a program for all users of the machine, with a group that nothing else has. Root does that alone, and no daemon is asked.
struct OwnGroupRegistration {
    let path: String
    let group: String
    /// The text of the registration (`Documentation/configuration.md`), besides path and group.
    let entries: [(key: String, value: String)]
    let applicationID: String
    /// Where the accounts of the machine stand.
    var accounts = "/etc"
    /// Where the administrator's registrations lie.
    var folder = "/etc/ostiary/apps.d"
    var groupMaker = "/usr/sbin/groupadd"

    /// Makes the group, gives it to the program, and registers the program. What is done already is no error, so a second run ends what
    /// a first one began.
    func run() throws {
        guard geteuid() == 0 else {
            throw CommandError.usage("Only root can give a program a group of its own; run the command with sudo.")
        }
        guard Self.isName(group) else {
            throw CommandError.usage(
                "A group has up to 32 lower-case letters, digits, '_' and '-', and begins with a letter or '_'.")
        }
        guard !path.utf8.contains(UInt8(ascii: "\n")) else {
            throw CommandError.ownGroup("The program's path has a line's end.")
        }
        try requireRootsAlone()
        let number = try ownNumber()
        do {
            try give(number)
            try register()
        } catch let error as SystemCallError { throw CommandError.unwritableOutput(error) }
    }

    static func isName(_ text: String) -> Bool {
        text.utf8.count <= 32 && text.wholeMatch(of: /[a-z_][a-z0-9_-]*/) != nil
    }

    // MARK: the program

    /// If others could replace the file, they would get the group.
    private func requireRootsAlone() throws(CommandError) {
        var part = path
        while true {
            var status = stat()
            guard unsafe lstat(part, &status) == 0 else {
                throw .unreadableInput(SystemCallError("lstat", subject: part))
            }
            guard status.st_uid == 0, status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
                throw .ownGroup(
                    "Others than root can replace \(part). Give it to root, and let nobody else write to it.")
            }
            if part == path, status.st_mode & S_IFMT != S_IFREG { throw .noProgram(path: path) }
            // The group and the mode are the file's: programs of its other names would get the group, too.
            if part == path, status.st_nlink > 1 {
                throw .ownGroup(
                    "\(path) is one file with other programs, which would get the group, too. Make it a file of its own before: "
                        + "`cp \(path) \(path).own && mv \(path).own \(path)`.")
            }
            if part == "/" { return }
            part = PathName.folder(of: part)
        }
    }

    private func give(_ number: gid_t) throws(SystemCallError) {
        let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        let file = try Descriptor(descriptor, from: "open", subject: path)
        // A change of the group takes the mode's bit away.
        guard fchown(file.number, 0, number) == 0 else { throw SystemCallError("fchown", subject: path) }
        guard fchmod(file.number, 0o2755) == 0 else { throw SystemCallError("fchmod", subject: path) }
    }

    private func register() throws {
        for folder in [PathName.folder(of: folder), folder] {
            // The mode of mkdir(2) is less the umask.
            if unsafe mkdir(folder, 0o755) == 0 { _ = unsafe chmod(folder, 0o755) }
        }
        let names: [(key: String, value: String)] = [("application-id", applicationID), ("path", path)]
        let text = (names + entries + [(key: "setgid", value: group)]).map { "\($0.key) = \($0.value)\n" }.joined()
        let file = "\(folder)/\(applicationID).conf"
        do {
            try unsafe Array(text.utf8).withUnsafeBytes {
                try unsafe AtomicFile.write($0, to: file, mode: 0o644, replacing: false)
            }
        } catch let error as SystemCallError where error.code == EEXIST {
            // A run before this one wrote the same.
            guard (try? String(contentsOfFile: file, encoding: .utf8)) == text else { throw error }
        }
        // Whatever the umask is, each user's daemon reads it.
        guard unsafe chmod(file, 0o644) == 0 else { throw SystemCallError("chmod", subject: file) }
    }

    // MARK: the group

    /// The number of the group, which is made if there is none.
    private func ownNumber() throws(CommandError) -> gid_t {
        if try entries(of: "group").allSatisfy({ $0[0] != group }) { try makeGroup() }
        let groups = try entries(of: "group")
        guard let own = groups.first(where: { $0[0] == group }), own.count == 4, let number = gid_t(own[2]), number != 0
        else { throw .ownGroup("There is no group \(group) in \(accounts)/group.") }
        let isDouble = groups.contains { $0[0] != group && $0.count > 2 && $0[2] == own[2] }
        let isOfUser = try entries(of: "passwd").contains { $0.count > 3 && $0[3] == own[2] }
        // Whoever knows a group's password comes into it, and its administrators let others in.
        let shadow = try entries(of: "gshadow").filter { $0[0] == group }
        let isOpen = shadow.contains { entry in
            let isLocked = entry.count > 1 && (entry[1] == "*" || entry[1].hasPrefix("!"))
            return !isLocked || entry.dropFirst(2).contains { !$0.isEmpty }
        }
        let isShadowed = own[1] == "x" && !shadow.isEmpty
        guard !isDouble, !isOfUser, own[3].isEmpty, !isOpen, isShadowed || ["!", "*"].contains(own[1]) else {
            throw .ownGroup("The group \(group) has members or a password. Name a group that nobody is in.")
        }
        return number
    }

    private func entries(of file: String) throws(CommandError) -> [[String]] {
        let path = "\(accounts)/\(file)"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw .unreadableInput(SystemCallError("open", subject: path, code: EIO))
        }
        return text.split(separator: "\n").map { line in
            line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }
    }

    private func makeGroup() throws(CommandError) {
        let child: ChildProcess
        do throws(SystemCallError) {
            child = try ChildProcess(
                program: groupMaker, arguments: ["groupadd", "--system", group],
                environment: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], descriptors: [-1, -1, STDERR_FILENO],
                leadsSession: false)
        } catch { throw .commandNotStarted(error) }
        guard child.waitForStatus() == 0 else { throw .ownGroup("The group \(group) was not made.") }
    }
}

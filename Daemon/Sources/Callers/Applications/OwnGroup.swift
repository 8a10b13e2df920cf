import Foundation
import Glibc
import ProcessFacts

/// The group that a program has and nothing else: its file carries it (setgid), so the kernel gives it to the process that executes the
/// file, and lets no other process of the user trace that one, or choose its libraries.
struct OwnGroup: Equatable, Sendable {
    let name: String
    /// Where the accounts of the machine stand.
    private let folder: String

    init(name: String, accountsIn folder: String = "/etc") { (self.name, self.folder) = (name, folder) }

    /// Whether this is the name of a group that `groupadd` makes.
    static func isName(_ text: String) -> Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        guard let first = text.utf8.first, letters.contains(first) || first == UInt8(ascii: "_") else { return false }
        return text.utf8.count <= 32
            && text.utf8.allSatisfy { byte in
                letters.contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }
    }

    /// The number of the group; nil unless only this program can have it.
    ///
    /// The machine's own files are read, and no other source of accounts: a group of the network is not root's to give.
    ///
    /// - Parameter path: the program's file.
    func number(ofProgramAt path: String) -> UInt32? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode == S_IFREG | 0o2755, status.st_gid != 0,
            ProgramFile.isReplaceableByRootAlone(path), isOfNobody(status.st_gid)
        else { return nil }
        return status.st_gid
    }

    /// Whether the group has this number, and nobody is in it or can come into it.
    private func isOfNobody(_ number: UInt32) -> Bool {
        guard let groups = entries(of: "group", fieldCount: 4), let users = entries(of: "passwd", fieldCount: 7) else {
            return false
        }
        let own = groups.filter { $0[0] == name || $0[2] == "\(number)" }
        // With a password of the group, any user could come into it. Behind `x` it stands in a file that root alone reads.
        guard own.count == 1, own[0][0] == name, own[0][2] == "\(number)", ["", "x", "!", "*"].contains(own[0][1]),
            own[0][3].isEmpty
        else { return false }
        return !users.contains { $0[3] == "\(number)" }
    }

    /// The lines of a file of accounts; nil when it cannot be read, or has a line of another form.
    private func entries(of file: String, fieldCount: Int) -> [[String]]? {
        guard let text = try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8) else { return nil }
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init) }
        return lines.allSatisfy { $0.count == fieldCount } ? lines : nil
    }
}

/// The effective group of a calling process.
struct CallerGroup: Sendable {
    /// As the kernel noted it at connect.
    private let number: UInt32
    private let process: any HeldProcess

    init(_ number: UInt32, of process: any HeldProcess) { (self.number, self.process) = (number, process) }

    /// Whether the kernel gave the process this group for the file that it executes, as far as that can be seen.
    ///
    /// A setgid program lends its group to the programs that it starts. One of them can make it its real group and execute the registered file
    /// again: then the kernel gives nothing, and takes libraries from the environment. It can also bring the group into a user namespace of
    /// its own, where it traces each program, and has the kernel name other files for it. A fact that cannot be read says no.
    func isOwn(_ group: UInt32) -> Bool {
        guard number == group, let real = try? process.realGroupID(), real != group else { return false }
        return (try? process.isInOwnUserNamespace()) == true
    }
}

import Foundation
import Glibc
import UnixSocket

/// The programs of a test run.
struct TestPrograms {
    /// The folder that they lie below, without links in it.
    private let folder: String
    private let groups: [String]

    /// - Parameter groups: the access groups that they share; the first is for new items.
    init(below folder: String, sharing groups: [String]) throws {
        guard let real = unsafe realpath(folder, nil) else {
            throw CommandError.unreadableInput(SystemCallError("realpath", subject: folder))
        }
        defer { unsafe free(real) }
        self.folder = unsafe String(cString: real)
        self.groups = groups
    }

    /// The daemon's options for them.
    var options: [String] { ["--test-programs=" + folder] + groups.map { "--test-group=" + $0 } }
}

package import ExactNames
import UnixSocket

/// A folder whose programs share access groups, without a registration of each. For test runs: programs below it may be built
/// at any time, and count at once.
package struct ProgramFolder: Sendable {
    private let prefix: ExactName
    let accessGroups: [ExactName]

    /// - Parameter path: absolute, without links in it.
    package init(path: String, accessGroups: [ExactName]) throws(RegistrationDefect) {
        guard PathName.isAbsolute(path) else { throw .relativePath }
        if let defect = Registration.defect(of: accessGroups) { throw defect }
        prefix = ExactName(path.utf8.last == UInt8(ascii: "/") ? path : path + "/")
        self.accessGroups = accessGroups
    }

    func contains(_ program: CallerProgram) -> Bool { program.application.hasPrefix(prefix) }
}

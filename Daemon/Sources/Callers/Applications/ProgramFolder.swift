/// A folder whose programs share access groups, without a registration of each. For test runs: programs below it may be built
/// at any time, and count at once.
package struct ProgramFolder: Sendable {
    private let prefix: String
    let accessGroups: [String]

    /// - Parameter path: absolute, without links in it.
    package init(path: String, accessGroups: [String]) throws(RegistrationDefect) {
        guard path.hasPrefix("/") else { throw .relativePath }
        if let defect = Registration.defect(of: accessGroups) { throw defect }
        prefix = path.hasSuffix("/") ? path : path + "/"
        self.accessGroups = accessGroups
    }

    func contains(_ program: CallerProgram) -> Bool { program.application.hasPrefix(prefix) }
}

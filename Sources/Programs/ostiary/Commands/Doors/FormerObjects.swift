import OstiaryClient

/// What this command stored under its path before the package registered it for all users, and no longer sees. A registration by the
/// owner says so itself, at the question; nobody asked about this one.
struct FormerObjects {
    let path: String
    let applicationID: String
    let rightCount: Int
    let keyCount: Int

    /// Nil where nothing of it is known. Of keychain items nothing is: only programs of their group see them.
    ///
    /// - Parameters:
    ///   - path: of this command.
    ///   - rights: those of all programs.
    ///   - keys: those of all programs.
    init?(
        ofProgramAt path: String, _ applications: [RegisteredApplication], _ rights: [ListedRight], _ keys: [ListedKey]
    ) {
        func isPath(_ name: String) -> Bool { name.utf8.elementsEqual(path.utf8) }
        guard let registration = applications.first(where: { $0.isOfSystem && isPath($0.path) }) else { return nil }
        rightCount = rights.count { if case .intact(let right) = $0 { isPath(right.application) } else { false } }
        keyCount = keys.count { isPath($0.accessGroup) }
        guard rightCount + keyCount > 0 else { return nil }
        self.path = path
        applicationID = registration.applicationID
    }

    /// Asks nobody. Nil also where the daemon cannot say it: its own findings say why.
    static func ofThisCommand() -> FormerObjects? {
        guard let path = InstalledDoor.ownPath else { return nil }
        do {
            let client = OstiaryClient.shared
            return FormerObjects(
                ofProgramAt: path, try client.applications(), try client.rights(ofAllApplications: true),
                try client.keysOfAllPrograms())
        } catch { return nil }
    }

    var finding: FindingDocument {
        let what = [(rightCount, "right"), (keyCount, "key")].filter { $0.0 > 0 }
            .map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }.joined(separator: " and ")
        let lie = rightCount + keyCount == 1 ? "lies" : "lie"
        return FindingDocument(
            check: "former-name", verdict: .notice,
            message: "\(what) of this command \(lie) under its path \(path), where it does not look: it is known as "
                + "\(applicationID) now. Keychain items of that time may be there, too.",
            advice:
                "Nothing is lost. If root moves the file of this command out of /etc/ostiary/apps.d, the command sees them: use "
                + "or export them, and let root move the file back. `ostiary right list --all` shows the rights.")
    }
}

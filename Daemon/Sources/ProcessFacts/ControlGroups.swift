/// The control groups that processes run in: cgroups(7).
enum ControlGroups {
    /// Whether the user's service manager started the process, or a parent of it.
    ///
    /// The whole path counts: a service may make groups of any name inside its own.
    ///
    /// - Parameter text: as ``HeldProcess/controlGroups()`` has it.
    static func areOfUserManager(_ text: String, of userID: UInt32) -> Bool {
        let unit = "/user.slice/user-\(userID).slice/user@\(userID).service"
        return text.split(separator: "\n").contains { line in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            // The hierarchy that systemd keeps has no controllers, or has systemd's name.
            guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd" else { return false }
            return fields[2] == unit || fields[2].hasPrefix(unit + "/")
        }
    }
}

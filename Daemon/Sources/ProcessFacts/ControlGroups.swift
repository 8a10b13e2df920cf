/// The control groups that processes run in: cgroups(7).
package enum ControlGroups {
    /// Whether the user's service manager started the process, or a parent of it.
    ///
    /// The whole path counts: a service may make groups of any name inside its own.
    ///
    /// - Parameter text: as ``HeldProcess/controlGroups()`` has it.
    static func areOfUserManager(_ text: String, of userID: UInt32) -> Bool {
        let unit = "/user.slice/user-\(userID).slice/user@\(userID).service"
        return groups(in: text).contains { $0 == unit || $0.hasPrefix(unit + "/") }
    }

    /// Whether the process runs in a service that the machine's service manager started, and in no user's. Root alone puts processes there.
    package static func areOfSystemUnit(_ text: String) -> Bool {
        let groups = groups(in: text)
        return !groups.isEmpty
            && groups.allSatisfy { group in
                let names = group.split(separator: "/")
                let unit = names.dropFirst().first { $0.hasSuffix(".service") }
                return names.first == "system.slice" && unit != nil && unit?.hasPrefix("user@") != true
            }
    }

    /// The display managers that may ask for a finger: their greeter's session has the class `greeter`.
    private static let displayManagers = ["gdm", "gdm3", "greetd", "lightdm", "sddm"]

    /// Whether the process runs in the service of a display manager, as a process that signs somebody in at a greeter does until their session
    /// begins. Root alone puts processes there.
    package static func areOfDisplayManager(_ text: String) -> Bool {
        let groups = groups(in: text)
        return !groups.isEmpty
            && groups.allSatisfy { group in displayManagers.contains { group == "/system.slice/\($0).service" } }
    }

    /// The user below whose slice the process runs, whoever's its account is: `su` and `sudo` stay in the group of the person who runs them.
    /// Nil for a process of the machine. Root alone moves a process out of a user's slice.
    package static func user(in text: String) -> UInt32? {
        for group in groups(in: text) {
            let names = group.split(separator: "/")
            guard names.count > 1, names[0] == "user.slice", names[1].hasPrefix("user-"), names[1].hasSuffix(".slice")
            else { continue }
            if let number = UInt32(names[1].dropFirst("user-".count).dropLast(".slice".count)) { return number }
        }
        return nil
    }

    /// The groups of the hierarchy that systemd keeps: it has no controllers, or has systemd's name.
    private static func groups(in text: String) -> [Substring] {
        text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd" else { return nil }
            return fields[2]
        }
    }
}

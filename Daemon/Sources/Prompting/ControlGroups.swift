import Glibc
import UnixSocket

/// The control groups that processes run in: cgroups(7).
enum ControlGroups {
    /// The text of `/proc/PID/cgroup`; nil when there is no such process, or the file cannot be read.
    static func text(ofProcess processID: Int32) -> String? {
        let number = unsafe open("/proc/\(processID)/cgroup", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        var text = [UInt8](repeating: 0, count: 16_384)
        let count = unsafe read(file.number, &text, text.count)
        guard count > 0, count < text.count else { return nil }
        return String(decoding: text[..<count], as: UTF8.self)
    }

    /// Whether the user's service manager started the process, or a parent of it.
    ///
    /// The whole path counts: a service may make groups of any name inside its own.
    ///
    /// - Parameter text: the text of `/proc/PID/cgroup`, a line `ID:CONTROLLERS:PATH` for each hierarchy.
    static func areOfUserManager(_ text: String?, of userID: UInt32) -> Bool {
        let unit = "/user.slice/user-\(userID).slice/user@\(userID).service"
        return (text ?? "").split(separator: "\n").contains { line in
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            // The hierarchy that systemd keeps has no controllers, or has systemd's name.
            guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd" else { return false }
            return fields[2] == unit || fields[2].hasPrefix(unit + "/")
        }
    }
}

import Glibc

/// A terminal's device, in the kernel's numbering (TIOCGDEV, field 7 of `/proc/PID/stat`).
public enum TerminalDevice {
    /// The name that a terminal has under `/dev`, such as `/dev/pts/3`; nil when it has none. The name says nothing
    /// about the file: a mount of devpts of somebody's own counts from 0, too.
    public static func name(_ device: UInt32) -> String? {
        let major = (device >> 8) & 0xFFF
        let minor = (device & 0xFF) | ((device >> 12) & 0xFFF00)
        // Unix98 pseudo-terminals have eight majors from 136; Linux never gives more than 2^20 minors to the first.
        return major == 136 ? "/dev/pts/\(minor)" : systemName(major, minor)
    }

    /// A console's or serial line's name, as the kernel links it.
    private static func systemName(_ major: UInt32, _ minor: UInt32) -> String? {
        var target = [UInt8](repeating: 0, count: 1024)
        let count = unsafe readlink("/sys/dev/char/\(major):\(minor)", &target, target.count)
        guard count > 0, let name = target[..<count].split(separator: UInt8(ascii: "/")).last else { return nil }
        return "/dev/" + String(decoding: name, as: UTF8.self)
    }
}

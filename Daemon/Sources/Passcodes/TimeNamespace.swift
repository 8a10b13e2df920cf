import Glibc

/// Checks that CLOCK_BOOTTIME is the machine's. A program that starts this process can move the clock with a time
/// namespace (time_namespaces(7)), and a moved clock ends a delay.
///
/// A moved clock is refused, not corrected: before Linux 6.0 a process that executed a program after `unshare` keeps the old
/// time while the kernel already shows the new offset.
enum TimeNamespace {
    /// Throws unless the offset is known to be 0.
    static func requireMachineTime() throws(BootClockError) {
        // A kernel without time namespaces has neither file, and nothing can be moved.
        if unsafe access("/proc/self/ns/time", F_OK) != 0, errno == ENOENT, unsafe access("/proc/self/ns", F_OK) == 0 {
            return
        }
        guard let text = KernelFile.text(of: "/proc/self/timens_offsets") else { throw .timeOffsetUnreadable }
        try requireMachineTime(offsets: text)
    }

    /// - Parameter text: the kernel's text: a line `boottime SECONDS NANOSECONDS` among others.
    static func requireMachineTime(offsets text: String) throws(BootClockError) {
        let lines = text.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace) }
        let found = lines.filter { $0.first == "boottime" }
        guard found.count == 1, found[0].count == 3, let seconds = Int64(found[0][1]),
            let nanoseconds = Int64(found[0][2])
        else { throw .timeOffsetUnreadable }
        guard seconds == 0, nanoseconds == 0 else { throw .shiftedTime(seconds: seconds, nanoseconds: nanoseconds) }
    }
}

/// A small text that the kernel shows as a file.
enum KernelFile {
    private static let byteCount = 512

    /// Nil when it cannot be read or is longer than such a text can be.
    static func text(of path: String) -> String? {
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        var text = [UInt8](repeating: 0, count: byteCount)
        let count = unsafe fread(&text, 1, text.count, file)
        guard unsafe ferror(file) == 0, count < byteCount else { return nil }
        return String(validating: text[..<count], as: UTF8.self)
    }
}

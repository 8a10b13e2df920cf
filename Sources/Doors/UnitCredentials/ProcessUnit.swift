import CommandFailures
import DoorSupport
import Glibc
import UnixSocket

/// The unit that a process runs in, as its control group says (cgroups(7)). Only a weak proof: a user may make control groups of any
/// name below those of the user manager.
enum ProcessUnit {
    /// Enough for the lines of all hierarchies.
    private static let byteCount = 16 * 1024

    /// Nil where no unit is in charge of the process, as in a container without systemd.
    ///
    /// - Throws: `unitUnreadable` when the process has ended.
    static func of(_ process: Int32) throws(DoorFailure) -> String? {
        let number = unsafe open("/proc/\(process)/cgroup", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw DoorFailure(unitOf: process) }
        let file = Descriptor(owning: number)
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let count = unsafe read(file.number, &bytes, bytes.count)
        guard count > 0 else { throw DoorFailure(unitOf: process) }
        return name(in: bytes[..<count])
    }

    /// The innermost unit in the text of `/proc/PID/cgroup`. The hierarchy of systemd itself comes before the unified one, which is empty
    /// where both exist.
    static func name(in text: some Collection<UInt8>) -> String? {
        let paths = text.split(separator: UInt8(ascii: "\n")).compactMap { line -> (isNamed: Bool, path: String)? in
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            guard parts.count == 3, parts[1] == "name=systemd" || parts[0] == "0" && parts[1].isEmpty else {
                return nil
            }
            return (!parts[1].isEmpty, parts[2])
        }
        return paths.sorted { $0.isNamed && !$1.isNamed }.lazy.compactMap { unit(in: $0.path) }.first
    }

    private static func unit(in path: String) -> String? {
        PathName.names(in: path).reversed().lazy.map { name in
            // systemd puts this before a name that the kernel could take for one of its own.
            name.hasPrefix("_") ? String(name.dropFirst()) : name
        }.first { UnitName.isUnit(Array($0.utf8)) }
    }
}

extension DoorFailure {
    fileprivate init(unitOf process: Int32) {
        self.init(
            -198, FailureClass("unitUnreadable", .refused),
            "The unit of process \(process) cannot be told, because it has ended. Start the unit again.")
    }
}
